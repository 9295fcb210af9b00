"""Whose call it is (P-CV-19)."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from reference.web.peers import client_address, hops

PROXIES = (ip_network("10.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7", "10.0.0.2"], "198.51.100.7"),
        ("::1", ["nonsense"], "nonsense"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_the_last_hop_that_no_trusted_proxy_is_counts(peer: str, forwarded: list[str], address: str) -> None:
    """What a client writes in front of its own hop changes nothing."""
    assert client_address(peer, hops(forwarded), PROXIES) == address
