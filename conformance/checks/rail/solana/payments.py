"""RAIL-PAY on Solana: valid payments in every form are served; unknown ids and other lanes' proofs are refused."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from conformance.assertions.rail.refusals import judge_refused, require_honest_payment_served
from conformance.assertions.rail.served_calls import judge_operations_served
from conformance.assertions.rail.solana.challenge_payments import Quoted, get_solana_payer
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check, log_shortened_part
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.algorand.transaction_ids import invented_id as invented_algorand_id
from conformance.lanes.solana.instructions import TokenTransfer
from conformance.lanes.solana.payer import Refused, SolanaPayer
from conformance.lanes.solana.transaction_ids import invented_id
from conformance.lanes.solana.wallet_shapes import Shape, list_shapes, send_in_shape
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.base.unsigned import unsigned_proof
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import name_live_values, redeem

ACCOUNTS_AROUND = "accounts around the reference"
_USUAL_LENGTH = 88
# One id in five is shorter than usual. This many longer ones in a row do not happen by chance.
_MOST_DRAFTS = 100


@check(
    "RAIL-PAY-01",
    "RAIL-PAY-03",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="solana",
    fix="Read X-PAYMENT as base64 of {tx_id, payment_reference}, and find the transaction on the chain. Answer a "
    "welded one with 200, the result, the signed payable receipt and Cache-Control: private, no-store.",
    quick=sample("operations"),
)
async def welded_solana_payment_is_served(case: Case) -> None:
    """On Solana the proof is tx_id plus payment_reference, and a valid one is served 200 with the payable receipt.

    Pays each operation once, with the reference account in the transfer, waits until it is finalized, and presents the
    proof as base64 JSON. Expects 200, a signed compact JWS in the answer, and that shared caches must not store it.
    """
    await judge_operations_served(case, ("RAIL-PAY-01", "RAIL-PAY-03"))


@check(
    "RAIL-PAY-03",
    surface="rail",
    lane="solana",
    fix="Decode the raw transaction in every version. Search for one transfer that pays, and ignore the other "
    "instructions.",
)
async def other_forms_of_a_solana_payment(case: Case) -> None:
    """A welded payment in another form is served, or refused with a client error.

    Pays by a Transfer without a mint, with more than the price, with a writable reference, with further accounts around
    the reference, with another transfer in the transaction, and with a fee payer who is not the owner. A target may
    choose which forms it accepts, and the report notes it. The money has moved, so a server error is a breach. A target
    that claims the specification serves every form that 5.5 accepts.
    """
    payer = await get_solana_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    forms = list_other_forms(payer, case.rng.randbytes(32))
    quotes = [await Quoted.ask(case, operation) for _ in forms]

    async def attempt(quote: Quoted, form: str) -> None:
        try:
            answer = await quote.present(await forms[form](quote))
        except Refused as refusal:
            case.note(f"{form}: this node does not support it: {refusal}")
            return
        # The reference must be the first further account that does not sign (5.5), so that form stays refused.
        is_orderly = answer.status == 200 or 400 <= answer.status < 500
        where, finding = {"operation": operation.path, "payment": form}, brief(answer)
        case.expect("RAIL-PAY-03", is_orderly, "200, or a refusal", finding, exchange=answer, where=where)
        if is_orderly and form != ACCOUNTS_AROUND:
            beyond = OpenPoint("which forms of a transfer are accepted is open", "5.5")
            is_served = answer.status == 200
            case.expect("RAIL-PAY-03", is_served, "200", finding, exchange=answer, where=where, beyond=beyond)
        if answer.status != 200:
            # Which forms are accepted matters to wallets, so the report names the refused ones.
            case.note(f"{form}: a welded payment in this form was answered {brief(answer)}")

    await run_concurrently(attempt(quote, form) for quote, form in zip(quotes, forms, strict=True))


@check(
    "RAIL-PAY-03",
    surface="rail",
    lane="solana",
    fix="Look for the transfer among all instructions of the transaction, wherever it is, and let other programs' "
    "instructions pass. Resolve accounts by the static keys and then meta.loadedAddresses (writable, then readonly).",
    quick=sample("shapes"),
)
async def solana_payment_as_wallets_make_it(case: Case) -> None:
    """A welded payment is served in each shape of transaction that wallets make.

    Pays in a legacy transaction, with a compute budget first, with a memo before and after the transfer, with twelve
    memos before it, with the creation of the payee's token account in front, with a guard program's assertions last and
    around the transfer, with mint and destination or the reference from an address lookup table, and with all of it and
    two tables. Expects 200 for each. The wallet chooses the form, not the payer, and the money has moved. If the node
    has no guard program, the report notes it.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    shapes, guard_shapes = await list_shapes(payer)
    # Some wallets add assertions of the Lighthouse program by themselves. A node without it rejects such transactions.
    if guard_shapes:
        remark = "shapes of a wallet's transaction: this node has no guard program (Lighthouse)"
        log_shortened_part(case.log, case.check, remark, len(shapes), len(shapes) + len(guard_shapes))
    sample_shapes = case.sample(shapes)
    quotes = [await Quoted.ask(case, operation) for _ in sample_shapes]

    async def attempt(quote: Quoted, shape: Shape) -> None:
        transfer = await quote.transfer()
        proof = quote.proof(await send_in_shape(payer, shape, transfer, quote.order.payee, b"thank you"))
        name_live_values(case, proof)
        answer = await redeem(case, operation, proof, body=quote.quote.body)
        where = {"operation": operation.path, "payment": shape.name}
        case.expect("RAIL-PAY-03", answer.status == 200, "200", brief(answer), exchange=answer, where=where)

    await run_concurrently(attempt(quote, shape) for quote, shape in zip(quotes, sample_shapes, strict=True))


