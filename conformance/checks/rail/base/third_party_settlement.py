"""RAIL-PAY and RAIL-WELD on Base: one authorization, settled by a third party, at once or repeatedly."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges, get_base_payer
from conformance.assertions.rail.refusals import QUICK, assert_control_is_served, require_honest_payment_served
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import Account, BasePayer, Refused
from conformance.lanes.base.token import SPLIT, WHOLE
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.base.spellings import spellings
from conformance.surfaces.rail.paid_answers import brief, extract_receipts

_AT_ONCE, _CLAIMS = 50, 100
# Enough blocks that the log is surely missing at the first look.
_LAG_BLOCKS = 10
# Seconds until an authorization's window closes. On a busy machine six may pass before it is used, so longer ones
# follow.
_WINDOW_SECONDS = (6, 20, 60)
_POLL_COUNT = 60


@check(
    "RAIL-PAY-04",
    "RAIL-PAY-07",
    surface="rail",
    lane="base",
    fix="Find the transaction that used the authorization, by any sender, and the amount that it moved. Never settle "
    "or serve one authorization twice.",
)
async def settlement_by_a_third_party(case: Case) -> None:
    """A welded authorization that a third party settled first is served once, for the one price it moved.

    A third party uses welded authorizations on the chain before they are presented: by either overload of the function,
    and two payers' authorizations in one transaction. Presents each twice. Expects one price moved, and no second
    receipt. The payee has the money, so expects that the payment is served, or that the answer allows to present it
    again. A rail that refuses it gets a warning, since the interface leaves open who submits. With the reference's
    defaults it fails.
    """
    payer = await get_base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    # Anyone who sees the signed authorization can submit it: EIP-3009 lets any sender use a TransferWithAuthorization.
    stranger = await payer.new_account(coin=True)

    async def use_by_stranger(overload: str, description: str) -> None:
        stake = await stakes.open_challenge(operation, prices=2)
        authorizations = await stake.sign()
        await payer.use(authorizations, sender=stranger, overload=overload)
        await _judge_foreign_settlement(case, stake, authorizations, description)

    async def use_two_at_once() -> None:
        pair = [await stakes.open_challenge(operation, prices=2) for _ in range(2)]
        authorizations = [await stake.sign() for stake in pair]
        await payer.batch(
            [
                (stake.token.address, stake.token.use_call(authorization))
                for stake, authorization in zip(pair, authorizations, strict=True)
            ]
        )
        for stake, authorization in zip(pair, authorizations, strict=True):
            await _judge_foreign_settlement(
                case, stake, authorization, "two payers' authorizations used in one transaction"
            )

    await run_concurrently(
        (
            use_by_stranger(SPLIT, "used by a stranger"),
            use_by_stranger(WHOLE, "used by a stranger, signature in one piece"),
            use_two_at_once(),
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

    A third party uses an authorization that is valid for a few more seconds. Presents it after `validBefore`, while its
    challenge is live. Expects that it is served, or that the answer allows to present it again. A rail that refuses it
    for good gets a warning, since the interface says that an authorization outside its window is not redeemed.
    """
    payer = await get_base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    third_party = await payer.new_account(coin=True)
    stake = await stakes.open_challenge(operation, prices=2)
    authorization, seconds = await _use_in_time(payer, stake, third_party)
    for _ in range(_POLL_COUNT):
        if await payer.block_time() > authorization.valid_before:
            break
        await asyncio.sleep(seconds / 10)
    else:
        raise Inconclusive("the chain's time did not pass the authorization's window")
    answer = await stake.redeem(case, authorization)
    case.expect(
        "RAIL-PAY-04",
        answer.status == 200 or "retry-after" in answer.headers,
        "served, or 402 with Retry-After",
        f"{brief(answer)}, and {await stake.measure_loss()} of {stake.price} moved",
        exchange=answer,
        where={"operation": operation.path, "payment": "used by a third party before its window closed"},
        beyond=OpenPoint("whether an authorization that was used in its window pays after it is open", "5.5"),
    )


async def _use_in_time(payer: BasePayer, stake: FundedChallenge, third_party: Account) -> tuple[Authorization, int]:
    """Let a third party use an authorization before its window closes; return it and its validity in seconds.

    Raises:
        Inconclusive: The contract rejected each authorization, or the node was unreachable.
    """
    for seconds in _WINDOW_SECONDS:
        authorization = await stake.sign(valid_before=await payer.block_time() + seconds)
        # An authorization whose window has closed moves nothing, so another one may follow it.
        with suppress(Refused):
            await payer.use(authorization, sender=third_party)
            return authorization, seconds
    raise Inconclusive(
        f"the contract rejected each of {len(_WINDOW_SECONDS)} authorizations, valid for up to {seconds} s"
    )


