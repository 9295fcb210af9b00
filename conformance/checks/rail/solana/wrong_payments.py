"""RAIL-PAY on Solana: payments to another recipient, of less than the price, in another asset, or that failed."""

from __future__ import annotations

import struct
from collections.abc import Awaitable, Callable

from solders.compute_budget import ID as COMPUTE_BUDGET
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin

from conformance.assertions.rail.refusals import require_honest_payment_served
from conformance.assertions.rail.solana.challenge_payments import Quoted, get_solana_payer
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.exclusive import Exclusive
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
    stranger, own_key = await payer.new_account(is_funded=False), payer.main.key
    foreign_account = await payer.ensure_associated_account(stranger.key, mint)
    # One account for each attack, since handing an account over changes its owner for good.
    own_account, first, second, third = await run_concurrently(payer.token_account(mint, own_key) for _ in range(4))

    def empty_and_hand_over(transfer: TokenTransfer) -> list[Instruction]:
        back = transfer.with_changes(source=transfer.destination, destination=transfer.source, references=())
        payee = quotes["emptied and handed to the payee"].order.payee
        return [transfer.instruction(), back.instruction(), hand_over(transfer.destination, own_key, payee)]

    def send_back_and_hand_over(transfer: TokenTransfer) -> list[Instruction]:
        out = transfer.with_changes(references=())
        back = transfer.with_changes(source=transfer.destination, destination=transfer.source)
        payee = quotes["emptied by the welded transfer and handed to the payee"].order.payee
        return [out.instruction(), back.instruction(), hand_over(transfer.destination, own_key, payee)]

    attacks: dict[str, Callable[[Quoted], Awaitable[str]]] = {
        # The account exists and has the right mint, so only its owner is wrong.
        "to another account": lambda quote: quote.send(destination=foreign_account),
        "to the payer itself": lambda quote: quote.send(destination=own_account),
        "emptied and handed to the payee": lambda quote: quote.send(empty_and_hand_over, destination=first),
        "emptied by the welded transfer and handed to the payee": lambda quote: quote.send(
            send_back_and_hand_over, destination=second
        ),
        "to the payer itself, the payee's account loaded next to it": lambda quote: _pay_next_to_payee(quote, third),
    }
    quotes = {description: await Quoted.ask(case, operation) for description in attacks}

    async def attempt(description: str, quote: Quoted) -> None:
        await quote.judge_buys_nothing("RAIL-PAY-08", await attacks[description](quote), description)

    await run_concurrently(
        (
            *(attempt(description, quote) for description, quote in quotes.items()),
            _pay_other_payee_account(case, operation),
        )
    )


async def _pay_next_to_payee(quote: Quoted, own_account: Pubkey) -> str:
    """Pay an account of the payer from a table that also contains the payee's account, which another call reads."""
    # The loaded accounts are first the writable one, which is paid, then the read-only one. A rail that lists them in
    # the other order takes one for the other.
    own_key = quote.payer.main.key
    transfer, payee = await quote.transfer(destination=own_account), quote.order.destination
    reading_instruction = with_accounts(
        transfer_coin(TransferParams(from_pubkey=own_key, to_pubkey=own_key, lamports=1)), [payee]
    )
    table = await quote.payer.address_table([payee, own_account])
    return await quote.payer.send([transfer.instruction(), reading_instruction], tables=[table])


