"""A token for each addon: it registers the service of that name, and nothing else (0042)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.control_plane.registering import Registering
from reference.web.bearer_token import BearerToken
from tests.reference.control_plane.hub_process import HubProcess
from tests.reference.control_plane.hub_stack import AUDIT, SERVICES, Hub, falcon_key, hub

RECORD = {"name": "mine", "base_url": "http://127.0.0.1:9"}


def own(plane: Hub, name: str = "mine") -> dict[str, str]:
    """Return the headers of the addon with a name."""
    token = Registering(BearerToken.of(plane.settings.token_file)).token(name)
    return {"Authorization": f"Bearer {token.text()}"}


async def register(plane: Hub, headers: dict[str, str], **changes: Any) -> httpx.Response:
    """Register a service."""
    return await plane.http.post(SERVICES, json={**RECORD, **changes}, headers=headers)


async def test_it_registers_its_own_service(either: Hub) -> None:
    """New, again, and at another address."""
    statuses = [
        (await register(either, own(either), base_url=f"http://127.0.0.1:{port}")).status_code for port in (9, 9, 8)
    ]

    assert statuses == [201, 200, 200]
    assert [one["base_url"] for one in (await either.posture(admin=True))["services"]] == ["http://127.0.0.1:8"]


async def test_it_does_nothing_else(plane: Hub) -> None:
    """No other name, no removal, no issuer, no log: 401 each, and nothing is changed."""
    assert (await plane.serve("other")).status_code == 201
    assert (await register(plane, own(plane))).status_code == 201
    before, headers = await plane.state(), own(plane)
    issuer = {"did": "did:web:a.example", "public_key_b64": falcon_key("did:web:a.example")}
    refused = [
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

    assert [answer.status_code for answer in refused] == [401] * len(refused)
    assert await plane.state() == before
    assert "base_url" not in (await plane.http.get("/v1/posture", headers=headers)).json()["services"][0]


async def test_its_records_are_judged_as_any(plane: Hub) -> None:
    """422 for an address that is none."""
    assert (await register(plane, own(plane), base_url="nowhere")).status_code == 422


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
        told = process.command("addon-token", "mine")
        wrong = process.command("addon-token", "no name")
        process.start().ready()
        headers = {"Authorization": f"Bearer {told.stdout.strip()}"}
        made = process.http.post(SERVICES, json=RECORD, headers=headers)
        other = process.http.post(SERVICES, json={**RECORD, "name": "other"}, headers=headers)
    finally:
        process.close()

    assert (told.returncode, told.stderr, made.status_code, other.status_code) == (0, "", 201, 401)
    assert (wrong.returncode, wrong.stdout) == (2, "")


@pytest.mark.parametrize("name", ["mine", "other", ""])
def test_tokens_differ_by_name(tmp_path: Path, name: str) -> None:
    """Each is of the form of a token, and none is the admin token or part of it."""
    admin = BearerToken.of(tmp_path / "token")
    registering = Registering(admin)
    text = registering.token(name).text()

    assert len(text) == 43
    assert text != admin.text()
    assert text != registering.token(name + "x").text()
