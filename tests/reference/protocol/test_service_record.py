"""Addresses that a service may register (7.1, 7.3)."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.service_record import checked_base_url, checked_health_path, health_address


@pytest.mark.parametrize(
    ("base_url", "path", "asked"),
    [
        ("http://h", "/health", "http://h/health"),
        ("http://h/", "/health", "http://h/health"),
        ("https://h:1/a/b//", "/up?x=1", "https://h:1/a/b/up?x=1"),
        ("http://[::1]:8095", "/", "http://[::1]:8095/"),
    ],
)
def test_what_is_asked_is_address_and_path(base_url: str, path: str, asked: str) -> None:
    """One slash between them."""
    assert health_address(checked_base_url(base_url), checked_health_path(path)) == asked


@given(st.text(st.sampled_from("htps:/@[]%?#\\.0a:-_ \n"), max_size=20), st.text(max_size=10))
def test_the_host_that_is_asked_is_the_registered_one(rest: str, path: str) -> None:
    """Whatever an accepted address and path hold, together they lead to the host of the address."""
    try:
        base_url, health_path = checked_base_url("http://" + rest), checked_health_path("/" + path)
    except ValueError:
        return
    address_parts, base_parts = urlsplit(health_address(base_url, health_path)), urlsplit(base_url)
    assert (address_parts.scheme, address_parts.netloc) == (base_parts.scheme, base_parts.netloc)
    assert "@" not in address_parts.netloc
    assert address_parts.hostname
    assert address_parts.path.startswith("/")