async def _judge_foreign_settlement(
    case: Case, stake: FundedChallenge, authorization: Authorization, description: str
) -> None:
    answers = [await stake.redeem(case, authorization) for _ in range(2)]
    served_answers = [answer for answer in answers if answer.status == 200]
    moved_amount, receipt_sets = await stake.measure_loss(), {extract_receipts(answer) for answer in served_answers}
    case.expect(
        "RAIL-PAY-07",
        moved_amount == stake.price and len(receipt_sets) <= 1,
        "one price moved, one receipt at most",
        f"{moved_amount} of {stake.price} moved, {len(receipt_sets)} receipts",
        exchange=answers[-1],
        where={"payment": description},
    )
    case.expect(
        "RAIL-PAY-04",
        bool(served_answers) or "retry-after" in answers[-1].headers,
        "served, or 402 with Retry-After",
        f"{brief(answers[0])}, although {moved_amount} of {stake.price} moved",
        exchange=answers[-1],
        where={"payment": description},
        beyond=None if case.profile.is_reference else "the interface leaves open who submits an authorization",
    )


@check(
    "RAIL-WELD-12",
    surface="rail",
    lane="base",
    fix="Let only one worker at a time settle an authorization, and give all callers the same answer.",
)
async def fifty_at_once_move_one_price(case: Case) -> None:
    """Of 50 concurrent calls with one X-PAYMENT one is executed, and one price moves.

    Presents one authorization of an account that holds many prices 50 times at once. On the last operation it is in all
    its spellings. Expects one receipt in all served answers, and one price moved.
    """
    payer = await get_base_payer(case)
    stakes = FundedChallenges(case, payer)
    for operation in case.session.catalog.operations:
        # An account with many prices lets a second settlement succeed. With one price the chain itself would stop it.
        stake = await stakes.open_challenge(operation, prices=_AT_ONCE if payer.has_control else 3)
        authorization = await stake.sign()
        is_mixed = operation is case.session.catalog.operations[-1]
        writers = [Authorization.proof, *(spellings(payer.caip2).values() if is_mixed else ())]
        proofs = [writers[at % len(writers)](authorization) for at in range(_AT_ONCE)]
        answers = await run_concurrently((stake.present(case, proof) for proof in proofs), at_once=_AT_ONCE)
        answers.append(await stake.redeem(case, authorization))
        served_answers = [answer for answer in answers if answer.status == 200]
        if not served_answers:
            raise Inconclusive("none of 50 identical calls was served")
        # A second settlement may still be in the pool when the first answer arrives.
        await payer.wait_for_blocks(2)
        receipt_sets, moved_amount = {extract_receipts(answer) for answer in served_answers}, await stake.measure_loss()
        case.expect(
            "RAIL-WELD-12",
            len(receipt_sets) == 1 and moved_amount == stake.price,
            "one receipt in all served answers, one price moved",
            f"{len(served_answers)} served with {len(receipt_sets)} receipts, {moved_amount} of {stake.price} moved",
            exchange=served_answers[-1],
            where={"operation": operation.path},
        )


@check(
    "RAIL-WELD-11",
    surface="rail",
    lane="base",
    fix="Identify a payment by payer and nonce, not by the text of the proof or its signature.",
)
async def spent_authorization_in_another_spelling(case: Case) -> None:
    """A spent authorization that is spelled or signed another way buys no further call.

    Buys one call. Presents the same authorization in every other spelling, with the signature's malleable twin, and
    signed again with another window. Expects the stored answer or a refusal, no second receipt and no second price.
    """
    # Each of these has other bytes and the same payer and nonce. A ledger keyed by a hash of the proof sees a new
    # payment.
    payer = await get_base_payer(case)
    operation = case.session.catalog.operations[0]
    stake = await FundedChallenges(case, payer).open_challenge(operation, prices=3)
    authorization = await stake.sign()
    first = await stake.redeem(case, authorization)
    assert_control_is_served(first)
    repetitions: dict[str, Mapping[str, Any]] = {
        **{description: spell(authorization) for description, spell in spellings(payer.caip2).items()},
        "the malleable twin": authorization.with_other_s().proof(),
        # The contract knows only payer and nonce, so a new signature over another window is the same authorization.
        "signed again with another window": (await stake.sign(valid_before=authorization.valid_before + 1)).proof(),
    }
    for description, proof in repetitions.items():
        answer = await stake.redeem(case, proof)
        moved_amount = await stake.measure_loss()
        case.expect(
            "RAIL-WELD-11",
            (answer.status != 200 or extract_receipts(answer) == extract_receipts(first))
            and moved_amount == stake.price,
            "the stored answer or a refusal, one price moved",
            f"{brief(answer)}, {moved_amount} of {stake.price} moved",
            exchange=answer,
            where={"proof": description},
        )


