"""RAIL-PAY and RAIL-WELD on Base: one authorization, settled by somebody else, many times at once, or once more."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from conformance.attacks.engine import receipts
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.judging.rail.base.funded_challenges import FundedChallenge, FundedChallenges, base_payer
from conformance.judging.rail.refusals import QUICK, assert_control_is_served, honest_payment_is_served
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import Account, BasePayer, Refused
from conformance.lanes.base.token import SPLIT, WHOLE
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.base.spellings import spellings
from conformance.surfaces.rail.paid_answers import brief

_AT_ONCE, _CLAIMS = 50, 100
_LAG = 10
# Seconds until an authorization's window closes. The longer ones are for a machine on which six pass before it is used.
_WINDOWS = (6, 20, 60)
_LOOKS = 60


@check(
    "RAIL-PAY-04",
    "RAIL-PAY-07",
    surface="rail",
    lane="base",
    fix="Find the transaction that used the authorization and the amount that it moved, by any sender. Never settle "
    "or serve twice for one authorization.",
)
async def settlement_by_a_third_party(case: Case) -> None:
    """A welded authorization that a stranger settled first is served once, for the one price it moved.

    Has a stranger use welded authorizations on the chain before they are presented: by either overload, and two payers'
    in one transaction. Presents each twice. Expects one price moved, and no second receipt. The money has reached the
    payee, so the payment is expected to be served, or the answer to say that it may be presented again. A rail that
    refuses it gets a warning, unless it has the reference's defaults, since the interface leaves open who submits.
    """
    payer = await base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await honest_payment_is_served(case, operation)
    stranger = await payer.new_account(coin=True)

    async def use_by_stranger(overload: str, what: str) -> None:
        stake = await stakes.stake(operation, prices=2)
        given = await stake.sign()
        await payer.use(given, sender=stranger, overload=overload)
        await _settled_elsewhere(case, stake, given, what)

    async def two_at_once() -> None:
        pair = [await stakes.stake(operation, prices=2) for _ in range(2)]
        given = [await stake.sign() for stake in pair]
        await payer.batch(
            [(stake.token.address, stake.token.use_call(one)) for stake, one in zip(pair, given, strict=True)]
        )
        for stake, one in zip(pair, given, strict=True):
            await _settled_elsewhere(case, stake, one, "two payers' authorizations used in one transaction")

    await run_concurrently(
        (
            use_by_stranger(SPLIT, "used by a stranger"),
            use_by_stranger(WHOLE, "used by a stranger, signature in one piece"),
            two_at_once(),
        )
    )


@check(
    "RAIL-PAY-04",
    surface="rail",
    lane="base",
    fix="Before you refuse an authorization for its age, ask the chain whether a transaction used it. If so, the "
    "contract has checked its window, and the payee has the money.",
)
async def settled_before_the_window_closed(case: Case) -> None:
    """A welded authorization that a third party settled within its window is served after the window, too.

    Has a third party use an authorization that is valid for a few seconds more, and presents it when `validBefore` has
    passed, while its challenge is live. Expects that it is served, or that the answer says to present it again; who
    refuses it for good gets a warning, as the interface says only that an authorization outside its window buys
    nothing.
    """
    payer = await base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await honest_payment_is_served(case, operation)
    third_party = await payer.new_account(coin=True)
    stake = await stakes.stake(operation, prices=2)
    given, seconds = await _used_in_time(payer, stake, third_party)
    for _ in range(_LOOKS):
        if await payer.block_time() > given.valid_before:
            break
        await asyncio.sleep(seconds / 10)
    else:
        raise Inconclusive("the chain's time did not pass the authorization's window")
    answer = await stake.redeem(case, given)
    case.expect(
        "RAIL-PAY-04",
        answer.status == 200 or "retry-after" in answer.headers,
        "served, or told to present it again",
        f"{brief(answer)}, and {await stake.moved()} of {stake.price} moved",
        exchange=answer,
        where={"operation": operation.path, "payment": "used by a third party before its window closed"},
        beyond="whether an authorization that was used within its window buys its call after it is open",
    )


async def _used_in_time(payer: BasePayer, stake: FundedChallenge, third_party: Account) -> tuple[Authorization, int]:
    """Have a third party use an authorization before its window closes; return it and the seconds it was valid for.

    Raises:
        Inconclusive: The contract rejected each, or the node could not be asked.
    """
    for seconds in _WINDOWS:
        given = await stake.sign(valid_before=await payer.block_time() + seconds)
        # An authorization whose window is closed moves nothing, so that another one may take its place.
        with suppress(Refused):
            await payer.use(given, sender=third_party)
            return given, seconds
    raise Inconclusive(f"the contract rejected each of {len(_WINDOWS)} authorizations, valid for up to {seconds} s")


async def _settled_elsewhere(case: Case, stake: FundedChallenge, given: Authorization, what: str) -> None:
    answers = [await stake.redeem(case, given) for _ in range(2)]
    served = [answer for answer in answers if answer.status == 200]
    moved, different = await stake.moved(), {receipts(answer) for answer in served}
    case.expect(
        "RAIL-PAY-07",
        moved == stake.price and len(different) <= 1,
        "one price moved, one receipt at most",
        f"{moved} of {stake.price} moved, {len(different)} receipts",
        exchange=answers[-1],
        where={"payment": what},
    )
    case.expect(
        "RAIL-PAY-04",
        bool(served) or "retry-after" in answers[-1].headers,
        "served, or 402 with Retry-After",
        f"{brief(answers[0])}, although {moved} of {stake.price} moved",
        exchange=answers[-1],
        where={"payment": what},
        beyond=None if case.profile.is_reference else "who submits a welded authorization is left open",
    )


@check(
    "RAIL-WELD-12",
    surface="rail",
    lane="base",
    fix="Make the settlement of one authorization one at a time over all workers, and its answer one for all callers.",
)
async def fifty_at_once_move_one_price(case: Case) -> None:
    """Of 50 concurrent calls with one X-PAYMENT one is executed, and one price moves.

    Presents one authorization of an account that holds many prices 50 times at once, on the last operation in all its
    spellings. Expects one receipt among all that are served, and one price moved.
    """
    payer = await base_payer(case)
    stakes = FundedChallenges(case, payer)
    for operation in case.session.catalog.operations:
        stake = await stakes.stake(operation, prices=_AT_ONCE if payer.has_control else 3)
        given = await stake.sign()
        mixed = operation is case.session.catalog.operations[-1]
        ways = [Authorization.proof, *(spellings(payer.caip2).values() if mixed else ())]
        proofs = [ways[at % len(ways)](given) for at in range(_AT_ONCE)]
        answers = await run_concurrently((stake.present(case, proof) for proof in proofs), at_once=_AT_ONCE)
        answers.append(await stake.redeem(case, given))
        served = [answer for answer in answers if answer.status == 200]
        if not served:
            raise Inconclusive("none of 50 identical calls was served")
        await payer.blocks_later(2)
        different, moved = {receipts(answer) for answer in served}, await stake.moved()
        case.expect(
            "RAIL-WELD-12",
            len(different) == 1 and moved == stake.price,
            "one receipt among all that were served, one price moved",
            f"{len(served)} served with {len(different)} receipts, {moved} of {stake.price} moved",
            exchange=served[-1],
            where={"operation": operation.path},
        )


@check(
    "RAIL-WELD-11",
    surface="rail",
    lane="base",
    fix="Key a payment by payer and nonce, not by the text of the proof or its signature.",
)
async def spent_authorization_in_another_spelling(case: Case) -> None:
    """A spent authorization that is spelled or signed another way buys nothing more.

    Buys one call and presents the same authorization in every other spelling, with the signature's malleable twin, and
    signed once more with another window. Expects the stored answer or a refusal: no second receipt and no second price.
    """
    payer = await base_payer(case)
    operation = case.session.catalog.operations[0]
    stake = await FundedChallenges(case, payer).stake(operation, prices=3)
    given = await stake.sign()
    first = await stake.redeem(case, given)
    assert_control_is_served(first)
    again: dict[str, Mapping[str, Any]] = {
        **{what: spell(given) for what, spell in spellings(payer.caip2).items()},
        "the malleable twin": given.malleated().proof(),
        "signed again with another window": (await stake.sign(valid_before=given.valid_before + 1)).proof(),
    }
    for what, proof in again.items():
        answer = await stake.redeem(case, proof)
        moved = await stake.moved()
        case.expect(
            "RAIL-WELD-11",
            (answer.status != 200 or receipts(answer) == receipts(first)) and moved == stake.price,
            "the stored answer or a refusal, one price moved",
            f"{brief(answer)}, {moved} of {stake.price} moved",
            exchange=answer,
            where={"proof": what},
        )


@check(
    "RAIL-PAY-04",
    surface="rail",
    lane="base",
    fix="Hold nothing against a payer that others did with the same token before a payment stood on the chain.",
    quick=QUICK,
)
async def payer_is_not_locked_out(case: Case) -> None:
    """A valid proof is served, however many strangers have claimed its challenge before without paying.

    Presents a hundred authorizations for one live token by accounts that hold nothing, half of them rightly signed,
    half in the payer's name with another's signature, at once; then the payer's own. Expects 200 for it.
    """
    payer = await base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    stake = await stakes.stake(operation)
    given = await stake.sign()

    async def claim(at: int) -> Answer:
        thief = payer.node.account()
        name = thief.address if at % 2 else stake.account.address
        return await stake.present(case, given.changed(sender=name).signed(thief.key))

    claimed = await run_concurrently(claim(at) for at in range(_CLAIMS))
    answer = await stake.redeem(case, given)
    served = [one for one in claimed if one.status == 200]
    where = {"payment": f"after {_CLAIMS} claims of strangers, {len(served)} of them served"}
    case.expect("RAIL-PAY-04", answer.status == 200, "200", brief(answer), exchange=answer, where=where)


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN,
    fix="When the contract says used and the log is not found yet, wait; it is neither paid nor lost.",
)
async def settlement_whose_log_comes_late(case: Case) -> None:
    """While a node cannot find the log of a use, a foreign settlement is not taken for paid before it is found.

    Has a stranger use two welded authorizations while the node's searches trail by ten blocks: one for the payee, one
    for the payer itself. Presents both at once, and again when the searches have caught up. Expects that the second is
    never served, and that the first has one receipt at most.
    """
    payer = await base_payer(case)
    if not payer.has_control:
        case.mark_documented("RAIL-PAY-07", "this node's searches cannot be made to trail (no control verb `lag`)")
        return
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await honest_payment_is_served(case, operation)
    honest, dishonest = await run_concurrently(stakes.stake(operation) for _ in range(2))
    right, wrong = await honest.sign(), await dishonest.sign()
    await payer.control("lag", blocks=_LAG)
    try:
        await payer.use(right)
        await payer.use(await dishonest.sign(to=dishonest.account.address))
        early = await run_concurrently((honest.present(case, right), dishonest.present(case, wrong)))
    finally:
        await payer.control("lag", blocks=0)
    await payer.blocks_later(2)
    late = await run_concurrently((honest.redeem(case, right), dishonest.redeem(case, wrong)))
    for answer in (early[1], late[1]):
        where = {"payment": "its nonce was used to pay the payer itself, its log comes late"}
        case.expect("RAIL-PAY-07", answer.status >= 300, "not served", brief(answer), exchange=answer, where=where)
    different = {receipts(answer) for answer in (early[0], late[0]) if answer.status == 200}
    found = f"{brief(early[0])}, then {brief(late[0])}, {len(different)} receipts"
    case.expect("RAIL-PAY-07", len(different) <= 1, "one receipt at most", found, exchange=late[0])
    if not different:
        case.note(f"a foreign settlement whose log came late was answered {found}, although its money has moved")
