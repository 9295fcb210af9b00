"""RAIL-WELD-11, RAIL-PAY-02 to -04 and RAIL-RCPT-02 and -03 over a restart of the rail.

A spent payment stays spent, an honest payment is served, and an earlier receipt verifies with the later keys.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.attacks.engine import receipts
from conformance.discovery.rail import INDEX
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.ledger import load
from conformance.oracles import jose
from conformance.oracles.keys import Ed25519Key
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, Purchase, challenge, pay, present, purchase, redeem
from conformance.surfaces.rail.receipts import receipt_of
from conformance.surfaces.restarts import leave_without_restart, restart_command, start_again
from conformance.vocabulary.lanes.families import decided_on

_ONCE, _CHARGED = "RAIL-WELD-11", "RAIL-PAY-07"
# The row of the lane whose payments the rail itself settles.
_SETTLED: Final = "RAIL-PAY-04"
_IN_SET, _IN_DID = "RAIL-RCPT-02", "RAIL-RCPT-03"
# The rows that a payment is served, one for each family of lanes.
_SERVED: Final = ("RAIL-PAY-02", "RAIL-PAY-03", "RAIL-PAY-04")


@dataclass(frozen=True, slots=True)
class _Before:
    """A lane's state before the restart: a bought call, and a paid challenge whose proof was not presented yet."""

    lane: str
    bought: Purchase
    quote: Challenge
    proof: Mapping[str, Any]


@check(
    _ONCE,
    *_SERVED,
    _CHARGED,
    _IN_SET,
    _IN_DID,
    surface="rail",
    exclusive=Exclusive.RESTART,
    fix="Store redemptions, answers, settlements, the signing key and the token secret on disk before you use them. "
    "Follow sent transactions after a restart. Publish a key as long as its receipts must verify.",
    quick=OWN_PROCESSES,
)
async def a_restart_forgets_no_payment(case: Case) -> None:
    """After a restart a spent payment buys nothing more, and one made before it for a live challenge is served.

    Buys one call on every lane, and pays for another. Restarts the rail by the profile's command. Presents the first
    proof on the same request, and then the second one twice. Expects the stored answer or a refusal for the first, 200
    for the second, and then its stored answer or a refusal.

    If the rail settles, the node holds a settlement in its pool during the restart. Expects that it is charged once,
    and that its call is served if a challenge of its age can still be paid. Fetches the published keys after the
    restart. Expects that the receipts from before and after it verify with the key set, and the later one with the DID
    document.
    """
    words = restart_command(case, "rail")
    if words is None:
        leave_without_restart(case, "rail")
        return
    lanes = [lane for row in _SERVED for lane in _claimed(case, row)]
    for row in _SERVED:
        if not _claimed(case, row):
            case.mark_not_applicable(row, f"the profile does not claim the lane {load()[row].lane}")
    before = await run_concurrently(_paid(case, lane) for lane in lanes)
    settled = await _started_again(case, words)
    in_set, in_did = await published_keys(case)
    keys = {_IN_SET: in_set, _IN_DID: in_did}
    await run_concurrently([*(_judged(case, one, keys) for one in before), *([] if settled is None else [settled()])])


def _claimed(case: Case, row: str) -> list[str]:
    """Return the claimed lanes on which a row is decided."""
    return [lane for lane in case.profile.claims.lanes if decided_on(load()[row], lane)]


async def _started_again(case: Case, words: Sequence[str]) -> Callable[[], Awaitable[None]] | None:
    """Restart the rail, with a settlement in progress if it settles; return the function that judges it, or None."""
    url, settling = case.session.rail + INDEX, _claimed(case, _SETTLED)
    if not settling:
        case.mark_not_applicable(_CHARGED, f"the profile does not claim the lane {load()[_SETTLED].lane}")
        await start_again(case, words, url)
        return None
    # Imported here, because its dependencies are installed only with that lane's extra.
    from conformance.judging.rail.base.settlements import settlement_on_its_way  # noqa: PLC0415

    async with settlement_on_its_way(case, settling[0]) as judge:
        await start_again(case, words, url)
    return judge


async def _paid(case: Case, lane: str) -> _Before:
    operation = case.session.catalog.operations[0]
    bought = await purchase(case, operation, lane)
    quote = await challenge(case, operation)
    return _Before(lane, bought, quote, await pay(case, quote, lane))


async def _judged(case: Case, before: _Before, keys: Mapping[str, list[Ed25519Key]]) -> None:
    # A DID document may drop a key that no longer signs. Receipts name the key set, so an old receipt is checked with
    # that.
    _verified(case, before.bought, {_IN_SET: keys[_IN_SET]}, {"lane": before.lane, "receipt": "from before a restart"})
    operation, where = before.quote.operation, {"lane": before.lane, "restart": "after the payment"}
    again = await present(case, operation, dict(before.bought.proof), body=before.bought.challenge.body)
    same = again.status != 200 or receipts(again) == receipts(before.bought.answer)
    expected = "the stored answer or a refusal"
    case.expect(_ONCE, same, expected, _describe(again, same), exchange=again, where=where)
    bound = case.profile.rail_bindings.replay
    if bound == "stored-answer" and same:
        case.expect(
            _ONCE,
            again.status == 200,
            "the stored answer",
            brief(again),
            exchange=again,
            where=where,
            beyond="no second purchase happened, but the profile promises the stored answer to the identical request",
        )
    served = await redeem(case, operation, dict(before.proof), body=before.quote.body)
    row = next(row for row in _SERVED if decided_on(load()[row], before.lane))
    case.expect(row, served.status == 200, "200", brief(served), exchange=served, where=where)
    if served.status != 200:
        case.mark_inconclusive(_IN_DID, "no call was served after the restart", exchange=served)
    else:
        last = await present(case, operation, dict(before.proof), body=before.quote.body)
        same = last.status != 200 or receipts(last) == receipts(served)
        case.expect(_ONCE, same, expected, _describe(last, same), exchange=last, where=where)
        sold = Purchase(before.quote, before.lane, before.proof, served)
        _verified(case, sold, keys, {"lane": before.lane, "receipt": "from after a restart"})


def _verified(case: Case, served: Purchase, keys: Mapping[str, list[Ed25519Key]], where: Mapping[str, str]) -> None:
    """Judge that a receipt verifies with the keys that are published after the restart."""
    for row, published in keys.items():
        try:
            fault = jose.fault_of(receipt_of(case, served)[1], published)
        except Inconclusive as reason:
            case.mark_inconclusive(row, str(reason), exchange=served.answer)
            continue
        expected = "verifies with the keys published after the restart"
        case.expect(row, fault is None, expected, fault, exchange=served.answer, where=where)


def _describe(answer: Answer, same: bool) -> str:
    return brief(answer) if same else f"{brief(answer)} with another receipt"
