"""RAIL-WELD on every lane whose payer sends the transaction, independent of the form of its weld."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.engine.concurrency import run_concurrently
from conformance.judging.rail.quoted import QuotedPayment
from conformance.judging.rail.recovery import judge_fresh_terms, judge_recovery
from conformance.judging.rail.refusals import assert_control_is_served, honest_payment_is_served
from conformance.surfaces.rail.forgeries import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, header_value, pay, present

Q = TypeVar("Q", bound=QuotedPayment)
_UNKNOWN = "an unknown transaction"
# Base64 of a text that is not JSON.
_NO_JSON = "cGxlYXNl"


async def near_misses_buy_nothing(
    case: Case, lane: type[Q], row: str, misses: Mapping[str, Callable[[Q], Awaitable[str]]]
) -> None:
    """Judge that payments whose weld is nearly right buy nothing, each with a separate challenge.

    Args:
        case: The case.
        lane: The lane's challenges.
        row: The row to judge.
        misses: Sends each payment, by its fault.
    """
    operation = case.session.catalog.operations[0]
    quotes = [await lane.ask(case, operation) for _ in misses]

    async def attempt(quoted: Q, what: str) -> None:
        await quoted.buys_nothing(row, await misses[what](quoted), what)

    await run_concurrently(map(attempt, quotes, misses))


async def mixed_pairs_buy_nothing(case: Case, lane: type[QuotedPayment], row: str, what: str) -> None:
    """Judge that a payment of one challenge buys nothing with another's token, and that the right pair does.

    Args:
        case: The case.
        lane: The lane's challenges.
        row: The row of this lane's weld, judged together with RAIL-WELD-15.
        what: The description of a payment with another challenge's weld.
    """

    async def for_operation(operation: Operation) -> None:
        mine, other = await lane.ask(case, operation), await lane.ask(case, operation)
        paid_other = await other.send()
        await mine.buys_nothing(row, paid_other, what)
        paid_mine = await mine.send()
        for tx_id, quoted in ((paid_mine, other), (paid_other, mine)):
            await quoted.buys_nothing("RAIL-WELD-15", tx_id, "transaction and reference of two payments")
        assert_control_is_served(await mine.present(paid_mine), "the right pair")

    await run_concurrently(map(for_operation, case.sample(case.session.catalog.operations)))


async def stray_transfers_buy_nothing(case: Case, lane: type[QuotedPayment]) -> None:
    """Judge that transfers without a weld, made before and after a challenge, buy nothing (RAIL-WELD-05)."""

    async def for_operation(operation: Operation) -> None:
        await honest_payment_is_served(case, operation)
        before = await (await lane.ask(case, operation)).send_unwelded()
        quoted = await lane.ask(case, operation)
        after = await quoted.send_unwelded()
        for tx_id, what in ((before, "made before the challenge"), (after, "made after the challenge")):
            for _ in range(2):
                await quoted.buys_nothing("RAIL-WELD-05", tx_id, f"a stray transfer {what}")

    await run_concurrently(map(for_operation, case.sample(case.session.catalog.operations)))


async def ordinary_client_buys_nothing(
    case: Case, quote: Challenge, payloads: Sequence[Mapping[str, Any]], **where: str
) -> None:
    """Judge that the payments of an ordinary x402 client, in both headers, buy nothing (RAIL-WELD-14)."""
    for header in ("X-PAYMENT", "PAYMENT-SIGNATURE"):
        for payload in payloads:
            value = header_value(payload)
            case.client.names.name(value, "STOCK_PAYMENT")
            answer = await case.client.call("POST", quote.operation.url, json_body=quote.body, headers={header: value})
            place = {"header": header, "version": str(payload["x402Version"]), **where}
            case.expect("RAIL-WELD-14", answer.status != 200, "not served", brief(answer), exchange=answer, where=place)


async def refusals_let_the_client_recover(
    case: Case, lane: type[Q], wrong: Callable[[Q], Awaitable[Mapping[str, str]]]
) -> None:
    """Judge that a refused payment is answered 402 with a fresh accepts array (RAIL-WELD-16).

    Args:
        case: The case.
        lane: The lane's challenges.
        wrong: Sends payments that buy nothing, and returns their transactions by their faults.

    Raises:
        Inconclusive: An honest payment is not served.
    """
    operation, spent_status = case.session.catalog.operations[0], case.profile.rail_bindings.spent_status
    bought = await lane.ask(case, operation)
    spent = await pay(case, bought.quote, case.lane)
    assert_control_is_served(await present(case, operation, spent))
    quoted = await lane.ask(case, operation)
    seen = {quoted.token, bought.token}
    sent = await wrong(quoted)
    refused: dict[str, object] = {
        _UNKNOWN: quoted.proof(quoted.invented_id()),
        **{what: quoted.proof(tx_id) for what, tx_id in sent.items()},
        "an unreadable proof": _NO_JSON,
        # With a payment that is still unspent: for a spent one 409 would be right as well.
        "a token that was never issued": quoted.proof(await quoted.send(), forge_tokens(case, quoted.quote)[0][1]),
    }
    for what, proof in refused.items():
        answer = await present(case, operation, proof)
        judge_recovery(case, answer, seen, (402, 503) if what == _UNKNOWN else (402,), what)
    await judge_fresh_terms(case, operation)
    again = await present(case, operation, {**spent, "payment_reference": quoted.token})
    judge_recovery(case, again, seen, spent_status, "a payment that bought something")
    for other in case.session.catalog.operations[1:2]:
        judge_recovery(case, await present(case, other, spent), seen, spent_status, "on another operation")
