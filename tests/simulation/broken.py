"""Rules of the product that are taken out, one at a time: a world finds each, or it would find nothing.

A loss that was mended goes in here too, as the replacement that puts it back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from sqlalchemy import insert

from reference.gateway.checkout.link_settlement import LinkSettlement
from reference.gateway.checkout.watcher import SearchResult, Watcher
from reference.lanes.base.lane import BaseLane
from reference.protocol import a2a_x402, challenge, eip3009, link_payment, weld
from reference.protocol.challenge import Generation
from reference.protocol.link_payment import LinkEnding
from reference.protocol.observed_transaction import ObservedTransaction
from reference.protocol.redemption import State
from reference.rail.availability.issuing_permission import IssuingPermission
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.claims import fulfilment
from reference.rail.claims.claim_acquisition import ClaimFinder
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.fulfilment import Fulfilment
from reference.rail.claims.presented_proofs import in_progress
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.settlement import settler
from reference.store.database import Change, DuplicateKey
from reference.store.deliveries import ClaimedAttempt
from reference.store.links import Link
from reference.store.rail_tables import refunds
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions, build_hold
from reference.store.unserved_payments import UnservedPayments
from reference.variants.seams import Rule, table_with
from reference.web import clock
from reference.web.a2a.methods import A2aServer
from reference.web.reloaded_file import ReloadedFile
from reference.webhooks.dispatcher import Dispatcher
from tests.simulation.losses import LOSSES
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

    def try_without_rule(self) -> Outcome:
        """Return the outcome of the scenario without the rule; afterwards the rule is restored."""
        kept_members = [(owner, name, owner.__dict__[name]) for owner, name, _ in self.replacements]
        try:
            for owner, name, value in self.replacements:
                setattr(owner, name, value)
            return run(self.scenario)
        finally:
            for owner, name, value in kept_members:
                setattr(owner, name, value)

    def is_found(self, outcome: Outcome) -> bool:
        """Return whether the judge saw it."""
        return any(violation.rule == self.rule for violation in outcome.violations)


def _always(*_: Any, **__: Any) -> bool:
    return True


def _nothing(*_: Any, **__: Any) -> None:
    return None


async def _do_nothing(*_: Any, **__: Any) -> None:
    return None


async def _never(*_: Any, **__: Any) -> bool:
    return False


_payment, _send_attempt = LinkSettlement._payment, Dispatcher._send
_forget, _find_or_make, _admit = Redemptions.forget, ClaimFinder.find_or_make, PaidEndpoint.admit
_observe = BaseLane.observe


async def _forget_after_an_hour(self: Redemptions, *, unpaid_before: int, answers_before: int) -> None:
    await _forget(self, unpaid_before=unpaid_before, answers_before=answers_before + 82_800)


async def _claimed_while_unpaid(self: ClaimFinder, presented_proof: Any, call: Any, mine: Any, **how: Any) -> Any:
    row = await _find_or_make(self, presented_proof, call, mine, **how)
    if row.state is State.PAID:  # a worker that died between "paid" and the answer left an unserved payment
        raise in_progress()
    return row


def _payment_of_tenant(self: LinkSettlement, link: Link, *how: Any) -> Any:
    """Number the transfers separately for each tenant, so that another tenant's sale does not count."""
    payment = _payment(self, link, *how)
    return replace(payment, ordinal=payment.ordinal + 1000 * (1 + int(link.tenant_id[:4], 16)))


async def _expire_unseen(self: Watcher, address: str, look: SearchResult, head: Any, now: int) -> None:
    del look, head
    for link in await self._settlement.links.due(self.network, address, now=now + 300):
        await self._settlement.end(link, LinkEnding.TIME_OVER)


def _over_by_any_time(self: Watcher, now: int) -> int:
    del self
    return now


def _over_once_believed(self: Watcher, now: int) -> int:
    """Believe what the time was when a look began, if there is no doubt any more when it ends."""
    return now if self._clock.doubt is None else 0


async def _final_at_once(self: BaseLane, tx_id: str) -> ObservedTransaction:
    return replace(await _observe(self, tx_id), final=True)


async def _note_alone(self: UnservedPayments, row_id: int, tx_id: str, *, now: int) -> bool:
    note = insert(refunds).values(claim_id=row_id, tx_id=tx_id, refunded_at=now)
    with suppress(DuplicateKey):
        await self._database.change_all(Change(note))
    return True


