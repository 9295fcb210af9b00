"""RAIL-PAY on Solana: payments that buy a call, and payments that buy nothing."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from solders.compute_budget import ID as COMPUTE_BUDGET
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from conformance.check import Case, check
from conformance.checks.rail.keys import published_keys
from conformance.checks.rail.paid_calls import served, told
from conformance.checks.rail.refused_payments import control, refused
from conformance.checks.rail.solana_orders import Quoted, solana_payer
from conformance.discovery import Operation
from conformance.payers.algorand import invented_id as invented_algorand_id
from conformance.payers.solana import Refused, SolanaPayer, invented_id
from conformance.payers.solana_instructions import TokenTransfer, hand_over, memo, with_accounts
from conformance.purchase import lane_of
from conformance.together import together

_COMPUTE_PRICE = 3


@check(
    "RAIL-PAY-03",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="solana",
    fix="Read X-PAYMENT as base64 of {tx_id, payment_reference}, find the transaction on the chain, and answer a "
    "welded one with 200, the result and the signed payable receipt, Cache-Control: private, no-store.",
)
async def welded_solana_payment_is_served(case: Case) -> None:
    """On Solana the proof is tx_id plus payment_reference, and a valid one is served 200 with the payable receipt.

    Pays each operation once, the reference account in the transfer, waits until it is finalized, and presents the proof
    as base64 JSON. Expects 200, a signed compact JWS in the answer, and no leave for shared caches.
    """
    keys = [key for published in await published_keys(case) for key in published]
    await together(served(case, operation, keys, ("RAIL-PAY-03",)) for operation in case.session.operations)


@check(
    "RAIL-PAY-03",
    surface="rail",
    lane="solana",
    fix="Decode the raw transaction, whatever its version; look for one transfer that pays, whatever stands beside it.",
)
async def other_forms_of_a_solana_payment(case: Case) -> None:
    """A welded payment in another ordinary form is served, or refused in good order.

    Pays in a legacy transaction, by a Transfer that names no mint, for more than the price, with the reference marked
    writable, with a memo beside, with further accounts around the reference, with another transfer beside, with a fee
    payer who is not the owner, and through an address table. Which forms a target takes is its own matter, and is
    noted; the money has moved, so a server error is a breach.
    """
    payer = await solana_payer(case)
    operation = case.session.operations[0]
    await control(case, operation)
    forms = other_forms(payer, case.rng.randbytes(32))
    quotes = [await Quoted.ask(case, operation) for _ in forms]

    async def one(quoted: Quoted, what: str) -> None:
        try:
            answer = await quoted.present(await forms[what](quoted))
        except Refused as refusal:
            case.note(f"{what}: this node does not do it: {refusal}")
            return
        good = answer.status == 200 or 400 <= answer.status < 500
        where = {"operation": operation.path, "payment": what}
        case.expect("RAIL-PAY-03", good, "200, or a refusal", told(answer), exchange=answer, where=where)
        if answer.status != 200:
            case.note(f"{what}: a welded payment in this form was answered {told(answer)}")

    await together(one(quoted, what) for quoted, what in zip(quotes, forms, strict=True))


def other_forms(payer: SolanaPayer, random_bytes: bytes) -> Mapping[str, Callable[[Quoted], Awaitable[str]]]:
    """Return ordinary payments in other forms, by what they are."""
    stranger, me = Pubkey(random_bytes), payer.main.key

    def beside(made: TokenTransfer) -> list[Instruction]:
        return [made.changed(amount=1, references=(), destination=made.source).instruction(), made.instruction()]

    async def by_another(quoted: Quoted) -> str:
        return await quoted.send(how={"sender": await payer.new_account(), "signers": [payer.main]})

    async def through_a_table(quoted: Quoted) -> str:
        made = await quoted.transfer()
        table = await payer.address_table([quoted.order.reference, made.destination, made.mint])
        return await payer.send([made.instruction()], tables=[table])

    return {
        "a legacy transaction": lambda quoted: quoted.send(how={"legacy": True}),
        "a Transfer without a mint": lambda quoted: quoted.send(decimals=None),
        "more than the price": lambda quoted: quoted.send(amount=quoted.order.price + 1),
        "the reference writable": lambda quoted: quoted.send(writable=True),
        "a memo beside": lambda quoted: quoted.send(lambda made: [made.instruction(), memo(me, b"thank you")]),
        "accounts around the reference": lambda quoted: quoted.send(references=(stranger, quoted.order.reference, me)),
        "another transfer beside": lambda quoted: quoted.send(beside),
        "a fee payer who is not the owner": by_another,
        "an address table": through_a_table,
    }


@check(
    "RAIL-PAY-06",
    surface="rail",
    lane="solana",
    fix="Serve only when the node itself shows the transaction.",
)
async def unknown_solana_transaction(case: Case) -> None:
    """A transaction id that the chain does not know is not redeemed.

    Presents well-formed ids that nobody sent, with live tokens: invented ones, a paid one with one letter changed, the
    id of a welded payment that is signed but never sent, and texts that are no id. Expects that none is served.
    """
    drawn = [[case.rng.randbytes(64) for _ in range(2)] for _ in case.session.operations]
    await together(map(partial(_unknown, case), case.session.operations, drawn))


async def _unknown(case: Case, operation: Operation, drawn: list[bytes]) -> None:
    near = str((await control(case, operation))["tx_id"])
    ids = {
        **{f"an invented id ({place})": invented_id(raw) for place, raw in enumerate(drawn)},
        "a paid id with one letter changed": near[:-1] + ("2" if near[-1] != "2" else "3"),
        "a paid id cut short": near[:-1],
        "32 bytes": invented_id(drawn[0][:32]),
        "no text": "",
    }

    async def one(what: str, tx_id: str) -> None:
        quoted = await Quoted.ask(case, operation)
        await quoted.buys_nothing("RAIL-PAY-06", tx_id, what)

    async def unsent() -> None:
        quoted = await Quoted.ask(case, operation)
        draft = await quoted.payer.draft([(await quoted.transfer()).instruction()])
        await quoted.buys_nothing("RAIL-PAY-06", str(draft.signatures[0]), "signed and never sent")

    await together((*(one(what, tx_id) for what, tx_id in ids.items()), unsent()))


@check(
    "RAIL-PAY-08",
    surface="rail",
    lane="solana",
    fix="Compare the transfer's destination with the associated token account that you derive from payTo and the mint; "
    "never read its owner from token balances, which tell how things stood after the transaction.",
)
async def solana_payment_to_somebody_else(case: Case) -> None:
    """A payment to another recipient than payTo is not redeemed.

    Sends welded transfers of the price to another account, to a second token account of the payer's own, and to a token
    account that is emptied again and handed to the payee (SetAuthority) in the same transaction, in two orders. Expects
    that none is served. One to a token account that is the payee's though not his associated one may be served.
    """
    payer, operation = await solana_payer(case), case.session.operations[0]
    await control(case, operation)
    mint = (await Quoted.ask(case, operation)).order.mint
    stranger, me = await payer.new_account(funded=False), payer.main.key
    foreign = await payer.associated(stranger.key, mint)
    own, first, second = await together(payer.token_account(mint, me) for _ in range(3))

    def handed_over(made: TokenTransfer) -> list[Instruction]:
        back = made.changed(source=made.destination, destination=made.source, references=())
        payee = quotes["emptied and handed to the payee"].order.payee
        return [made.instruction(), back.instruction(), hand_over(made.destination, me, payee)]

    def round_trip(made: TokenTransfer) -> list[Instruction]:
        out = made.changed(references=())
        back = made.changed(source=made.destination, destination=made.source)
        payee = quotes["emptied by the welded transfer and handed to the payee"].order.payee
        return [out.instruction(), back.instruction(), hand_over(made.destination, me, payee)]

    attacks: dict[str, Callable[[Quoted], Awaitable[str]]] = {
        "to another account": lambda quoted: quoted.send(destination=foreign),
        "to the payer itself": lambda quoted: quoted.send(destination=own),
        "emptied and handed to the payee": lambda quoted: quoted.send(handed_over, destination=first),
        "emptied by the welded transfer and handed to the payee": lambda quoted: quoted.send(
            round_trip, destination=second
        ),
    }
    quotes = {what: await Quoted.ask(case, operation) for what in attacks}

    async def one(what: str, quoted: Quoted) -> None:
        await quoted.buys_nothing("RAIL-PAY-08", await attacks[what](quoted), what)

    await together((*(one(what, quoted) for what, quoted in quotes.items()), _beside(case, operation)))


async def _beside(case: Case, operation: Operation) -> None:
    """Pay into a token account that the payee owns but that is not his associated one: he has the money either way."""
    quoted = await Quoted.ask(case, operation)
    beside = await quoted.payer.token_account(quoted.order.mint, quoted.order.payee)
    answer = await quoted.present(await quoted.send(destination=beside))
    case.note(f"a transfer to the payee's own, not associated token account was answered {told(answer)}")


@check(
    "RAIL-PAY-09",
    surface="rail",
    lane="solana",
    fix="Compare the amount of the one welded transfer with maxAmountRequired; add nothing up, and look which program "
    "the instruction calls.",
)
async def solana_payment_of_less(case: Case) -> None:
    """A payment of less than the price is not redeemed.

    Sends welded transfers of nothing, of one unit less than the price and of half of it; the price in two transfers of
    one transaction and in two transactions; and an instruction to a program that moves nothing, whose bytes and
    accounts read like a token transfer. Expects that none is served.
    """
    operation = case.session.operations[0]
    await control(case, operation)

    async def once(what: str, send: Callable[[Quoted], Awaitable[str]]) -> None:
        quoted = await Quoted.ask(case, operation)
        await quoted.buys_nothing("RAIL-PAY-09", await send(quoted), what)

    def halves(made: TokenTransfer) -> list[Instruction]:
        rest = made.amount - made.amount // 2
        return [made.changed(amount=part).instruction() for part in (made.amount // 2, rest)]

    async def in_two() -> None:
        quoted = await Quoted.ask(case, operation)
        half = quoted.order.price // 2
        for amount in (half, quoted.order.price - half):
            tx_id = await quoted.send(amount=amount)
            await quoted.buys_nothing("RAIL-PAY-09", tx_id, "the price in two transactions")

    await together(
        (
            once("nothing", lambda quoted: quoted.send(amount=0)),
            once("one unit less", lambda quoted: quoted.send(amount=quoted.order.price - 1)),
            once("half", lambda quoted: quoted.send(amount=quoted.order.price // 2)),
            once("one unit less, no mint named", lambda q: q.send(amount=q.order.price - 1, decimals=None)),
            once("the price in two transfers", lambda quoted: quoted.send(halves)),
            once("an instruction that reads like a transfer", lambda quoted: quoted.send(lambda made: [_alike(made)])),
            in_two(),
        )
    )


def _alike(made: TokenTransfer) -> Instruction:
    """Return what sets the price of compute units: tag 3 and 64 bits, as a token Transfer has it; accounts are free."""
    owner = AccountMeta(made.owner, is_signer=True, is_writable=False)
    places = [AccountMeta(key, is_signer=False, is_writable=True) for key in (made.source, made.destination)]
    named = Instruction(COMPUTE_BUDGET, struct.pack("<BQ", _COMPUTE_PRICE, made.amount), [*places, owner])
    return with_accounts(named, made.references)


@check(
    "RAIL-PAY-10",
    surface="rail",
    lane="solana",
    fix="Compare the mint with the asset of the challenge: the one the instruction names, and the one of the "
    "destination, derived from payTo and the asset.",
)
async def solana_payment_in_something_else(case: Case) -> None:
    """A payment in another asset is not redeemed.

    Pays the price, welded, in a token of another mint with the same decimals to the payee's associated account of that
    mint, once with and once without naming the mint, and in native coin. Expects that none is served.
    """
    payer, operation = await solana_payer(case), case.session.operations[0]
    await control(case, operation)
    fake = await payer.create_mint()

    async def alike(decimals: int | None, what: str) -> None:
        quoted = await Quoted.ask(case, operation)
        await quoted.buys_nothing("RAIL-PAY-10", await quoted.send(mint=fake, decimals=decimals), what)

    async def coin() -> None:
        quoted = await Quoted.ask(case, operation)
        order = quoted.order
        named = await payer.send_native(order.payee, max(order.price, await payer.node.rent(0)), order.reference)
        await quoted.buys_nothing("RAIL-PAY-10", named, "native coin")

    await together((alike(6, "a look-alike token"), alike(None, "a look-alike token, no mint named"), coin()))


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="solana",
    fix="Look at the transaction's err first: what failed is on the chain, with its instructions, and paid nothing.",
)
async def failed_solana_transaction(case: Case) -> None:
    """A failed transaction is not redeemed.

    Sends welded payments that the node refuses outright, or that the chain records with an error: from an account that
    lacks the token, and a right one whose transaction fails afterwards by another instruction. Expects that none is
    served.
    """
    payer, operation = await solana_payer(case), case.session.operations[0]
    await control(case, operation)

    def too_much_after(made: TokenTransfer) -> list[Instruction]:
        return [made.instruction(), made.changed(amount=2**63, references=()).instruction()]

    async def undone() -> None:
        quoted = await Quoted.ask(case, operation)
        tx_id = await _fails(quoted.send(too_much_after, how={"skip_preflight": True}))
        await quoted.buys_nothing("RAIL-PAY-11", tx_id, "undone by a later instruction")

    await together((_penniless(case, payer, operation), undone()))


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="solana",
    exclusive=True,
    fix="A transaction that the node has taken is no payment; one that stands in a slot is.",
)
async def dropped_solana_transaction(case: Case) -> None:
    """A transaction that the node took and dropped is not redeemed.

    Has the node take a welded payment and drop it, and presents it. Expects that it is not served.
    """
    payer, operation = await solana_payer(case), case.session.operations[0]
    if "reject_late" not in await payer.fault_names():
        case.documented("RAIL-PAY-11", "this node cannot be made to drop a transaction (no fault `reject_late`)")
        return
    await control(case, operation)
    quoted = await Quoted.ask(case, operation)
    made = await quoted.transfer()
    await payer.control("fault", name="reject_late", seed=1, count=1)
    try:
        tx_id = await payer.send([made.instruction()], wait=None)
    finally:
        await payer.control("fault", name="reject_late", seed=1, count=0)
    await quoted.buys_nothing("RAIL-PAY-11", tx_id, "taken by the node and dropped")


async def _penniless(case: Case, payer: SolanaPayer, operation: Operation) -> None:
    """Pay from an account that lacks the token: refused by the node, then on the chain as failed."""
    poor = await payer.new_account()
    for skip, what in ((False, "refused by the node"), (True, "failed on the chain")):
        quoted = await Quoted.ask(case, operation)
        source = await payer.associated(poor.key, quoted.order.mint)
        how = {"sender": poor, "skip_preflight": skip}
        tx_id = await _fails(quoted.send(source=source, owner=poor.key, how=how))
        await quoted.buys_nothing("RAIL-PAY-11", tx_id, what)


async def _fails(sending: Awaitable[str]) -> str:
    """Return the id of a transaction that the node refuses or that fails on the chain."""
    try:
        return await sending
    except Refused as refusal:
        return refusal.tx_id


@check(
    "RAIL-PAY-15",
    surface="rail",
    lane="solana",
    fix="Take the lane from the token, and refuse a proof that is not of that lane's shape.",
)
async def proof_of_another_lane_for_solana(case: Case) -> None:
    """A proof of another lane's shape for a Solana challenge is not redeemed, nor a Solana payment for another lane's.

    Pays a Solana challenge and presents the payment in the shape of a Base proof, with ids of other chains as tx_id,
    and with the tokens of the other lanes that the challenge offers. Expects that none is served.
    """
    operation = case.session.operations[0]
    await control(case, operation)
    quoted = await Quoted.ask(case, operation)
    proof = quoted.proof(await quoted.send())
    for what, other in _foreign_shapes(case, quoted, proof).items():
        await refused(case, "RAIL-PAY-15", quoted.quote, other, what)


def _foreign_shapes(case: Case, quoted: Quoted, proof: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return proofs of other lanes made from a Solana payment, by what they are."""
    token, entry = quoted.order.text, quoted.quote.entry("solana")
    authorization = {
        "from": quoted.payer.address,
        "to": str(entry["payTo"]),
        "value": str(entry["maxAmountRequired"]),
        "validAfter": "0",
        "validBefore": "99999999999",
        "nonce": "0x" + case.rng.randbytes(32).hex(),
    }
    base = {"authorization": authorization, "signature": "0x" + "11" * 65, "challenge_token": token}
    shapes: dict[str, Mapping[str, Any]] = {
        "a Base proof with a Solana token": base,
        "a Base transaction id with a Solana token": {**proof, "tx_id": "0x" + case.rng.randbytes(32).hex()},
        "an Algorand transaction id with a Solana token": {
            **proof,
            "tx_id": invented_algorand_id(case.rng.randbytes(32)),
        },
        "the Solana payment under the Base member name": {"tx_id": proof["tx_id"], "challenge_token": token},
    }
    for other in quoted.quote.accepts:
        lane = lane_of(other)
        if lane not in {None, "solana"}:
            reference = quoted.quote.reference(str(lane))
            shapes[f"the Solana payment with a token of the lane {lane}"] = {**proof, "payment_reference": reference}
    return shapes
