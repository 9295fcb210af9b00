"""RAIL-PAY on Solana: payments to another recipient, of less than the price, in another asset, or that failed."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable

from solders.compute_budget import ID as COMPUTE_BUDGET
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.exclusive import Exclusive
from conformance.judging.rail.refusals import require_honest_payment_served
from conformance.judging.rail.solana.orders import Quoted, get_solana_payer
from conformance.lanes.solana.instructions import TOKEN_2022_PROGRAM_ID, TokenTransfer, hand_over, with_accounts
from conformance.lanes.solana.payer import Refused, SolanaPayer
from conformance.surfaces.rail.paid_answers import brief

_COMPUTE_PRICE = 3


@check(
    "RAIL-PAY-08",
    surface="rail",
    lane="solana",
    fix="Compare the transfer's destination with the associated token account of payTo and the mint. Do not read its "
    "owner from token balances, which show the state after the transaction.",
)
async def solana_payment_to_somebody_else(case: Case) -> None:
    """A payment to another recipient than payTo is not redeemed.

    Sends welded transfers of the price to another account, to a second token account of the payer, and to a token
    account that is emptied and handed to the payee (SetAuthority) in the same transaction, in two orders. Also sends
    one to an account of the payer that an address lookup table loads next to the payee's account. Expects that none is
    served. A transfer to another token account of the payee may be served.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    mint = (await Quoted.ask(case, operation)).order.mint
    stranger, me = await payer.new_account(funded=False), payer.main.key
    foreign = await payer.associated(stranger.key, mint)
    own, first, second, third = await run_concurrently(payer.token_account(mint, me) for _ in range(4))

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
        "to the payer itself, the payee's account loaded next to it": lambda quoted: _next_to_the_payee(quoted, third),
    }
    quotes = {what: await Quoted.ask(case, operation) for what in attacks}

    async def attempt(what: str, quoted: Quoted) -> None:
        await quoted.buys_nothing("RAIL-PAY-08", await attacks[what](quoted), what)

    await run_concurrently((*(attempt(what, quoted) for what, quoted in quotes.items()), _beside(case, operation)))


async def _next_to_the_payee(quoted: Quoted, own: Pubkey) -> str:
    """Pay an account of the payer from a table that also contains the payee's account, which another call reads."""
    # The loaded accounts are first the writable one, which is paid, then the read-only one. A rail that lists them in
    # the other order takes one for the other.
    me = quoted.payer.main.key
    made, payee = await quoted.transfer(destination=own), quoted.order.destination
    read = with_accounts(transfer_coin(TransferParams(from_pubkey=me, to_pubkey=me, lamports=1)), [payee])
    table = await quoted.payer.address_table([payee, own])
    return await quoted.payer.send([made.instruction(), read], tables=[table])


async def _beside(case: Case, operation: Operation) -> None:
    """Pay into a token account of the payee that is not the associated one. The payee has the money either way."""
    quoted = await Quoted.ask(case, operation)
    beside = await quoted.payer.token_account(quoted.order.mint, quoted.order.payee)
    answer = await quoted.present(await quoted.send(destination=beside))
    case.note(f"a transfer to another token account of the payee was answered {brief(answer)}")


