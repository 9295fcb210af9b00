"""What the checks of events over a restart make of senders that remember, and of such that forget."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import delivery, redelivery
from conformance.engine.check import Case
from conformance.outcome import Inconclusive, Verdict
from conformance.surfaces.gateway import orders
from conformance.surfaces.webhooks import own_tenant_destinations
from conformance.surfaces.webhooks.over_restart import RestartedGateway, restart_once
from conformance.surfaces.webhooks.paid_links import failed_deliveries
from tests.conformance.checks.gateway.scripted_checkout import Link
from tests.conformance.checks.trial import find_broken_rows
from tests.conformance.checks.webhooks.scripted_sender import (
    Attempt,
    Event,
    Flaws,
    Place,
    Shop,
    compact,
    run_check,
    sign_attempt,
)

PAYMENT_CHECK, AGAIN = "a_restart_silences_no_payment", "a_failed_delivery_is_made_again"
DELETION_ROW, OWN = "WH-DELIV-10", "44444444-4444-4444-8444-444444444444"


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(redelivery, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(own_tenant_destinations, "_UNDER_WAY_SECONDS", 0.0)


def nothing(shop: Restarting) -> None:
    """Forget nothing."""


def forget_deliveries(shop: Restarting) -> None:
    """Forget what is to be delivered again."""
    for task in shop.tasks:
        task.cancel()
    shop.rests.clear()


def forget_destinations(shop: Restarting) -> None:
    """Forget where events go."""
    shop.places = ()


def forget_secrets(shop: Restarting) -> None:
    """Sign with other secrets than the destinations were given."""
    shop.places = tuple(replace(place, secret=f"another-{place.secret}") for place in shop.places)


def forget_signatures(shop: Restarting) -> None:
    """Forget what the process had signed."""
    shop.signatures.clear()


@dataclass
class Restarting(Shop):
    """A shop that forgets something once the restart of its profile has left a file."""

    done: Path = Path("done")
    forget: Callable[[Restarting], None] = nothing
    signatures: dict[tuple[str, bytes], str] = field(default_factory=dict)
    restarts: int = 0
    unanswered_bodies: set[bytes] = field(default_factory=set)
    lost: set[bytes] = field(default_factory=set)

    async def _attempt(self, attempt: Attempt) -> bool:
        return attempt.body in self.lost or await super()._attempt(attempt)

    async def _request(self, attempt: Attempt, headers: Mapping[str, str]) -> bool:
        try:
            return await super()._request(attempt, headers)
        except asyncio.CancelledError:
            self.unanswered_bodies.add(attempt.body)
            raise

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        if self.done.exists():
            self.done.unlink()
            self.restarts += 1
            self.forget(self)
        return await super().send(method, url, headers, body)

    def signed_once(self, attempt: Attempt) -> str:
        """Return the header of the first attempt that this process made of an event."""
        return self.signatures.setdefault((attempt.place.name, attempt.body), sign_attempt(attempt))


async def judged_over(
    name: str, folder: Path, forget: Callable[[Restarting], None], *, kept: bool = False
) -> tuple[dict[str, Verdict], Restarting]:
    """Return the verdicts of a shop that forgets something at its restart; it may keep signatures in its process."""
    shop = Restarting(done=folder / "done", forget=forget)
    flaws = Flaws(header=shop.signed_once) if kept else Flaws()
    words = f'restart = ["sh", "-c", "sleep 0.2; touch {folder / "done"}"]\n[claims]'
    row_verdicts, _ = await run_check(
        name, folder, flaws, shop=shop, changed=lambda text: text.replace("[claims]", words)
    )
    return row_verdicts, shop


@pytest.mark.parametrize("name", [PAYMENT_CHECK, AGAIN])
async def test_who_remembers_passes(name: str, tmp_path: Path) -> None:
    """Nothing is held against a sender that goes on after its restart, which there is one of."""
    row_verdicts, shop = await judged_over(name, tmp_path, nothing)
    assert row_verdicts.pop(DELETION_ROW) == Verdict.NOT_APPLICABLE
    assert set(row_verdicts.values()) == {Verdict.PASS}
    assert shop.restarts == 1


async def test_a_delivery_that_a_restart_forgets_breaks_its_row(tmp_path: Path) -> None:
    """What was answered with 500 before the restart is not sent again, although the schedule promises it."""
    row_verdicts, _ = await judged_over(AGAIN, tmp_path, forget_deliveries)
    assert find_broken_rows(row_verdicts) == {"WH-DELIV-05"}


async def test_a_payment_that_nobody_hears_of_after_a_restart_breaks_its_row(tmp_path: Path) -> None:
    """The page says Paid, and no event comes."""
    row_verdicts, _ = await judged_over(PAYMENT_CHECK, tmp_path, forget_destinations)
    assert (row_verdicts["WH-DELIV-02"], row_verdicts["WH-SIG-04"]) == (Verdict.FAIL, Verdict.INCONCLUSIVE)


async def test_a_secret_that_a_restart_makes_anew_breaks_its_row(tmp_path: Path) -> None:
    """The event comes, and its receiver cannot verify it with the secret that it was given."""
    row_verdicts, _ = await judged_over(PAYMENT_CHECK, tmp_path, forget_secrets)
    assert (row_verdicts["WH-DELIV-02"], row_verdicts["WH-SIG-04"]) == (Verdict.PASS, Verdict.FAIL)


async def test_a_restart_hides_no_fault_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who signs once a process and sends that again is found out, although other checks paid before the restart."""

    async def as_in_a_run(case: Case) -> RestartedGateway | None:
        await failed_deliveries(case)
        return await restart_once(case)

    monkeypatch.setattr(redelivery, "restart_once", as_in_a_run)
    row_verdicts, _ = await judged_over(AGAIN, tmp_path, forget_signatures, kept=True)
    assert find_broken_rows(row_verdicts) == {"WH-SIG-06", "WH-SIG-07"}


