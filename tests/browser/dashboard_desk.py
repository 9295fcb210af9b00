"""What tests of the dashboard share: the administrator's key of the stack, and its address."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import Shop


def admin_key(shop: Shop) -> str:
    """Return the first administrator's key of a shop's gateway."""
    return Path(shop.ready["admin_key_file"]).read_text("ascii").strip()


def dashboard(shop: Shop) -> str:
    """Return the address of a shop's dashboard."""
    return f"{shop.url}/dashboard"