async def _pay_other_payee_account(case: Case, operation: Operation) -> None:
    """Pay into a token account of the payee that is not the associated one. The payee has the money either way."""
    quote = await Quoted.ask(case, operation)
    other_account = await quote.payer.token_account(quote.order.mint, quote.order.payee)
    answer = await quote.present(await quote.send(destination=other_account))
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

    async def pay_once(description: str, send: Callable[[Quoted], Awaitable[str]]) -> None:
        quote = await Quoted.ask(case, operation)
        await quote.judge_buys_nothing("RAIL-PAY-09", await send(quote), description)

    def split_transfer(transfer: TokenTransfer) -> list[Instruction]:
        remainder = transfer.amount - transfer.amount // 2
        return [transfer.with_changes(amount=part).instruction() for part in (transfer.amount // 2, remainder)]

    async def pay_in_two() -> None:
        quote = await Quoted.ask(case, operation)
        # After the second transfer the payee has the whole price. But each payment must pay by itself, or parts could
        # be shared.
        half = quote.order.price // 2
        for amount in (half, quote.order.price - half):
            tx_id = await quote.send(amount=amount)
            await quote.judge_buys_nothing("RAIL-PAY-09", tx_id, "the price in two transactions")

    await run_concurrently(
        (
            pay_once("nothing", lambda quote: quote.send(amount=0)),
            pay_once("one unit less", lambda quote: quote.send(amount=quote.order.price - 1)),
            pay_once("half", lambda quote: quote.send(amount=quote.order.price // 2)),
            pay_once("one unit less, no mint named", lambda q: q.send(amount=q.order.price - 1, decimals=None)),
            # Each half is welded. A rail that sums up the welded transfers would accept payment in parts from many
            # payers.
            pay_once("the price in two transfers", lambda quote: quote.send(split_transfer)),
            pay_once(
                "an instruction that reads like a transfer",
                lambda quote: quote.send(lambda transfer: [_imitate_transfer(transfer)]),
            ),
            pay_in_two(),
        )
    )


def _imitate_transfer(transfer: TokenTransfer) -> Instruction:
    """Return an instruction that sets the price of compute units and has the bytes of a token Transfer."""
    # Both are tag 3 and a 64-bit number. The compute budget program ignores its accounts, so they can be those of a
    # payment.
    owner = AccountMeta(transfer.owner, is_signer=True, is_writable=False)
    places = [AccountMeta(key, is_signer=False, is_writable=True) for key in (transfer.source, transfer.destination)]
    instruction = Instruction(COMPUTE_BUDGET, struct.pack("<BQ", _COMPUTE_PRICE, transfer.amount), [*places, owner])
    return with_accounts(instruction, transfer.references)


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
    # A mint has no name on the chain that could be trusted. Only its address distinguishes USDC.
    fake_mint = await payer.create_mint()

    async def pay_with_fake(decimals: int | None, description: str) -> None:
        quote = await Quoted.ask(case, operation)
        await quote.judge_buys_nothing("RAIL-PAY-10", await quote.send(mint=fake_mint, decimals=decimals), description)

    async def pay_with_token_2022() -> None:
        try:
            # Token-2022 has the same instructions under another program id. USDC is a token of the first program.
            mint = await payer.create_mint(program=TOKEN_2022_PROGRAM_ID)
        except Refused as refusal:
            case.note(f"a token of the program Token-2022: this node does not support it: {refusal}")
            return
        quote = await Quoted.ask(case, operation)
        tx_id = await quote.send(mint=mint, decimals=6, program=TOKEN_2022_PROGRAM_ID)
        await quote.judge_buys_nothing("RAIL-PAY-10", tx_id, "a look-alike token of the program Token-2022")

    async def pay_with_coin() -> None:
        quote = await Quoted.ask(case, operation)
        order = quote.order
        coin_tx_id = await payer.send_native(order.payee, max(order.price, await payer.node.rent(0)), order.reference)
        await quote.judge_buys_nothing("RAIL-PAY-10", coin_tx_id, "native coin")

    tokens = (
        pay_with_fake(6, "a look-alike token"),
        pay_with_fake(None, "a look-alike token, no mint named"),
        pay_with_token_2022(),
    )
    await run_concurrently((*tokens, pay_with_coin()))


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

    def add_failing_transfer(transfer: TokenTransfer) -> list[Instruction]:
        # The second transfer fails, so Solana undoes the whole transaction but still records it with its instructions.
        return [transfer.instruction(), transfer.with_changes(amount=2**63, references=()).instruction()]

    async def present_undone() -> None:
        quote = await Quoted.ask(case, operation)
        tx_id = await _send_failing(quote.send(add_failing_transfer, send_arguments={"skip_preflight": True}))
        await quote.judge_buys_nothing("RAIL-PAY-11", tx_id, "undone by a later instruction")

    await run_concurrently((_pay_from_empty_account(case, payer, operation), present_undone()))


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
    quote = await Quoted.ask(case, operation)
    transfer = await quote.transfer()
    async with payer.fault("reject_late"):
        tx_id = await payer.send([transfer.instruction()], wait=None)
    await quote.judge_buys_nothing("RAIL-PAY-11", tx_id, "taken by the node and dropped")


async def _pay_from_empty_account(case: Case, payer: SolanaPayer, operation: Operation) -> None:
    """Pay from an account without the token: once refused by the node, once failed on the chain."""
    empty_account = await payer.new_account()
    for skip, description in ((False, "refused by the node"), (True, "failed on the chain")):
        quote = await Quoted.ask(case, operation)
        source = await payer.ensure_associated_account(empty_account.key, quote.order.mint)
        how = {"sender": empty_account, "skip_preflight": skip}
        tx_id = await _send_failing(quote.send(source=source, owner=empty_account.key, send_arguments=how))
        await quote.judge_buys_nothing("RAIL-PAY-11", tx_id, description)


async def _send_failing(transaction: Awaitable[str]) -> str:
    """Return the id of a transaction that the node refuses or that fails on the chain."""
    try:
        return await transaction
    except Refused as refusal:
        return refusal.tx_id