@dataclass
class Administered(Restarting):
    """A shop whose administrator makes a tenant with destinations, and deletes one of them."""

    own: list[Place] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    drops: bool = True
    owners: dict[str, str] = field(default_factory=dict)
    asking: str = ""

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        path = urlsplit(url).path
        if not path.startswith("/internal/tenants"):
            self.asking = dict(headers).get("X-Tenant-Id", "")
            return await super().send(method, url, headers, body)
        if method == "DELETE":
            self.deleted.add(path.split("/")[-1])
            return self._answer(200, {})
        if not path.endswith("/webhooks"):
            return self._answer(200, {"tenant_id": OWN, "api_key": "weld_own-key"})
        name = f"own{len(self.own)}"
        self.own.append(Place(name, json.loads(body or b"{}")["url"], f"weldw_{name}", OWN))
        return self._answer(201, {"destination_id": name, "secret": f"weldw_{name}"})

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        made = super()._create(body)
        self.owners[str(made["token"])] = self.asking
        return made

    def choose_places(self, link: Link, places: Sequence[Place]) -> Sequence[Place]:
        """Return the destinations of a link's tenant that are not deleted."""
        if self.owners[link.token] != OWN:
            return [one for one in places if one.tenant == "first"]
        return [one for one in self.own if one.name not in self.deleted]

    async def _attempt(self, attempt: Attempt) -> bool:
        is_dropped = self.drops and attempt.place.name in self.deleted
        return is_dropped or await super()._attempt(attempt)


def forget_deletions(shop: Restarting) -> None:
    """Forget which destinations were deleted, and what waited for them."""
    assert isinstance(shop, Administered)
    shop.deleted.clear()


async def judged_by_deletion(
    name: str, folder: Path, shop: Administered, *, restarts: bool = True
) -> dict[str, Verdict]:
    """Return the verdicts of a shop with an administrator."""
    (folder / "admin").write_text("weldc_an-administrators-key")

    def change_profile(text: str) -> str:
        words = f'restart = ["sh", "-c", "sleep 0.2; touch {folder / "done"}"]\n' if restarts else ""
        text = text.replace("[claims]", f'{words}[claims]\noptions = ["gateway.tenants"]')
        text += f'[gateway]\nadmin_key = {{ file = "{folder / "admin"}" }}\n'
        return text.replace("http://gateway.test", "http://127.0.0.1")

    return (await run_check(name, folder, Flaws(places=shop.choose_places), shop=shop, changed=change_profile))[0]