@check(
    "RAIL-PAY-09",
    surface="rail",
    lane="solana",
    fix="Compare the amount of the one welded transfer with maxAmountRequired. Do not add amounts up, and check which "
    "program the instruction calls.",
)
async def solana_payment_of_less(case: Case) -> None:
    """A payment of less than the price is not redeemed.

    Sends welded transfers of nothing, of one unit less than the price, and of half of it. Sends the price in two
    transfers of one transaction, and in two transactions. Sends an instruction to another program, which moves nothing
    and has the bytes and accounts of a token transfer. Expects that none is served.
    """
    operation = case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

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

    await run_concurrently(
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
    """Return an instruction that sets the price of compute units and has the bytes of a token Transfer."""
    # Both are tag 3 and a 64-bit number. The compute budget program ignores its accounts, so they can be those of a
    # payment.
    owner = AccountMeta(made.owner, is_signer=True, is_writable=False)
    places = [AccountMeta(key, is_signer=False, is_writable=True) for key in (made.source, made.destination)]
    named = Instruction(COMPUTE_BUDGET, struct.pack("<BQ", _COMPUTE_PRICE, made.amount), [*places, owner])
    return with_accounts(named, made.references)


@check(
    "RAIL-PAY-10",
    surface="rail",
    lane="solana",
    fix="Compare the mint of the instruction with the asset of the challenge. Derive the expected destination from "
    "payTo and the asset.",
)
async def solana_payment_in_something_else(case: Case) -> None:
    """A payment in another asset is not redeemed.

    Sends welded payments of the price in a token of another mint with the same decimals, to the payee's associated
    account of that mint, with and without the mint in the instruction. Also pays in a token of the program Token-2022,
    and in native coin. Expects that none is served.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)
    fake = await payer.create_mint()

    async def alike(decimals: int | None, what: str) -> None:
        quoted = await Quoted.ask(case, operation)
        await quoted.buys_nothing("RAIL-PAY-10", await quoted.send(mint=fake, decimals=decimals), what)

    async def newer() -> None:
        try:
            mint = await payer.create_mint(program=TOKEN_2022_PROGRAM_ID)
        except Refused as refusal:
            case.note(f"a token of the program Token-2022: this node does not support it: {refusal}")
            return
        quoted = await Quoted.ask(case, operation)
        sent = await quoted.send(mint=mint, decimals=6, program=TOKEN_2022_PROGRAM_ID)
        await quoted.buys_nothing("RAIL-PAY-10", sent, "a look-alike token of the program Token-2022")

    async def coin() -> None:
        quoted = await Quoted.ask(case, operation)
        order = quoted.order
        named = await payer.send_native(order.payee, max(order.price, await payer.node.rent(0)), order.reference)
        await quoted.buys_nothing("RAIL-PAY-10", named, "native coin")

    tokens = (alike(6, "a look-alike token"), alike(None, "a look-alike token, no mint named"), newer())
    await run_concurrently((*tokens, coin()))


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="solana",
    fix="Check the transaction's err first. A failed transaction is on the chain with all its instructions, but it "
    "paid nothing.",
)
async def failed_solana_transaction(case: Case) -> None:
    """A failed transaction is not redeemed.

    Sends welded payments that the node refuses, or that the chain records with an error: from an account without the
    token, and a right one whose transaction fails by a later instruction. Expects that none is served.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    await require_honest_payment_served(case, operation)

    def too_much_after(made: TokenTransfer) -> list[Instruction]:
        return [made.instruction(), made.changed(amount=2**63, references=()).instruction()]

    async def undone() -> None:
        quoted = await Quoted.ask(case, operation)
        tx_id = await _fails(quoted.send(too_much_after, how={"skip_preflight": True}))
        await quoted.buys_nothing("RAIL-PAY-11", tx_id, "undone by a later instruction")

    await run_concurrently((_penniless(case, payer, operation), undone()))


@check(
    "RAIL-PAY-11",
    surface="rail",
    lane="solana",
    exclusive=Exclusive.CHAIN,
    fix="Serve only a transaction that is in a slot. One that the node merely accepted has paid nothing yet.",
)
async def dropped_solana_transaction(case: Case) -> None:
    """A transaction that the node accepted and dropped is not redeemed.

    Makes the node accept a welded payment and drop it, and presents it. Expects that it is not served.
    """
    payer, operation = await get_solana_payer(case), case.session.catalog.operations[0]
    if "reject_late" not in await payer.fault_names():
        case.mark_documented("RAIL-PAY-11", "this node cannot be made to drop a transaction (no fault `reject_late`)")
        return
    await require_honest_payment_served(case, operation)
    quoted = await Quoted.ask(case, operation)
    made = await quoted.transfer()
    async with payer.fault("reject_late"):
        tx_id = await payer.send([made.instruction()], wait=None)
    await quoted.buys_nothing("RAIL-PAY-11", tx_id, "taken by the node and dropped")


async def _penniless(case: Case, payer: SolanaPayer, operation: Operation) -> None:
    """Pay from an account without the token: once refused by the node, once failed on the chain."""
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
