"""RAIL-402-25 on Solana: the code of each fault that a transaction on the chain can have (5.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from solders.pubkey import Pubkey

from conformance.assertions.rail.solana.challenge_payments import Quoted, get_solana_payer
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_wrong_payment
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.lanes.solana.instructions import memo

_KEY_SIZE = 32


@check(
    ROW,
    surface="rail",
    lane="solana",
    fix="Check the facts of a transaction in the order of 5.5, and answer with the code of the first that is wrong.",
)
async def codes_of_wrong_solana_payments(case: Case) -> None:
    """A transaction with one fault is answered with the code of that fault, by REST and over A2A.

    Sends for each challenge a transfer with one fault: without the reference, with one that differs in one bit of each
    eighth, with the reference in another place, of one unit less, also next to a transfer with another fault, to
    another token account of the payer or payee, of another mint, and of native coin; and names one that was never sent.
    Expects the code of 5.5 for each.
    """
    payer, operations = await get_solana_payer(case), case.session.catalog.operations
    me, stranger = payer.main.key, Pubkey(case.rng.randbytes(_KEY_SIZE))

    def flip_bit(place: int) -> Callable[[Quoted], Awaitable[str]]:
        def change(key: Pubkey) -> Pubkey:
            raw = bytearray(bytes(key))
            raw[place] ^= 1
            return Pubkey(bytes(raw))

        return lambda quote: quote.send(references=(change(quote.order.reference),))

    async def pay_payees_other_account(quote: Quoted) -> str:
        return await quote.send(destination=await payer.token_account(quote.order.mint, quote.order.payee))

    async def pay_own_account(quote: Quoted) -> str:
        return await quote.send(destination=await payer.token_account(quote.order.mint, me))

    async def pay_other_mint(quote: Quoted) -> str:
        mint = await payer.create_mint()
        return await payer.send([(await quote.transfer(mint=mint)).instruction()])

    async def send_coin(quote: Quoted) -> str:
        return await payer.send_native(quote.order.payee, quote.order.price, quote.order.reference)

    async def name_unsent(quote: Quoted) -> str:
        return quote.invented_id()

    faults: dict[str, tuple[str, Callable[[Quoted], Awaitable[str]]]] = {
        "no reference": ("weld_mismatch", lambda quote: quote.send(references=())),
        **{
            f"bit {place * 8} of the reference changed": ("weld_mismatch", flip_bit(place))
            for place in (0, 4, 8, 12, 15, 16, 20, 24, 28, _KEY_SIZE - 1)
        },
        "another account before the reference": (
            "weld_mismatch",
            lambda quote: quote.send(references=(stranger, quote.order.reference)),
        ),
        "the reference in a memo": (
            "weld_mismatch",
            lambda quote: quote.send(
                lambda transfer: [
                    transfer.with_changes(references=()).instruction(),
                    memo(me, str(quote.order.reference).encode()),
                ]
            ),
        ),
        "the whole without the reference, and a unit less with it": (
            "weld_mismatch",
            lambda quote: _pay_twice(quote, references=()),
        ),
        "a unit less, and the whole to another account": (
            "wrong_amount",
            lambda quote: _pay_twice(quote, is_elsewhere=True),
        ),
        "one unit less": ("wrong_amount", lambda quote: quote.send(amount=quote.order.price - 1)),
        "to the payer's other account": ("wrong_recipient", pay_own_account),
        "to another account of the payee": ("wrong_recipient", pay_payees_other_account),
        "another mint": ("wrong_asset", pay_other_mint),
        "native coin": ("unsupported_transaction", send_coin),
        "never sent": ("tx_not_found", name_unsent),
    }

    async def attempt(number: int, name: str) -> None:
        code, pay_wrongly = faults[name]
        quote = await Quoted.ask(case, operations[number % len(operations)])
        proof = quote.proof(await pay_wrongly(quote))
        await judge_wrong_payment(case, WrongPayment(name, quote.quote, proof, code))

    await run_concurrently(attempt(number, name) for number, name in enumerate(faults))


async def _pay_twice(quote: Quoted, *, is_elsewhere: bool = False, **changes: Any) -> str:
    """Send one transaction with a changed transfer, or one to the payer itself, and a welded one of a unit less."""
    payer, order = quote.payer, quote.order
    if is_elsewhere:
        changes["destination"] = await payer.token_account(order.mint, payer.main.key)
    short = await quote.transfer(amount=order.price - 1)
    return await payer.send([(await quote.transfer(**changes)).instruction(), short.instruction()])
