"""RAIL-WELD on Algorand: a payment that is not welded to this live challenge is refused.

On Algorand the weld is the transaction's note: it must equal the challenge's token, byte for byte.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.assertions.rail.algorand.challenge_payments import AlgorandQuote
from conformance.assertions.rail.chain_outage import judge_nothing_served
from conformance.assertions.rail.paid_tasks import can_pay_tasks, judge_unpaid, order_quoted_task, submit_payment
from conformance.assertions.rail.refusals import (
    judge_refused,
    require_honest_payment_served,
)
from conformance.assertions.rail.weld_attacks import (
    judge_mixed_pairs,
    judge_near_misses,
    judge_ordinary_client,
    judge_recovery_from_refusals,
    judge_stray_transfers,
)
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import sample
from conformance.oracles.nearly_equal_values import list_near_texts
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded, price_of
from conformance.surfaces.rail.forged_challenge_tokens import forge_tokens
from conformance.surfaces.rail.purchase import Challenge, challenge, pay
from conformance.surfaces.rail.unpaid_answers import let_lapse
from conformance.vocabulary.lanes.registry import FACTS

# A check of every lane is in this module, and the Algorand SDK is installed only with its extra.
if TYPE_CHECKING:
    from conformance.lanes.algorand.payer import AlgorandPayer


def make_wrong_notes(token: str) -> dict[str, bytes]:
    """Return notes that are not the token, by description."""
    raw = token.encode()
    return {
        "no note": b"",
        "garbage": b"paid with thanks",
        # Each of these passes one careless comparison: a search, a prefix, a trimmed text, a folded case, or decoded
        # text.
        "the token and a newline": raw + b"\n",
        "the token and a space": raw + b" ",
        "a space and the token": b" " + raw,
        "the token and NUL": raw + b"\0",
        "the token and more": raw + b":1",
        "the token inside a sentence": b"for " + raw + b" thanks",
        "the token twice": raw + raw,
        "the token without its last character": raw[:-1],
        "the token in upper case": token.upper().encode(),
        "the token in base64": base64.b64encode(raw),
        "the token as JSON": b'{"payment_reference":"' + raw + b'"}',
        "the token in quotes": b'"' + raw + b'"',
        "the token in UTF-16": token.encode("utf-16-le"),
        **{f"the token with {name}": near.encode() for name, near in list_near_texts(token).items()},
    }


@check(
    "RAIL-WELD-01",
    surface="rail",
    lane="algorand",
    fix="Compare the whole note with the token's bytes. Do not compare a prefix, search, fold the case or trim.",
)
async def note_without_the_token(case: Case) -> None:
    """A payment whose note lacks the challenge token is not redeemed.

    Sends right payments except that the note is empty, garbage, or the token with something around it, cut, in another
    case or re-encoded. Also pays a few tasks over A2A with such notes. Expects that none is served.
    """
    payer, operation = await algorand_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    await payer.hold(payer.asset_id((await challenge(case, operation)).entry(case.lane)))
    token = (await challenge(case, operation)).reference(case.lane)
    misses = {f"note: {name}": partial(_send_with_note, name=name) for name in make_wrong_notes(token)}
    # The wrong payments are all right in amount, asset and receiver, so only the note can be the reason of the
    # refusal.
    await judge_near_misses(case, AlgorandQuote, "RAIL-WELD-01", misses)


async def _send_with_note(challenge_quote: AlgorandQuote, *, name: str) -> str:
    # Tokens of another form than the specification's may have other lengths, so a name may not fit each of them.
    note = make_wrong_notes(challenge_quote.token).get(name, challenge_quote.token[:-1].encode())
    return await challenge_quote.send(note=note)


@check(
    "RAIL-WELD-02",
    "RAIL-WELD-15",
    surface="rail",
    lane="algorand",
    fix="Compare the transaction's note with the token that is presented with it, not with any token that is live.",
    quick=sample("operations"),
)
async def note_with_another_challenges_token(case: Case) -> None:
    """A note with another challenge's token is not redeemed for this one; transaction and reference belong together.

    Requests two challenges, pays the second, and presents that payment with the first one's token. Then pays the first,
    and presents each payment with the other's token. Expects that no mixed pair is served, and that the right pair is.
    """
    description = "another live challenge's token in the note"
    await judge_mixed_pairs(case, AlgorandQuote, "RAIL-WELD-02", description)


@check(
    "RAIL-WELD-05",
    surface="rail",
    lane="algorand",
    fix="Redeem nothing without the weld, however well recipient and amount fit.",
    quick=sample("operations"),
)
async def stray_transfer(case: Case) -> None:
    """A stray inbound transfer cannot be redeemed.

    Sends the right amount to the right recipient without a note, once before a challenge is requested and once after.
    Presents both with live tokens, twice. Expects that none is served.
    """
    await judge_stray_transfers(case, AlgorandQuote)


@check(
    "RAIL-WELD-06",
    surface="rail",
    lane="each",
    exclusive=Exclusive.CLOCK,
    fix="Compare the token's age with its lifetime when a proof is first presented. Also compare the payment's time on "
    "the chain with the end of the lifetime: a payment that was named in time and sent late is late.",
)
async def expired_challenge(case: Case) -> None:
    """A payment welded to an expired challenge is not redeemed.

    Pays one challenge in time and presents it only after its lifetime. Pays another after its lifetime. Does both over
    A2A, too. Names the transaction of a third in time, but sends it only after its lifetime. Expects that none is
    served, and that a fresh one is.
    """
    operation = case.session.catalog.operations[0]
    timely_quote, late_quote = await challenge(case, operation), await challenge(case, operation)
    proof = await pay(case, timely_quote, case.lane)
    # On Algorand an id is known before the transaction is sent, so a client could reserve a price and decide later.
    unsent_payment = await _name_unsent_payment(case) if FACTS[case.lane].family == "algorand" else None
    tasks = [await order_quoted_task(case, operation) for _ in range(2)] if await can_pay_tasks(case, operation) else []
    timely_proofs = [await pay(case, quote, case.lane) for _, quote in tasks[:1]]
    await let_lapse(case)
    if unsent_payment is not None:
        await (await algorand_payer(case)).submit([unsent_payment[1]], (await algorand_payer(case)).main)
        unsent_proof = {
            "tx_id": unsent_payment[1].get_txid(),
            "payment_reference": unsent_payment[0].reference(case.lane),
        }
        await judge_refused(case, "RAIL-WELD-06", unsent_payment[0], unsent_proof, "named in time, sent late")
    # The payee has this money. But the row says that an expired challenge buys nothing, and P-ST-11 covers its claim.
    await judge_refused(case, "RAIL-WELD-06", timely_quote, proof, "paid in time, presented late")
    await judge_refused(case, "RAIL-WELD-06", late_quote, await pay(case, late_quote, case.lane), "paid late")
    for number, (task, quote) in enumerate(tasks):
        is_timely = number < len(timely_proofs)
        task_proof = timely_proofs[number] if is_timely else await pay(case, quote, case.lane)
        paid_task = await submit_payment(case, task, task_proof)
        payment_name = "paid in time, presented late" if is_timely else "paid late"
        judge_unpaid(case, "RAIL-WELD-06", task, paid_task, payment_name)
    await require_honest_payment_served(case, operation)


async def _name_unsent_payment(case: Case) -> tuple[Challenge, Any]:
    """Present the id of a welded payment that was not sent yet; return its challenge and the payment."""
    payer, quote = await algorand_payer(case), await challenge(case, case.session.catalog.operations[0])
    entry, token = quote.entry(case.lane), quote.reference(case.lane)
    draft = await payer.draft(
        asset=payer.asset_id(entry), receiver=str(entry["payTo"]), amount=price_of(entry), note=token.encode()
    )
    proof = {"tx_id": str(draft.get_txid()), "payment_reference": token}
    await judge_refused(case, "RAIL-WELD-06", quote, proof, "named and not sent")
    return quote, draft


@check(
    "RAIL-WELD-07",
    surface="rail",
    lane="algorand",
    fix="Authenticate the token before you look at the payment: by a MAC over all that it means, or by a stored row.",
)
async def token_the_rail_never_issued(case: Case) -> None:
    """A payment welded to a token that the rail never issued is not redeemed.

    Pays with notes that are invented tokens, and real ones with one part changed. Presents each payment with that
    token. Expects that none is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    await payer.hold(payer.asset_id((await challenge(case, operation)).entry(case.lane)))
    # Each forged token comes with a separate payment, so the trials do not depend on each other.
    # Each forged token needs a separate payment, since one that was refused may not be judged again.
    quotes = [await challenge(case, operation) for _ in range(12)]
    forged_tokens = [(quote, *one) for quote, one in zip(quotes, forge_tokens(case, quotes[0]), strict=False)]

    async def attempt(quote: Challenge, name: str, token: str) -> None:
        proof = await pay_welded(payer, quote, note=token.encode())
        await judge_refused(case, "RAIL-WELD-07", quote, {**proof, "payment_reference": token}, f"token: {name}")

    await run_concurrently(attempt(*each) for each in forged_tokens)


