"""What the checks of events over a restart make of senders that remember, and of such that forget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import delivery, redelivery
from conformance.engine.check import Case
from conformance.outcome import Verdict
from conformance.surfaces.gateway import orders
from conformance.surfaces.webhooks.over_restart import OverRestart, over_restart
from conformance.surfaces.webhooks.sales import failures
from tests.conformance.checks.trial import breached
from tests.conformance.checks.webhooks.scripted_sender import Attempt, Flaws, Shop, judged, signed

SILENCED, AGAIN = "a_restart_silences_no_payment", "a_failed_delivery_is_made_again"


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(delivery, "_SETTLE_SECONDS", 0.3)
    monkeypatch.setattr(redelivery, "_SETTLE_SECONDS", 0.3)


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
        return self.signatures.setdefault((attempt.place.name, attempt.body), signed(attempt))


async def judged_over(
    name: str, folder: Path, forget: Callable[[Restarting], None], *, kept: bool = False
) -> tuple[dict[str, Verdict], Restarting]:
    """Return the verdicts of a shop that forgets something at its restart; it may keep signatures in its process."""
    shop = Restarting(done=folder / "done", forget=forget)
    flaws = Flaws(header=shop.signed_once) if kept else Flaws()
    words = f'restart = ["sh", "-c", "touch {folder / "done"}"]\n[claims]'
    found, _ = await judged(name, folder, flaws, shop=shop, changed=lambda text: text.replace("[claims]", words))
    return found, shop


@pytest.mark.parametrize("name", [SILENCED, AGAIN])
async def test_who_remembers_passes(name: str, tmp_path: Path) -> None:
    """Nothing is held against a sender that goes on after its restart, which there is one of."""
    found, shop = await judged_over(name, tmp_path, nothing)
    assert set(found.values()) == {Verdict.PASS}
    assert shop.restarts == 1


async def test_a_delivery_that_a_restart_forgets_breaks_its_row(tmp_path: Path) -> None:
    """What was answered with 500 before the restart is not made again, although the schedule says so."""
    found, _ = await judged_over(AGAIN, tmp_path, forget_deliveries)
    assert breached(found) == {"WH-DELIV-05"}


async def test_a_payment_that_nobody_hears_of_after_a_restart_breaks_its_row(tmp_path: Path) -> None:
    """The page says Paid, and no event comes."""
    found, _ = await judged_over(SILENCED, tmp_path, forget_destinations)
    assert found == {"WH-DELIV-02": Verdict.FAIL, "WH-SIG-04": Verdict.INCONCLUSIVE}


async def test_a_secret_that_a_restart_makes_anew_breaks_its_row(tmp_path: Path) -> None:
    """The event comes, and its receiver cannot verify it with the secret that it was given."""
    found, _ = await judged_over(SILENCED, tmp_path, forget_secrets)
    assert found == {"WH-DELIV-02": Verdict.PASS, "WH-SIG-04": Verdict.FAIL}


async def test_a_restart_hides_no_fault_of_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who signs once a process and sends that again is found out, although other checks paid before the restart."""

    async def as_in_a_run(case: Case) -> OverRestart | None:
        await failures(case)
        return await over_restart(case)

    monkeypatch.setattr(redelivery, "over_restart", as_in_a_run)
    found, _ = await judged_over(AGAIN, tmp_path, forget_signatures, kept=True)
    assert breached(found) == {"WH-SIG-06"}


async def test_without_a_command_nothing_is_asked(tmp_path: Path) -> None:
    """Who does not say how the gateway is restarted is not judged by it."""
    shop = Restarting(done=tmp_path / "done")
    found, _ = await judged(SILENCED, tmp_path, shop=shop)
    assert found == dict.fromkeys(("WH-DELIV-02", "WH-SIG-04"), Verdict.NOT_APPLICABLE)
    assert not shop.links
