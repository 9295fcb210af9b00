"""What the check of a tenant with many destinations makes of senders that tell them all, and of such that do not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import destination_selection
from conformance.outcome import Verdict
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.webhooks.scripted_sender import Flaws, Place, Shop, own_places, run_check

CHECK = "each_of_many_destinations_hears"
CONTENT, ALL_ROW = "WH-DELIV-01", "WH-DELIV-08"
OWN = "44444444-4444-4444-8444-444444444444"

Choice = Callable[[Sequence[Place], Sequence[Place], int], Iterable[Place]]


pytestmark = pytest.mark.usefixtures("quick_service")


@pytest.fixture(autouse=True)
def quick_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destination_selection, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(destination_selection, "_CACHE_SECONDS", 0.0)


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
    deleted: set[str] = field(default_factory=set)
    owners: dict[str, str] = field(default_factory=dict)
    asking: str = ""
    greedy: bool = False
    refuses: bool = False

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        path = urlsplit(url).path
        if not path.startswith("/internal/tenants"):
            if path.endswith("/payment-links"):
                self.before = len(self.made)
            self.asking = dict(headers).get("X-Tenant-Id", "")
            return await super().send(method, url, headers, body)
        if method == "DELETE":
            self.deleted.add(path.split("/")[-1])
            return self._answer(200, {})
        if self.refuses and path.endswith("/networks"):
            return self._answer(409, {"error": "conflict", "message": "Another tenant has that address."})
        if not path.endswith("/webhooks"):
            return self._answer(200, {"tenant_id": OWN, "api_key": "weld_own-key"})
        if len(self.made) - len(self.deleted) == self.most:
            return self._answer(422, {"error": "too_many", "message": "No more destinations."})
        number = len(self.made)
        self.made.append(Place(f"own{number}", json.loads(body or b"{}")["url"], f"weldw_own{number}", OWN))
        return self._answer(201, {"destination_id": f"own{number}", "secret": f"weldw_own{number}"})

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        made = super()._create(body)
        self.owners[str(made["token"])] = self.asking
        return made

    def choose_places(self, choice: Choice, link: Link, places: Sequence[Place]) -> Iterable[Place]:
        """Return where an event of a link goes; one of the other tenant's goes to the own one as well, if greedy."""
        if self.owners[link.token] == OWN:
            return choice(self.made, places, self.before)
        return [*own_places(link, places), *(self.made if self.greedy else ())]


async def verdicts(
    folder: Path,
    choice: Choice,
    *,
    shop: Administered | None = None,
    claims: bool = True,
    names: Sequence[str] = ("first", "first_too", "second"),
) -> dict[str, Verdict]:
    """Return the verdicts of a shop that chooses the destinations of an event of the check's own tenant."""
    sender = shop or Administered()
    (folder / "admin").write_text("weldc_an-administrators-key")

    def change_profile(text: str) -> str:
        text = text.replace("http://gateway.test", "http://127.0.0.1").replace("paid = 120.0", "paid = 1.0")
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        return text.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["gateway.tenants"]' * claims)

    flaws = Flaws(places=partial(sender.choose_places, choice))
    return (await run_check(CHECK, folder, flaws, shop=sender, changed=change_profile, names=names))[0]


@pytest.mark.parametrize("most", [1, 2, 5, 9])
async def test_who_tells_each_destination_passes(most: int, tmp_path: Path) -> None:
    """A gateway may let a tenant have fewer than nine; what was made is deleted in the end."""
    shop = Administered(most=most)
    assert await verdicts(tmp_path, honest, shop=shop) == dict.fromkeys((CONTENT, ALL_ROW), Verdict.PASS)
    assert shop.deleted == {sender.name for sender in shop.made}


WRONG: dict[str, tuple[Choice, str]] = {
    "the first three": (lambda own, others, before: own[:3], ALL_ROW),  # noqa: ARG005 - a choice of all three
    "those from before the link": (lambda own, others, before: own[:before], ALL_ROW),  # noqa: ARG005 - as above
    "those of another tenant, too": (lambda own, others, before: [*own, *others], CONTENT),  # noqa: ARG005 - as above
}


@pytest.mark.parametrize("which", WRONG)
async def test_who_tells_others_breaks_a_row(which: str, tmp_path: Path) -> None:
    """Too few are as wrong as a stranger."""
    choice, row = WRONG[which]
    expectation = {CONTENT: Verdict.PASS, ALL_ROW: Verdict.PASS, row: Verdict.FAIL}
    assert await verdicts(tmp_path, choice) == expectation


async def test_without_an_administrator_nothing_is_asked(tmp_path: Path) -> None:
    """Who does not claim tenants by an administrator is judged by the destinations of the profile alone."""
    row_verdicts = await verdicts(tmp_path, honest, claims=False)
    assert row_verdicts == dict.fromkeys((CONTENT, ALL_ROW), Verdict.NOT_APPLICABLE)


@pytest.mark.parametrize("names", [("first",), ("second",)])
async def test_who_tells_the_own_tenant_of_others_breaks_a_row(names: Sequence[str], tmp_path: Path) -> None:
    """A payment of the tenant with that payout address is reported to the one that shares it, wherever else it is."""
    row_verdicts = await verdicts(tmp_path, honest, shop=Administered(greedy=True), names=names)
    assert row_verdicts == {CONTENT: Verdict.FAIL, ALL_ROW: Verdict.PASS}


@pytest.mark.parametrize("shop", [Administered(most=0), Administered(refuses=True)])
async def test_where_no_own_tenant_can_be_tried_other_checks_decide(shop: Administered, tmp_path: Path) -> None:
    """Neither who takes no destination on this machine nor who takes no second tenant with an address is doubted."""
    assert await verdicts(tmp_path, honest, shop=shop) == dict.fromkeys((CONTENT, ALL_ROW), Verdict.NOT_APPLICABLE)


async def test_destinations_that_cannot_be_reached_decide_nothing(tmp_path: Path) -> None:
    """A target in a separate container cannot reach the loopback address of this machine."""
    row_verdicts = await verdicts(tmp_path, lambda own, others, before: [])  # noqa: ARG005 - a choice of all three
    assert row_verdicts == dict.fromkeys((CONTENT, ALL_ROW), Verdict.NOT_APPLICABLE)
