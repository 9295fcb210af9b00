"""A token for each addon: it registers the service of that name, where it is, and nothing else (0042, 0071)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.control_plane.registration_rights import RegistrationRights
from reference.web.http.bearer_token import BearerToken
from tests.reference.control_plane.hub_process import HubProcess
from tests.reference.control_plane.hub_stack import AUDIT, SERVICES, Hub, falcon_key, hub

ORIGIN = "http://127.0.0.1:9"
RECORD = {"name": "mine", "base_url": ORIGIN}

WRONG = (
    ("no name", "--at", ORIGIN),
    ("mine",),
    ("mine", "--at", "nowhere"),
    ("mine", "--at", "http://a@b"),
)


def own(plane: Hub, name: str = "mine", at: str = ORIGIN) -> dict[str, str]:
    """Return the headers of the addon with a name, whose token is for an origin, or for the recorded one alone."""
    token = RegistrationRights(BearerToken.of(plane.settings.token_file)).derive_token(name, at)
    return {"Authorization": f"Bearer {token.text()}"}


async def register(plane: Hub, headers: dict[str, str], **changes: Any) -> httpx.Response:
    """Register a service."""
    return await plane.http.post(SERVICES, json={**RECORD, **changes}, headers=headers)


async def test_it_registers_its_own_service(either: Hub) -> None:
    """New, and again; the log names the service, once."""
    statuses = [(await register(either, own(either))).status_code for _ in range(3)]

    assert statuses == [201, 200, 200]
    assert [(one["action"], one["actor"], one["subject"]) for one in (await either.audit())["entries"]] == [
        ("service.registered", "service:mine", "mine")
    ]
    assert (await either.audit(verify="full"))["valid"] is True


@pytest.mark.parametrize("other_value", ["http://127.0.0.1:8", "http://127.0.0.2:9", "https://127.0.0.1:9"])
async def test_it_moves_its_service_nowhere(plane: Hub, other_value: str) -> None:
    """Another port, host or scheme is another service's: 401, before and after the first registration."""
    for _ in range(2):
        assert (await register(plane, own(plane), base_url=other_value)).status_code == 401
        assert (await register(plane, own(plane), base_url=f"{ORIGIN}/")).status_code in {200, 201}
    assert [one["base_url"] for one in (await plane.posture(admin=True))["services"]] == [f"{ORIGIN}/"]


async def test_a_token_of_a_name_alone_registers_where_the_service_is_recorded(plane: Hub) -> None:
    """Such tokens were made before: 403 for a new service and for another address, and nothing is written."""
    headers = own(plane, at="")
    assert (await register(plane, headers)).status_code == 403
    assert (await register(plane, plane.admin)).status_code == 201
    assert (await register(plane, headers)).status_code == 200
    answer = await register(plane, headers, base_url="http://127.0.0.1:8")
    assert answer.status_code == 403
    assert "--at" in answer.json()["detail"]
    assert [one["actor"] for one in (await plane.audit())["entries"]] == ["admin"]


async def test_its_changes_are_few(tmp_path: Path) -> None:
    """One a minute, with the time to wait; the same record again is no change, the administrator's do not count."""
    clock = tmp_path / "clock"
    clock.write_text("0", "ascii")
    async with hub(tmp_path, clock_offset_file=clock) as plane:
        headers = own(plane)
        assert (await register(plane, headers)).status_code == 201
        for _ in range(3):
            early = await register(plane, headers, health_path="/up")
            assert early.status_code == 429
            assert 1 <= int(early.headers["Retry-After"]) <= 60
            assert (await register(plane, headers)).status_code == 200
        clock.write_text("61", "ascii")
        assert (await register(plane, headers, health_path="/up")).status_code == 200
        assert (await register(plane, headers)).status_code == 429
        assert (await register(plane, plane.admin)).status_code == 200
        report = [(one["action"], one["actor"]) for one in (await plane.audit(verify="full"))["entries"]]
    assert report == [
        ("service.registered", "service:mine"),
        ("service.updated", "service:mine"),
        ("service.updated", "admin"),
    ]


async def test_it_does_nothing_else(plane: Hub) -> None:
    """No other name, no removal, no issuer, no log: 401 each, and nothing is changed."""
    assert (await plane.serve("other")).status_code == 201
    assert (await register(plane, own(plane))).status_code == 201
    before, headers = await plane.state(), own(plane)
    issuer = {"did": "did:web:a.example", "public_key_b64": falcon_key("did:web:a.example")}
    refused_calls = [
        await register(plane, headers, name="other"),
        await register(plane, headers, name="mine "),
        await register(plane, headers, name=None),
        await plane.http.post(SERVICES, content=b"{", headers=headers),
        await plane.http.post(SERVICES, json=[RECORD], headers=headers),
        await plane.http.delete(f"{SERVICES}/mine", headers=headers),
        await plane.http.post("/v1/issuers", json=issuer, headers=headers),
        await plane.http.delete("/v1/issuers/did:web:a.example", headers=headers),
        await plane.http.get(AUDIT, headers=headers),
    ]

    assert [answer.status_code for answer in refused_calls] == [401] * len(refused_calls)
    assert await plane.state() == before
    assert "base_url" not in (await plane.http.get("/v1/posture", headers=headers)).json()["services"][0]


async def test_its_records_are_judged_as_any(plane: Hub) -> None:
    """422 for an invalid path; an invalid address is not the one of its token."""
    assert (await register(plane, own(plane), health_path="nowhere")).status_code == 422
    assert (await register(plane, own(plane), base_url="nowhere")).status_code == 401


async def test_the_admin_token_may_be_kept_from_registering(tmp_path: Path) -> None:
    """403 by a setting; it removes services as before."""
    async with hub(tmp_path, S2CP_ADMIN_REGISTERS="off") as plane:
        assert (await register(plane, plane.admin)).status_code == 403
        assert (await register(plane, own(plane))).status_code == 201
        assert (await plane.http.delete(f"{SERVICES}/mine", headers=plane.admin)).status_code == 204


def test_a_command_tells_the_token(tmp_path: Path) -> None:
    """Also before the first start; a running control plane takes it."""
    process = HubProcess(tmp_path)
    try:
        report = process.command("addon-token", "mine", "--at", "http://127.0.0.1:9/base")
        wrong = [process.command("addon-token", *words) for words in WRONG]
        process.start().ready()
        headers = {"Authorization": f"Bearer {report.stdout.strip()}"}
        answer = process.http.post(SERVICES, json=RECORD, headers=headers)
        reply = process.http.post(SERVICES, json={**RECORD, "name": "other"}, headers=headers)
    finally:
        process.close()

    assert (report.returncode, report.stderr, answer.status_code, reply.status_code) == (0, "", 201, 401)
    assert [(one.returncode, one.stdout) for one in wrong] == [(2, "")] * len(WRONG)


@pytest.mark.parametrize("name", ["mine", "other", ""])
def test_tokens_differ_by_name(tmp_path: Path, name: str) -> None:
    """Each is of the form of a token, and none is the admin token or part of it."""
    admin = BearerToken.of(tmp_path / "token")
    registration_rights = RegistrationRights(admin)
    text = registration_rights.derive_token(name).text()

    assert len(text) == 43
    assert text != admin.text()
    assert text != registration_rights.derive_token(name + "x").text()
    assert (
        text
        != registration_rights.derive_token(name, ORIGIN).text()
        != registration_rights.derive_token(name, ORIGIN + "0").text()
    )
