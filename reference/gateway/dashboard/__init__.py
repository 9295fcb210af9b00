"""The dashboard: pages for administrators, over the same functions as /internal (3.9)."""

from reference.gateway.dashboard.assembly import Dashboard

__all__ = ["Dashboard"]