@check(
    "RAIL-PAY-03",
    surface="rail",
    lane="solana",
    fix="Accept every base58 text of 64 bytes as a transaction id. It usually has 86 to 88 characters, but no fixed "
    "length.",
)
async def an_id_of_any_length_is_served(case: Case) -> None:
    """A welded payment is served whatever the length of its transaction id in base58.

    Signs one payment repeatedly until its id is shorter than 88 characters, as one in five is. Sends only that one and
    presents it. Expects 200. A payer cannot choose the length.
    """
    payer = await get_solana_payer(case)
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    transfer = await quote.transfer()
    # A draft expires with its blockhash, so the search may have to begin again.
    sign = partial(_draft_with_short_id, payer, transfer.instruction())
    transaction = await payer.deliver(await sign(), sign)
    proof = quote.proof(str(transaction.signatures[0]))
    name_live_values(case, proof)
    answer = await redeem(case, operation, proof, body=quote.quote.body)
    expectation = "200 for a welded payment with a shorter id"
    case.expect("RAIL-PAY-03", answer.status == 200, expectation, brief(answer), exchange=answer)


async def _draft_with_short_id(payer: SolanaPayer, transfer: Instruction) -> VersionedTransaction:
    """Sign a transfer until its id is shorter than usual.

    Raises:
        Inconclusive: No id was shorter.
    """
    for _ in range(_MOST_DRAFTS):
        draft = await payer.draft([transfer])
        if len(str(draft.signatures[0])) < _USUAL_LENGTH:
            return draft
    raise Inconclusive(f"{_MOST_DRAFTS} signatures in a row had {_USUAL_LENGTH} characters")


def list_other_forms(payer: SolanaPayer, random_bytes: bytes) -> Mapping[str, Callable[[Quoted], Awaitable[str]]]:
    """Return functions that pay in other forms, by description."""
    stranger, own_key = Pubkey(random_bytes), payer.main.key

    def add_other_transfer(transfer: TokenTransfer) -> list[Instruction]:
        return [
            transfer.with_changes(amount=1, references=(), destination=transfer.source).instruction(),
            transfer.instruction(),
        ]

    async def pay_by_other_account(quote: Quoted) -> str:
        return await quote.send(send_arguments={"sender": await payer.new_account(), "signers": [payer.main]})

    return {
        # SPL Token has two instructions: Transfer, and TransferChecked, which names mint and decimals. Both move the
        # same money.
        "a Transfer without a mint": lambda quote: quote.send(decimals=None),
        # A payer may send more by mistake. The payee is not harmed by it.
        "more than the price": lambda quote: quote.send(amount=quote.order.price + 1),
        "the reference writable": lambda quote: quote.send(writable=True),
        # A wallet or another protocol may add accounts of its own, so the reference may be at any place among the
        # extra ones.
        ACCOUNTS_AROUND: lambda quote: quote.send(references=(stranger, quote.order.reference, own_key)),
        "another transfer in the transaction": lambda quote: quote.send(add_other_transfer),
        "a fee payer who is not the owner": pay_by_other_account,
    }


