"""Where events may go: forms of addresses and classes of IP addresses (P-WH-10)."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

import pytest

from reference.protocol.destination_address import (
    MAX_URL,
    REFUSED_NETWORKS,
    BadDestination,
    Target,
    judge,
    refusal,
    target_of,
)

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255"),
    *("128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0"),
    *("198.17.255.255", "198.20.0.0", "223.255.255.255", "192.0.1.1", "192.0.3.0"),
    *("2606:4700:4700::1111", "2a00:1450:4001:800::200e", "2001:200::1", "2001:4860:4860::8888", "2003::1"),
]
NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.255", "::1"],
    "private": ["10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fdff::1"],
    "link-local": ["169.254.0.0", "169.254.169.254", "fe80::1", "febf::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],  # noqa: S104 - nothing is bound to it
    "carrier-grade NAT": ["100.64.0.0", "100.127.255.255"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "64:ff9b:1:ffff::7f00:1"],
    "6to4": ["2002:7f00:1::", "2002:808:808::1"],
    "Teredo": ["2001::1", "2001:0:ffff::1"],
    "IPv4-compatible": ["::8.8.8.8", "::127.0.0.1", "::2"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "reserved": ["240.0.0.1", "255.255.255.254"],
    "broadcast": ["255.255.255.255"],
    "benchmarks": ["198.18.0.1", "198.19.255.255"],
    "not global": ["64:ff9b:2::1", "4000::1", "5f00::1", "100:0:0:1::"],
}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_let_through(text: str) -> None:
    """Those next to refused networks too."""
    assert refusal(ip_address(text), allow_loopback=False) is None


@pytest.mark.parametrize(("why", "text"), [(why, text) for why, texts in NOT_PUBLIC.items() for text in texts])
def test_every_other_address_is_refused_with_its_reason(why: str, text: str) -> None:
    """Also where its last 32 bits are a public IPv4 address."""
    assert refusal(ip_address(text), allow_loopback=False) == why


@pytest.mark.parametrize("network", [network for network, _ in REFUSED_NETWORKS])
def test_first_and_last_address_of_each_refused_network(network: str) -> None:
    """The table's bounds are inclusive."""
    first, last = ip_network(network)[0], ip_network(network)[-1]
    assert refusal(first, allow_loopback=False)
    assert refusal(last, allow_loopback=False)


def test_only_loopback_is_allowed_by_the_switch() -> None:
    """Not what is mapped to it, and no other network."""
    for text in ("127.0.0.1", "127.9.9.9", "::1"):
        assert refusal(ip_address(text), allow_loopback=True) is None
    for texts in NOT_PUBLIC.values():
        for text in set(texts) - set(NOT_PUBLIC["loopback"]):
            assert refusal(ip_address(text), allow_loopback=True), text


def test_an_address_with_a_zone_is_refused() -> None:
    """The address of an interface is not an address on the internet."""
    assert refusal(IPv6Address("2606:4700::1%eth0"), allow_loopback=False) == "not global"


def test_a_host_passes_only_with_all_of_its_addresses() -> None:
    """One that is half public is refused, one without any too."""
    public, private = ip_address("1.1.1.1"), ip_address("10.0.0.1")
    judge([public], allow_loopback=False)
    for mixed in ([public, private], [private, public], []):
        with pytest.raises(BadDestination):
            judge(mixed, allow_loopback=False)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://a.test", Target("https", "a.test", 443)),
        ("https://A.test:8443/h/x?y=%20&z", Target("https", "a.test", 8443)),
        ("https://[2606:4700::1111]/", Target("https", "2606:4700::1111", 443, ip_address("2606:4700::1111"))),
        ("https://1.1.1.1:1/", Target("https", "1.1.1.1", 1, ip_address("1.1.1.1"))),
    ],
)
def test_https_addresses_are_read(url: str, target: Target) -> None:
    """Scheme, host and port; a host that is an address says so."""
    assert target_of(url, allow_loopback=False) == target


@pytest.mark.parametrize(
    "url",
    [
        *("", "a.test", "//a.test/", "ftp://a.test/", "https:a.test", "https:///x", "https://", "javascript:alert(1)"),
        *("https://u:p@a.test/", "https://u@a.test/", "https://a.test@b.test/", "https://a.test\\@b.test/"),
        *("https://a.test/#f", "https://a.test/ x", "https://a.test/\n", "https://a.test\t/", " https://a.test/"),
        *("https://a.test:0/", "https://a.test:65536/", "https://a.test:x/", "https://a.test:-1/"),
        *("https://-a.test/", "https://a-.test/", "https://a..test/", "https://.test/", "https://a.test./"),
        *("https://ä.test/", "https://a.test/ä", "https://a_b.test/", "https://%61.test/"),
        *("https://[::1/", "https://[::g]/", "https://[fe80::1%25eth0]/", "https://[1.2.3.4]/", "https://[]/"),
        *("https://" + "a" * 64 + ".test/", "https://" + "a." * 127 + "test/", "https://a.test/" + "a" * MAX_URL),
        "HTTPS://a.test/",
    ],
)
def test_what_is_no_such_address_is_refused(url: str) -> None:
    """Credentials, fragments, zones, odd hosts, odd ports; with the switch too."""
    for allowed in (False, True):
        with pytest.raises(BadDestination):
            target_of(url, allow_loopback=allowed)


def test_http_is_allowed_by_the_switch_alone() -> None:
    """Its port is 80 unless it names one."""
    with pytest.raises(BadDestination):
        target_of("http://127.0.0.1/", allow_loopback=False)
    assert target_of("http://127.0.0.1/h", allow_loopback=True) == Target(
        "http", "127.0.0.1", 80, ip_address("127.0.0.1")
    )
