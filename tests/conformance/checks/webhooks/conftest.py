"""A service that does not keep its checks waiting."""

from __future__ import annotations

import pytest

from conformance.checks.webhooks import delivery, redelivery
from conformance.surfaces.gateway import orders


@pytest.fixture
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what checks wait for pass quickly, and name the tenant's key."""
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(redelivery, "_SETTLE_SECONDS", 0.3)