@pytest.mark.parametrize(("forget", "verdict"), [(nothing, Verdict.PASS), (forget_deletions, Verdict.FAIL)])
async def test_a_destination_that_a_restart_revives_breaks_its_row(
    forget: Callable[[Restarting], None], verdict: Verdict, tmp_path: Path
) -> None:
    """What was deleted before the restart gets no event of a payment after it."""
    row_verdicts = await judged_by_deletion(
        PAYMENT_CHECK, tmp_path, Administered(done=tmp_path / "done", forget=forget)
    )
    assert row_verdicts == {"WH-DELIV-02": Verdict.PASS, DELETION_ROW: verdict, "WH-SIG-04": Verdict.PASS}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(("drops", "verdict"), [(True, Verdict.PASS), (False, Verdict.FAIL)])
async def test_what_waits_for_a_deleted_destination_breaks_its_row(
    restarts: bool, drops: bool, verdict: Verdict, tmp_path: Path
) -> None:
    """An attempt that was planned before the deletion is not made after it."""
    shop = Administered(done=tmp_path / "done", drops=drops)
    row_verdicts = await judged_by_deletion(AGAIN, tmp_path, shop, restarts=restarts)
    assert row_verdicts.pop(DELETION_ROW) == verdict
    assert set(row_verdicts.values()) == {Verdict.PASS}


@dataclass
class AtOnce(Administered):
    """A shop that makes an attempt for its administrator's tenant again as soon as it failed, and then no more."""

    async def _deliver(self, first: Event, place: Place, made: int) -> None:
        if place.tenant != OWN:
            return await super()._deliver(first, place, made)
        for number in (1, 2):
            await self._attempt(Attempt(number, first, compact(first), int(self.now), made, place, self.places))
        return None


async def test_an_attempt_of_before_the_deletion_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the event came again to both destinations before one was deleted, nothing of the row is tried."""
    monkeypatch.setattr(redelivery, "_DUE_SECONDS", 3.0)
    shop = AtOnce(done=tmp_path / "done", drops=False)
    assert (await judged_by_deletion(AGAIN, tmp_path, shop, restarts=False))[DELETION_ROW] is Verdict.NOT_APPLICABLE
    assert shop.deleted == {one.name for one in shop.own}


async def test_a_payment_that_cannot_be_made_leaves_the_deletion_alone_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another payment shows after the restart is judged all the same."""
    shop = Administered(done=tmp_path / "done")

    async def nobody(case: Case) -> Any:
        raise Inconclusive(f"no payer pays for {case.check.id}")

    monkeypatch.setattr(delivery, "payer", nobody)
    row_verdicts = await judged_by_deletion(PAYMENT_CHECK, tmp_path, shop)
    assert row_verdicts == {"WH-DELIV-02": Verdict.PASS, DELETION_ROW: Verdict.INCONCLUSIVE, "WH-SIG-04": Verdict.PASS}


def forget_attempts(shop: Restarting) -> None:
    """Forget the attempts that are under way; what waits for its time is kept."""
    shop.lost |= shop.unanswered_bodies


async def test_an_attempt_that_a_restart_cuts_off_breaks_its_row(tmp_path: Path) -> None:
    """What was not answered yet when the gateway ended is made again."""
    row_verdicts, _ = await judged_over(AGAIN, tmp_path, forget_attempts)
    assert find_broken_rows(row_verdicts) == {"WH-DELIV-05"}


async def test_without_a_command_nothing_is_asked(tmp_path: Path) -> None:
    """Who does not say how the gateway is restarted is not judged by it."""
    shop = Restarting(done=tmp_path / "done")
    row_verdicts, _ = await run_check(PAYMENT_CHECK, tmp_path, shop=shop)
    assert row_verdicts == dict.fromkeys(("WH-DELIV-02", DELETION_ROW, "WH-SIG-04"), Verdict.NOT_APPLICABLE)
    assert not shop.links