@check(
    "RAIL-PAY-06",
    surface="rail",
    lane="solana",
    fix="Serve only when the node itself shows the transaction.",
)
async def unknown_solana_transaction(case: Case) -> None:
    """A transaction id that the chain does not know is not redeemed.

    Presents well-formed ids of transactions that were never sent, with live tokens: invented ones, a paid one with one
    letter changed, the id of a welded payment that was signed and not sent, and texts that are not an id. Expects that
    none is served.
    """
    # The ids come from the system's randomness, not from the seed: a second run must not meet ids that it used before.
    random_ids = [[secrets.token_bytes(64) for _ in range(2)] for _ in case.session.catalog.operations]
    await run_concurrently(map(partial(_present_unknown_ids, case), case.session.catalog.operations, random_ids))


async def _present_unknown_ids(case: Case, operation: Operation, random_ids: list[bytes]) -> None:
    near_id = str((await require_honest_payment_served(case, operation))["tx_id"])
    ids = {
        **{f"an invented id ({place})": invented_id(raw) for place, raw in enumerate(random_ids)},
        # The last letter decides only a few bits, so the text is still well-formed base58 of 64 bytes in most cases.
        "a paid id with one letter changed": near_id[:-1] + ("2" if near_id[-1] != "2" else "3"),
        # A prefix of a paid id finds a rail that compares with `startswith` or a database pattern.
        "a paid id cut short": near_id[:-1],
        "32 bytes": invented_id(random_ids[0][:32]),
        "no text": "",
    }

    async def attempt(description: str, tx_id: str) -> None:
        quote = await Quoted.ask(case, operation)
        await quote.judge_buys_nothing("RAIL-PAY-06", tx_id, description)

    async def present_unsent() -> None:
        quote = await Quoted.ask(case, operation)
        draft = await quote.payer.draft([(await quote.transfer()).instruction()])
        await quote.judge_buys_nothing("RAIL-PAY-06", str(draft.signatures[0]), "signed and never sent")

    await run_concurrently((*(attempt(description, tx_id) for description, tx_id in ids.items()), present_unsent()))


@check(
    "RAIL-PAY-15",
    surface="rail",
    lane="solana",
    fix="Take the lane from the token, and refuse a proof that does not have that lane's form.",
)
async def proof_of_another_lane_for_solana(case: Case) -> None:
    """A proof of another lane's shape for a Solana challenge is not redeemed, nor a Solana payment for another lane's.

    Pays a Solana challenge. Presents the payment in the form of a Base proof, with ids of other chains as tx_id, and
    with the tokens of the other lanes that the challenge offers. Expects that none is served.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    quote = await Quoted.ask(case, operation)
    proof = quote.proof(await quote.send())
    for description, other_proof in _make_foreign_proofs(case, quote, proof).items():
        await judge_refused(case, "RAIL-PAY-15", quote.quote, other_proof, description)


def _make_foreign_proofs(case: Case, quote: Quoted, proof: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return proofs of other lanes made from a Solana payment, by description."""
    token, entry = quote.order.text, quote.quote.entry(case.lane)
    base = unsigned_proof(quote.payer.address, entry, token, case.rng.randbytes(32))
    shapes: dict[str, Mapping[str, Any]] = {
        "a Base proof with a Solana token": base,
        "a Base transaction id with a Solana token": {**proof, "tx_id": "0x" + case.rng.randbytes(32).hex()},
        "an Algorand transaction id with a Solana token": {
            **proof,
            "tx_id": invented_algorand_id(case.rng.randbytes(32)),
        },
        "the Solana payment under the Base member name": {"tx_id": proof["tx_id"], "challenge_token": token},
    }
    for lane, reference in quote.quote.other_references(case.lane).items():
        shapes[f"the Solana payment with a token of the lane {lane}"] = {**proof, "payment_reference": reference}
    return shapes
