"""Rules of the product that are taken out, one at a time: a world finds each, or it would find nothing.

A loss that was mended goes in here too, as the replacement that puts it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reference.gateway.checkout.watcher import Look, Watcher
from reference.protocol import challenge, weld
from reference.protocol.redemption import State
from reference.rail.collecting import in_progress
from reference.rail.redemption import Redeemer
from reference.store.redemptions import Redemptions
from tests.simulation.shrinking import command
from tests.simulation.world import Outcome, Scenario, run

Replacement = tuple[Any, str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that is taken out.

    Attributes:
        replacements: Owner, name and value of what takes the place of something of the product.
        scenario: The world that finds it.
        rule: The rule of the judge that is broken then.
    """

    replacements: tuple[Replacement, ...]
    scenario: Scenario
    rule: str

    def tried(self) -> Outcome:
        """Return what comes of the scenario without the rule; everything is as it was afterwards."""
        kept = [(owner, name, owner.__dict__[name]) for owner, name, _ in self.replacements]
        try:
            for owner, name, value in self.replacements:
                setattr(owner, name, value)
            return run(self.scenario)
        finally:
            for owner, name, value in kept:
                setattr(owner, name, value)

    def is_found(self, outcome: Outcome) -> bool:
        """Return whether the judge saw it."""
        return any(violation.rule == self.rule for violation in outcome.violations)


def _always(*_: Any, **__: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> None:
    return None


_forget, _claimed, _expire = Redemptions.forget, Redeemer._claimed, Watcher._expire


async def _forget_after_an_hour(self: Redemptions, *, unpaid_before: int, answers_before: int) -> None:
    await _forget(self, unpaid_before=unpaid_before, answers_before=answers_before + 82_800)


async def _claimed_while_unpaid(self: Redeemer, presented: Any, call: Any, mine: Any, **how: Any) -> Any:
    row = await _claimed(self, presented, call, mine, **how)
    if row.state is State.PAID:  # whoever died between "paid" and the answer left a payment that nobody serves
        raise in_progress()
    return row


async def _expire_unseen(self: Watcher, address: str, look: Look, head: Any, now: int) -> None:
    del look
    await _expire(self, address, Look(complete=True), head, now + 300)


BROKEN: Mapping[str, Broken] = {
    "any-amount": Broken(((weld, "is_enough", _always),), Scenario(1, 10, kinds=("short",)), "bought-cheaply"),
    "before-it-is-final": Broken(
        ((weld, "is_final", _always),), Scenario(1, 60, kinds=("race", "reorganisation")), "served-for-nothing"
    ),
    "any-time": Broken(
        ((weld, "is_not_later", _always), (challenge, "is_live", _always)),
        Scenario(1, 10, kinds=("late",)),
        "bought-cheaply",
    ),
    "any-request": Broken(
        (
            (Redeemer, "refuse_other_request", _nothing),
            (Redeemer, "refuse_foreign", staticmethod(_nothing)),
        ),
        Scenario(1, 40, kinds=("race", "elsewhere")),
        "anothers-proof",
    ),
    "answers-for-an-hour": Broken(
        ((Redemptions, "forget", _forget_after_an_hour),), Scenario(1, 40, kinds=("honest",)), "answer-lost"
    ),
    "paid-stays-unserved": Broken(
        ((Redeemer, "_claimed", _claimed_while_unpaid),), Scenario(1, 120, kinds=("race", "kill")), "honest-lost"
    ),
    "links-expire-unseen": Broken(
        ((Watcher, "_expire", _expire_unseen),), Scenario(1, 40, kinds=("link",)), "link-refused"
    ),
}


def missed(names: tuple[str, ...], report: Callable[[str], None]) -> list[str]:
    """Try broken rules and return the names of those that no world found."""
    lost = []
    for name in names:
        broken = BROKEN[name]
        outcome = broken.tried()
        found = broken.is_found(outcome)
        seen = next((str(one) for one in outcome.violations if one.rule == broken.rule), "nothing")
        report(f"{name}: {'found' if found else 'NOT FOUND'}: {seen[:160]} [{command(broken.scenario)}]")
        if not found:
            lost.append(name)
    return lost
