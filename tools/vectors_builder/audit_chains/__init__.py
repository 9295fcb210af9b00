"""Vectors of the control plane's audit log: whole logs, and logs with one fault each."""

from tools.vectors_builder.audit_chains.family import FAMILY

__all__ = ["FAMILY"]
