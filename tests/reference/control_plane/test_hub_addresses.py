"""Where registered services may be: on public addresses, and in the networks that an operator allows (7.3, P-WH-10)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from pathlib import Path

import pytest

from reference.control_plane.health_client import HealthClient, HealthResult
from reference.protocol.destination_address import LOOPBACK, REFUSED_NETWORKS, Network
from reference.web.destination_dns import AddressCheck
from tests.reference.control_plane.hub_stack import Hub, hub
from tests.reference.control_plane.scripted_service import answers, service

LIVE = {"mode": "live", "rate_limits": True}
ELSEWHERE = (
    "http://169.254.169.254",
    "http://10.0.0.1:8080",
    "http://192.168.1.1",
    "https://172.16.3.4",
    "http://0.0.0.0:80",
    "http://[fe80::1]",
    "http://[fd00::1]:9",
    "http://[::ffff:127.0.0.1]:9",
    "http://100.64.0.1",
)


def asker(matches: Sequence[str], networks: tuple[Network, ...], request: list[str] | None = None) -> HealthClient:
    """Return what asks for health, for whom every name has these addresses."""

    async def lookup(host: str, port: int) -> Sequence[str]:
        del port
        if request is not None:
            request.append(host)
        return matches

    return HealthClient(
        "test/1", AddressCheck(allow_loopback=False, allowed_networks=networks, lookup=lookup), seconds=30
    )


@pytest.mark.parametrize("url", ELSEWHERE)
async def test_an_address_of_another_network_is_registered_by_nobody(plane: Hub, url: str) -> None:
    """422 that names the setting, for the administrator, too; nothing is written."""
    answer = await plane.serve("a", url)
    assert answer.status_code == 422
    (fault,) = answer.json()["detail"]
    assert fault["loc"] == ["body", "base_url"]
    assert "S2CP_SERVICE_NETWORKS" in fault["msg"]
    assert (await plane.audit())["count"] == 0


async def test_in_live_mode_loopback_is_no_place_unless_it_is_allowed(tmp_path: Path) -> None:
    """The setting lists every network that is not public."""
    async with hub(tmp_path / "strict", **LIVE) as plane:
        assert (await plane.serve("a")).status_code == 422
        assert (await plane.serve("a", "https://service.example")).status_code == 201
    async with hub(tmp_path / "local", service_networks="127.0.0.0/8, 10.1.0.0/16", **LIVE) as plane:
        assert (await plane.serve("a")).status_code == 201
        assert (await plane.serve("b", "http://10.1.2.3")).status_code == 201
        assert (await plane.serve("c", "http://10.2.2.3")).status_code == 422


async def test_what_was_registered_before_is_asked_no_more(tmp_path: Path) -> None:
    """Also a record that an earlier version took; the posture says why, and no connection is made."""
    async with service(answers(200)) as service_process:
        async with hub(tmp_path) as plane:
            assert (await plane.serve("a", service_process.url)).status_code == 201
        async with hub(tmp_path, **LIVE) as plane:
            (service_shown,) = (await plane.posture())["services"]
        assert (service_shown["healthy"], service_shown["status_code"], service_shown["error"]) == (
            False,
            None,
            "address_refused",
        )
        assert service_process.heads == []


@pytest.mark.parametrize("network", [network for network, _ in REFUSED_NETWORKS])
async def test_a_name_of_such_an_address_is_not_called(network: str) -> None:
    """Whatever network it is in; a name that is half public is not called either."""
    address = str(ip_network(network)[-1])
    for addresses_found in ([address], ["93.184.215.14", address]):
        assert await asker(addresses_found, ())("http://inside.example/health") == HealthResult(
            None, None, "address_refused"
        )


async def test_a_name_is_looked_up_once_for_a_question() -> None:
    """The connection goes to the address that was judged, with the name in Host; the second address is tried, too."""
    questions: list[str] = []
    async with service(answers(200)) as service_process:
        port = service_process.url.rpartition(":")[2]
        ask = asker(["127.0.0.9", "127.0.0.1"], LOOPBACK, questions)
        match = await ask(f"http://inside.example:{port}/health")
        assert (match.status, questions) == (200, ["inside.example"])
        assert f"host: inside.example:{port}" in service_process.heads[0].lower().split("\r\n")


@pytest.mark.parametrize(
    "path",
    ["//elsewhere.example/health", "@elsewhere.example/", "http://elsewhere.example/", ":1/", "\\\\elsewhere", ""],
)
async def test_a_health_path_stays_on_its_host(plane: Hub, path: str) -> None:
    """What could name another host, in the eyes of any reader, is no path: 422."""
    assert (await plane.serve("a", health_path=path)).status_code == 422


async def test_the_posture_shows_nothing_of_an_answer_but_its_status(plane: Hub) -> None:
    """Neither its body nor its fields."""
    async with service(answers(200, "X-Inside: secret-field", body='{"inside":"secret-body"}')) as service_process:
        assert (await plane.serve("a", service_process.url)).status_code == 201
        for headers in ({}, plane.admin):
            answer = await plane.http.get("/v1/posture", headers=headers)
            assert answer.json()["services"][0]["healthy"]
            assert "secret" not in answer.text