@check(
    "RAIL-PAY-04",
    surface="rail",
    lane="base",
    fix="Do not let unpaid claims to a token block the payer. Only a payment on the chain may use up a token.",
    quick=QUICK,
)
async def payer_is_not_locked_out(case: Case) -> None:
    """A valid proof is served, however many other clients claimed its challenge before without paying.

    Presents a hundred authorizations for one live token at once, from empty accounts. Half of them are signed
    correctly, half name the payer and have another signature. Then presents the payer's authorization. Expects 200 for
    it.
    """
    payer = await get_base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    stake = await stakes.open_challenge(operation)
    authorization = await stake.sign()

    async def claim(number: int) -> Answer:
        thief = payer.node.account()
        # The odd ones fail for lack of money, the even ones for their signature. Neither may occupy the payer's token.
        name = thief.address if number % 2 else stake.account.address
        return await stake.present(case, authorization.with_changes(sender=name).sign(thief.key))

    claim_answers = await run_concurrently(claim(number) for number in range(_CLAIMS))
    answer = await stake.redeem(case, authorization)
    served_claims = [one for one in claim_answers if one.status == 200]
    where = {"payment": f"after {_CLAIMS} claims of strangers, {len(served_claims)} of them served"}
    case.expect("RAIL-PAY-04", answer.status == 200, "200", brief(answer), exchange=answer, where=where)


@check(
    "RAIL-PAY-07",
    surface="rail",
    lane="base",
    exclusive=Exclusive.CHAIN,
    fix="If the contract reports the authorization as used and its log is not found yet, wait. It is neither paid nor "
    "lost.",
)
async def settlement_whose_log_comes_late(case: Case) -> None:
    """A foreign settlement is not taken for paid before the node finds the log of its use.

    A third party uses two authorizations while the node's searches are ten blocks behind: one pays the payee, one the
    payer itself. Presents both at once, and again when the searches have caught up. Expects that the second is never
    served, and that the first has at most one receipt.
    """
    # Providers index logs later than they report state, so `used` without a log is common and says nothing about the
    # payee.
    payer = await get_base_payer(case)
    if not payer.has_control:
        case.mark_documented("RAIL-PAY-07", "this node's searches cannot be made to trail (no control verb `lag`)")
        return
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    honest, dishonest = await run_concurrently(stakes.open_challenge(operation) for _ in range(2))
    right_authorization, wrong_authorization = await honest.sign(), await dishonest.sign()
    await payer.control("lag", blocks=_LAG_BLOCKS)
    try:
        await payer.use(right_authorization)
        await payer.use(await dishonest.sign(to=dishonest.account.address))
        early_answers = await run_concurrently(
            (honest.present(case, right_authorization), dishonest.present(case, wrong_authorization))
        )
    finally:
        await payer.control("lag", blocks=0)
    await payer.wait_for_blocks(2)
    late_answers = await run_concurrently(
        (honest.redeem(case, right_authorization), dishonest.redeem(case, wrong_authorization))
    )
    for answer in (early_answers[1], late_answers[1]):
        where = {"payment": "its nonce was used to pay the payer itself, its log comes late"}
        case.expect("RAIL-PAY-07", answer.status >= 300, "not served", brief(answer), exchange=answer, where=where)
    receipt_sets = {extract_receipts(answer) for answer in (early_answers[0], late_answers[0]) if answer.status == 200}
    finding = f"{brief(early_answers[0])}, then {brief(late_answers[0])}, {len(receipt_sets)} receipts"
    case.expect("RAIL-PAY-07", len(receipt_sets) <= 1, "one receipt at most", finding, exchange=late_answers[0])
    if not receipt_sets:
        case.note(f"a foreign settlement whose log came late was answered {finding}, although its money has moved")