def _state_without_refunds(self: Redemption) -> State:
    if self.spent_at is not None:
        return State.SPENT
    return State.UNPAID if self.paid_at is None else State.PAID


def _undecided_is_refused(uri: str, memo: Any, *, code: str, retry_after: int) -> Any:
    del code, retry_after
    return a2a_x402.refuse_payment(uri, {}, memo, a2a_x402.Refusal("weld_mismatch", "", ""))


async def _carry_on_unkept(self: A2aServer, task: Any, message: Any, outcome: Any) -> Any:
    return self._advance(task, message, outcome)


async def _sent_anew(self: Dispatcher, claimed_attempt: ClaimedAttempt, sealed_secret: bytes) -> Any:
    return await _send_attempt(
        self,
        replace(claimed_attempt, body=claimed_attempt.body.replace(b'"1"', b'"%d"' % (claimed_attempt.number - 1))),
        sealed_secret,
    )


def _always_holds(owner: ModuleType, rule: Rule) -> Replacement:
    """Return what takes a rule out of its table."""
    return (owner, *table_with(owner, rule, _always))


# What puts losses back that were mended; each is tried in the world that found it.


def _issue_superseded(self: IssuingPermission) -> None:
    self._clock.refuse_in_doubt()


def _in_force_exactly(self: Generation, unix: int) -> bool:
    return self.since <= unix and (self.until is None or unix <= self.until + 300)


def _read_or_fail(self: ReloadedFile[Any]) -> None:
    self._value = self._read_content()


def _unforeseen(fault: Exception) -> Exception:
    return RuntimeError(str(fault))


def _refuse_disabled_before_all(self: PaidEndpoint, request: Any, *, has_proof: bool) -> Any:
    self.refuse_disabled(self._challenges[request.path].service)
    return _admit(self, request, has_proof=has_proof)


_EXACT_TERMS: Replacement = (Generation, "in_force", _in_force_exactly)
# A wall that is held against itself never jumps: its highest reading is the time.
_WALL_IS_BELIEVED: tuple[Replacement, ...] = ((clock, "boot_time", time.time),)
_NOT_KEPT: Replacement = (Redemptions, "keep", _do_nothing)
_NOT_LATE: Replacement = (Eligibility, "_may_come_late", _never)
# Without the rehearsal the payment is taken first, and then the file is not there.
_FILES_FAIL_AFTER_PAYMENT: tuple[Replacement, ...] = (
    (ReloadedFile, "_renew", _read_or_fail),
    (Fulfilment, "prepare_answer", _do_nothing),
    (fulfilment, "answer_unavailable", _unforeseen),
)

_LOSSES_PUT_BACK: Mapping[str, tuple[tuple[Replacement, ...], str]] = {
    "price-change": (((IssuingPermission, "refuse_issuing", _issue_superseded), _EXACT_TERMS), "honest-refused"),
    "skewed-clocks": ((_EXACT_TERMS,), "honest-refused"),
    "clock-jump": (_WALL_IS_BELIEVED, "honest-refused"),
    "clock-jump-and-link": (_WALL_IS_BELIEVED, "link-refused"),
    "long-outage": ((_NOT_KEPT, _NOT_LATE), "honest-refused"),
    # Looks at the node would use the bad answers up before a proof is presented; without a look, no absence is known.
    "broken-answers": ((_NOT_KEPT, _NOT_LATE, (LaneHealth, "tend", _do_nothing)), "honest-refused"),
    "trusted-file": (_FILES_FAIL_AFTER_PAYMENT, "server-error"),
    "key-file": (_FILES_FAIL_AFTER_PAYMENT, "server-error"),
    "switched-off": (((PaidEndpoint, "admit", _refuse_disabled_before_all),), "honest-refused"),
    "undated-answers": (((clock.WpClock, "refuse_unfounded", _nothing),), "answer-lost"),
    "rail-and-link": ((_always_holds(weld, weld.is_for_a_call),), "bought-twice"),
}

