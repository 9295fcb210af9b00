"""Keys and networks of tenants that the suite has made: deleted and rotated keys, and links that name no network."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.gateway import credentials
from conformance.engine.check_loading import load_checks
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_gateway import Gateway, Refusal, profile_text
from tests.conformance.checks.trial import run_one_check

DELETED_KEY_CHECK, FIRST = "a_deleted_key_is_rejected", "a_link_without_a_network_is_on_the_first"
ROWS = {DELETED_KEY_CHECK: "GW-AUTH-03", FIRST: "GW-LINK-11"}


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_FORGOTTEN_SECONDS", 0.3)
    monkeypatch.setattr(credentials, "_LOOK_SECONDS", 0.05)


class Administered(Gateway):
    """A gateway whose administrator makes tenants and keys, rotates and deletes keys and sets networks in order."""

    def __init__(self, *flaws: str) -> None:
        super().__init__(*flaws)
        self.keys: dict[str, str] = {}
        self.key_ids: dict[str, str] = {}
        self.rotated: set[str] = set()
        self.networks: dict[str, list[str]] = {}
        self._made_things = itertools.count(1)

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        path = urlsplit(url).path
        if not path.startswith("/internal/tenants"):
            return await super().send(method, url, headers, body)
        document = self._administer(method, path.split("/")[3:], json.loads(body or b"{}"))
        return 200, CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"})), json.dumps(document).encode()

    def _administer(self, method: str, parts: Sequence[str], body: dict[str, Any]) -> dict[str, Any]:
        if not parts:
            return self._key(f"44444444-4444-4444-8444-{next(self._made_things):012}")
        if parts[-1] == "networks":
            self.networks[parts[0]] = [*body]
        elif parts[-1] == "rotate":
            self.rotated.add(parts[-2])
            return self._key(parts[0])
        elif method == "DELETE":
            if "deleted keys work" not in self.flaws and not (
                "rotated keys stay" in self.flaws and parts[-1] in self.rotated
            ):
                del self.keys[self.key_ids[parts[-1]]]
        else:
            return self._key(parts[0])
        return {}

    def _key(self, tenant: str) -> dict[str, Any]:
        number = next(self._made_things)
        self.keys[f"weld_made-{number}"], self.key_ids[f"key-{number}"] = tenant, f"weld_made-{number}"
        return {"tenant_id": tenant, "key_id": f"key-{number}", "api_key": f"weld_made-{number}"}

    def _authenticate(self, headers: CIMultiDict[str]) -> str:
        key = headers.get("Authorization", "").partition(" ")[2]
        if not key.startswith("weld_made-"):
            return super()._authenticate(headers)
        if key not in self.keys:
            raise Refusal(401, "invalid_api_key")
        return self.keys[key]

    def _create_record(self, path: str, tenant: str, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("preferred_network") is None and tenant in self.networks:
            names = self.networks[tenant]
            order = {"the first by name": min(names), "the last": names[-1]}
            body = {**body, "preferred_network": next((order[one] for one in order if one in self.flaws), names[0])}
        return super()._create_record(path, tenant, body)


async def verdict(name: str, folder: Path, *flaws: str, claims: bool = True) -> Verdict:
    """Return what a check makes of a gateway with flaws."""
    load_checks()
    (folder / "admin").write_text("weldc_an-administrators-key")
    text = profile_text(folder).replace("[gateway]\n", f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n')
    options = 'lanes = ["algorand"]\noptions = ["gateway.tenants"]'
    text = text.replace('lanes = ["algorand"]', options) if claims else text
    return (await run_one_check(name, Administered(*flaws), text))[ROWS[name]]


@pytest.mark.parametrize("name", ROWS)
async def test_an_honest_gateway_passes(name: str, tmp_path: Path) -> None:
    """Deleted keys are refused, other keys are accepted, and the first network is the default."""
    assert await verdict(name, tmp_path) is Verdict.PASS


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        (DELETED_KEY_CHECK, "deleted keys work"),
        (DELETED_KEY_CHECK, "rotated keys stay"),
        (FIRST, "the first by name"),
        (FIRST, "the last"),
    ],
)
async def test_a_flaw_breaks_the_row(name: str, flaw: str, tmp_path: Path) -> None:
    """A key that outlives its deletion and a network that is not the first each break their row."""
    assert await verdict(name, tmp_path, flaw) is Verdict.FAIL


@pytest.mark.parametrize("name", ROWS)
async def test_without_the_claim_nothing_is_asked(name: str, tmp_path: Path) -> None:
    """A target that does not claim the administration of tenants is judged by other checks alone."""
    assert await verdict(name, tmp_path, claims=False) is Verdict.NOT_APPLICABLE