@check(
    "RAIL-WELD-13",
    "RAIL-WELD-16",
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN,
    fix="Serve a call only after the node has returned the payment. Serve no call after another answer or no answer.",
)
async def chain_that_cannot_be_asked(case: Case) -> None:
    """When the chain cannot be consulted the call is not served.

    Pays a challenge for each fault that the node can simulate. Switches the fault on, presents the proof and an
    invented one, and switches the fault off. Expects that nothing is served during the fault.
    """
    await judge_nothing_served(case, AlgorandQuote, await algorand_payer(case))


def make_stock_payload(quote: Challenge, payer: AlgorandPayer, tx_id: str) -> dict[str, Any]:
    """Return the payload of an ordinary x402 v2 client, which does not know the weld."""
    entry = quote.entry(payer.lane)
    accepted_entry = {name: value for name, value in entry.items() if name != "maxAmountRequired"}
    return {
        "x402Version": 2,
        "resource": {"url": quote.operation.url},
        "accepted": accepted_entry,
        "payload": {"paymentGroup": [tx_id], "paymentIndex": 0, "from": payer.address},
    }


@check(
    "RAIL-WELD-14",
    surface="rail",
    lane="algorand",
    fix="Answer an ordinary x402 payload with 402: it contains no weld, even if it belongs to a real payment.",
)
async def ordinary_x402_client(case: Case) -> None:
    """A payment built by an ordinary x402 client is not redeemed.

    Pays without the weld and presents the payment as an ordinary client does: in X-PAYMENT and in PAYMENT-SIGNATURE, as
    version 2 and as version 1. Expects that none is served.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await challenge(case, operation)
    tx_id = (await pay_welded(payer, quote, note=b""))["tx_id"]
    version_2 = make_stock_payload(quote, payer, tx_id)
    # The stock client pays first and adds no weld, so anyone could present that transaction as their own payment.
    version_1 = {"x402Version": 1, "scheme": "exact", "network": "algorand", "payload": {"txId": tx_id}}
    await judge_ordinary_client(case, quote, (version_2, version_1))


@check(
    "RAIL-WELD-16",
    surface="rail",
    lane="algorand",
    fix="Answer a refused payment with 402 and fresh accepts. Use 409 only for a payment that already bought something "
    "or is in progress, and 503 only while the chain is unreachable.",
)
async def refusal_lets_the_client_recover(case: Case) -> None:
    """A refused payment answers 402 with a fresh accepts array, so that the client can recover.

    Provokes one refusal of each kind that needs no clock: unknown transaction, wrong note, no note, wrong amount,
    another operation, an unreadable proof, a token that was never issued, and a payment that already bought something.
    Then pays the terms of a refusal. Expects 402 with new tokens in accepts, and that the later payment is served. A
    payment that already bought something may also be answered 409.
    """
    await judge_recovery_from_refusals(case, AlgorandQuote, _pay_wrongly)


async def _pay_wrongly(challenge_quote: AlgorandQuote) -> Mapping[str, str]:
    return {
        "a wrong note": await challenge_quote.send(note=b"x"),
        "no note": await challenge_quote.send_unwelded(),
        "too little": await challenge_quote.send(amount=1),
    }
