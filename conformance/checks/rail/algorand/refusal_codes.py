"""RAIL-402-25 on Algorand: the code of each fault that a transaction on the chain can have (5.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from conformance.assertions.rail.algorand.challenge_payments import AlgorandQuote
from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, judge_wrong_payment
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.rail.algorand.payments import algorand_payer, price_of


@check(
    ROW,
    surface="rail",
    lane="algorand",
    fix="Check the facts of a transaction in the order of 5.5, and answer with the code of the first that is wrong.",
)
async def codes_of_wrong_algorand_payments(case: Case) -> None:
    """A transaction with one fault is answered with the code of that fault, by REST and over A2A.

    Sends for each challenge a transfer with one fault: without the note, with a note that has one character more or
    less, another case or white space, of one unit less, to another account, of another asset, of native coin, by
    clawback; and names one that was never sent. Expects the code of 5.5 for each.
    """
    payer, operations = await algorand_payer(case), case.session.catalog.operations

    async def pay_other_asset(quote: AlgorandQuote) -> str:
        # The payee cannot be made to take another asset, so the payer is its receiver. The asset is checked first.
        return await quote.send(asset=await payer.create_asset(), receiver=payer.address)

    async def send_coin(quote: AlgorandQuote) -> str:
        entry = quote.quote.entry(case.lane)
        return await payer.send_native(str(entry["payTo"]), price_of(entry), quote.token.encode())

    def with_note(edit: Callable[[str], str]) -> Callable[[AlgorandQuote], Awaitable[str]]:
        return lambda quote: quote.send(note=edit(quote.token).encode())

    async def pay_less(quote: AlgorandQuote) -> str:
        return await quote.send(amount=price_of(quote.quote.entry(case.lane)) - 1)

    async def name_unsent(quote: AlgorandQuote) -> str:
        return quote.invented_id()

    faults: dict[str, tuple[str, Callable[[AlgorandQuote], Awaitable[str]]]] = {
        "no note": ("weld_mismatch", lambda quote: quote.send(note=b"")),
        "a note with a space after it": ("weld_mismatch", with_note(lambda token: token + " ")),
        "a note with a line feed after it": ("weld_mismatch", with_note(lambda token: token + "\n")),
        "a note with a space before it": ("weld_mismatch", with_note(lambda token: " " + token)),
        "a note in upper case": ("weld_mismatch", with_note(str.upper)),
        "a note cut by one": ("weld_mismatch", with_note(lambda token: token[:-1])),
        "a note without its last half": ("weld_mismatch", with_note(lambda token: token[:-32])),
        "a note in quotes": ("weld_mismatch", with_note(lambda token: f'"{token}"')),
        "a note behind a byte order mark": ("weld_mismatch", with_note(lambda token: "\ufeff" + token)),
        "a note with a zero byte after it": ("weld_mismatch", with_note(lambda token: token + "\0")),
        "one unit less": ("wrong_amount", pay_less),
        "to the payer itself": ("wrong_recipient", lambda quote: quote.send(receiver=payer.address)),
        "another asset": ("wrong_asset", pay_other_asset),
        "native coin": ("unsupported_transaction", send_coin),
        "never sent": ("tx_not_found", name_unsent),
    }

    async def attempt(number: int, name: str) -> None:
        code, pay_wrongly = faults[name]
        quote = await AlgorandQuote.ask(case, operations[number % len(operations)])
        proof = quote.proof(await pay_wrongly(quote))
        await judge_wrong_payment(case, WrongPayment(name, quote.quote, proof, code))

    await run_concurrently(attempt(number, name) for number, name in enumerate(faults))
