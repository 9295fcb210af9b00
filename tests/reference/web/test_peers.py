"""Whose call it is (P-CV-19)."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from reference.web.http.peers import client_address, read_hops, wider_network

PROXIES = (ip_network("10.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("peer", "forwarded_hops", "address"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7", "10.0.0.2"], "198.51.100.7"),
        ("::1", ["nonsense"], "nonsense"),
        ("", ["198.51.100.7"], ""),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", [], "2001:db8:1:2::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        ("10.0.0.1", ["2001:db8::7"], "2001:db8::/64"),
        ("10.0.0.1", ["[2001:db8::7]:80"], "[2001:db8::7]:80"),
    ],
)
def test_the_last_hop_that_no_trusted_proxy_is_counts(peer: str, forwarded_hops: list[str], address: str) -> None:
    """What a client writes in front of its own hop changes nothing."""
    assert client_address(peer, read_hops(forwarded_hops), PROXIES) == address


@pytest.mark.parametrize(
    ("counted", "around"),
    [("2001:db8:1:2::/64", "2001:db8:1::/48"), ("192.0.2.1", None), ("nonsense", None), ("::/64", "::/48")],
)
def test_a_network_lies_in_a_wider_one(counted: str, around: str | None) -> None:
    """Of IPv6 alone."""
    assert wider_network(counted) == around
