"""What the check of a tenant with many destinations makes of senders that tell them all, and of such that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import destinations
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.webhooks.scripted_sender import Flaws, Place, Shop, judged

CHECK = "each_of_many_destinations_hears"
CONTENT, ALL = "WH-DELIV-01", "WH-DELIV-08"
OWN = "44444444-4444-4444-8444-444444444444"

Choice = Callable[[Sequence[Place], Sequence[Place], int], Iterable[Place]]


pytestmark = pytest.mark.usefixtures("quick_service")


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "_SETTLE_SECONDS", 0.3)


def honest(own: Sequence[Place], others: Sequence[Place], before: int) -> Iterable[Place]:
    """Return the tenant's destinations."""
    del others, before
    return own


@dataclass
class Administered(Shop):
    """A shop whose administrator makes a tenant, and as many destinations of it as it may have."""

    most: int = 9
    made: list[Place] = field(default_factory=list)
    before: int = 0

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        path = urlsplit(url).path
        if not path.startswith("/internal/tenants"):
            if path.endswith("/payment-links"):
                self.before = len(self.made)
            return await super().send(method, url, headers, body)
        if not path.endswith("/webhooks"):
            return self._answer(200, {"tenant_id": OWN, "api_key": "weld_own-key"})
        if len(self.made) == self.most:
            return self._answer(422, {"error": "too_many", "message": "No more destinations."})
        number = len(self.made)
        self.made.append(Place(f"own{number}", json.loads(body or b"{}")["url"], f"weldw_own{number}", OWN))
        return self._answer(201, {"destination_id": f"own{number}", "secret": f"weldw_own{number}"})


async def verdicts(folder: Path, choice: Choice, *, most: int = 9, claims: bool = True) -> dict[str, Verdict]:
    """Return the verdicts of a shop that chooses the destinations of an event."""
    shop = Administered(most=most)
    (folder / "admin").write_text("weldc_an-administrators-key")

    def chosen(link: Link, places: Sequence[Place]) -> Iterable[Place]:
        del link
        return choice(shop.made, places, shop.before)

    def changed(text: str) -> str:
        text = text.replace("http://gateway.test", "http://127.0.0.1").replace("paid = 120.0", "paid = 1.0")
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        return text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.tenants"]' * claims)

    return (await judged(CHECK, folder, Flaws(places=chosen), shop=shop, changed=changed))[0]


@pytest.mark.parametrize("most", [1, 2, 5, 9])
async def test_who_tells_each_destination_passes(most: int, tmp_path: Path) -> None:
    """A gateway may let a tenant have fewer than nine."""
    assert await verdicts(tmp_path, honest, most=most) == dict.fromkeys((CONTENT, ALL), Verdict.PASS)


WRONG: dict[str, tuple[Choice, str]] = {
    "the first three": (lambda own, others, before: own[:3], ALL),  # noqa: ARG005 - a choice of all three
    "those from before the link": (lambda own, others, before: own[:before], ALL),  # noqa: ARG005 - as above
    "those of another tenant, too": (lambda own, others, before: [*own, *others], CONTENT),  # noqa: ARG005 - as above
}


@pytest.mark.parametrize("which", WRONG)
async def test_who_tells_others_breaks_a_row(which: str, tmp_path: Path) -> None:
    """Too few are as wrong as a stranger."""
    choice, row = WRONG[which]
    expected = {CONTENT: Verdict.PASS, ALL: Verdict.PASS, row: Verdict.FAIL}
    assert await verdicts(tmp_path, choice) == expected


async def test_without_an_administrator_nothing_is_asked(tmp_path: Path) -> None:
    """Who does not claim tenants by an administrator is judged by the destinations of the profile alone."""
    found = await verdicts(tmp_path, honest, claims=False)
    assert found == dict.fromkeys((CONTENT, ALL), Verdict.NOT_APPLICABLE)