BROKEN: Mapping[str, Broken] = {
    "any-amount": Broken((_always_holds(weld, weld.is_enough),), Scenario(1, 10, kinds=("short",)), "bought-cheaply"),
    "before-it-is-final": Broken(
        (_always_holds(weld, weld.is_final),), Scenario(1, 60, kinds=("race", "reorganisation")), "served-for-nothing"
    ),
    "any-time": Broken(
        (_always_holds(weld, weld.is_not_later), (challenge, "is_live", _always)),
        Scenario(1, 10, kinds=("late",)),
        "bought-cheaply",
    ),
    "any-request": Broken(
        (
            (Eligibility, "refuse_other_request", _nothing),
            (Eligibility, "refuse_foreign", staticmethod(_nothing)),
        ),
        Scenario(1, 40, kinds=("race", "elsewhere")),
        "anothers-proof",
    ),
    "answers-for-an-hour": Broken(
        ((Redemptions, "forget", _forget_after_an_hour),), Scenario(1, 40, kinds=("honest",)), "answer-lost"
    ),
    "paid-stays-unserved": Broken(
        ((ClaimFinder, "find_or_make", _claimed_while_unpaid),), Scenario(2, 10, kinds=("struck",)), "honest-lost"
    ),
    "doubted-time-ends-links": Broken(
        ((Watcher, "_over", _over_by_any_time),), Scenario(1, 40, kinds=("link", "cold_boot")), "link-refused"
    ),
    "doubt-that-ends-meanwhile": Broken(
        ((Watcher, "_over", _over_once_believed),), Scenario(3, 60, kinds=("link", "cold_boot")), "link-refused"
    ),
    "links-expire-unseen": Broken(
        ((Watcher, "_expire", _expire_unseen),), Scenario(1, 40, kinds=("link",)), "link-refused"
    ),
    "once-a-tenant": Broken(
        ((LinkSettlement, "_payment", _payment_of_tenant),), Scenario(1, 20, kinds=("neighbours",)), "bought-twice"
    ),
    "any-memo": Broken(
        (_always_holds(link_payment, link_payment.is_bound),), Scenario(1, 20, kinds=("neighbours",)), "link-lost"
    ),
    "settled-before-it-is-final": Broken(
        ((BaseLane, "observe", _final_at_once),),
        Scenario(2, 40, kinds=("honest", "race", "reorganisation", "dear")),
        "served-for-nothing",
    ),
    "any-authorization": Broken(
        (_always_holds(eip3009, eip3009.nonce_is_bound),),
        Scenario(3, 20, kinds=("honest", "foreign", "dear")),
        "anothers-proof",
    ),
    "undecided-is-refused": Broken(
        ((a2a_x402, "keep_undecided", _undecided_is_refused),), Scenario(1, 20, kinds=("a2a",)), "honest-refused"
    ),
    "tasks-keep-no-answer": Broken(
        ((A2aServer, "_store_outcome", _carry_on_unkept),), Scenario(1, 20, kinds=("a2a",)), "answer-lost"
    ),
    "attempts-of-the-dead": Broken(
        ((Dispatcher, "_take_back", _do_nothing),), Scenario(1, 40, kinds=("link", "receiver")), "event-lost"
    ),
    "a-body-an-attempt": Broken(
        ((Dispatcher, "_send", _sent_anew),), Scenario(1, 40, kinds=("link", "receiver")), "event-changed"
    ),
    "nothing-is-held": Broken(
        ((settler, "build_hold", lambda _, *, until: build_hold(0, until=until)),),
        Scenario(109, 18, tuple(range(9, 18)), ("honest", "withheld")),
        "refused-and-charged",
    ),
    "refund-is-a-note": Broken(
        ((UnservedPayments, "record_refund", _note_alone), (Redemption, "state", property(_state_without_refunds))),
        Scenario(1, 40, kinds=("operator",)),
        "refunded-and-served",
    ),
    **{name: Broken(how, LOSSES[name], rule) for name, (how, rule) in _LOSSES_PUT_BACK.items()},
}


def list_missed(names: tuple[str, ...], report: Callable[[str], None]) -> list[str]:
    """Try broken rules and return the names of those that no world found."""
    missed_names = []
    for name in names:
        broken = BROKEN[name]
        outcome = broken.try_without_rule()
        is_noticed = broken.is_found(outcome)
        violation_text = next((str(one) for one in outcome.violations if one.rule == broken.rule), "nothing")
        report(f"{name}: {'found' if is_noticed else 'NOT FOUND'}: {violation_text[:160]} [{command(broken.scenario)}]")
        if not is_noticed:
            missed_names.append(name)
    return missed_names
