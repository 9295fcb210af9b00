"""RAIL-WELD on every lane whose payer sends the transaction, independent of the form of its weld."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from conformance.assertions.rail.challenge_payments import QuotedPayment
from conformance.assertions.rail.paid_tasks import MakePayment, judge_wrong_payments
from conformance.assertions.rail.recovery_after_refusal import judge_fresh_terms, judge_recovery
from conformance.assertions.rail.refusals import assert_control_is_served, require_honest_payment_served
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.rail.forged_challenge_tokens import forge_tokens
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import Challenge, header_value, pay, present

Q = TypeVar("Q", bound=QuotedPayment)
_UNKNOWN = "an unknown transaction"
# Base64 of a text that is not JSON.
_NON_JSON_PROOF = "cGxlYXNl"


async def judge_near_misses(
    case: Case, lane: type[Q], row: str, misses: Mapping[str, Callable[[Q], Awaitable[str]]]
) -> None:
    """Judge that payments whose weld is nearly right buy nothing, each with a separate challenge, by REST and over A2A.

    Args:
        case: The case.
        lane: The lane's challenges.
        row: The row to judge.
        misses: Sends each payment, by its fault.
    """
    operation = case.session.catalog.operations[0]
    quotes = [await lane.ask(case, operation) for _ in misses]

    async def attempt(challenge: Q, fault_name: str) -> None:
        await challenge.judge_buys_nothing(row, await misses[fault_name](challenge), fault_name)

    await run_concurrently(map(attempt, quotes, misses))

    await _judge_over_a2a(case, lane, row, misses)


async def _judge_over_a2a(
    case: Case, lane: type[Q], row: str | tuple[str, ...], payments: Mapping[str, Callable[[Q], Awaitable[str]]]
) -> None:
    """Judge that payments with a wrong weld complete no task, each on the terms of its own task."""

    def for_task(send: Callable[[Q], Awaitable[str]]) -> MakePayment:
        async def make_proof(quote: Challenge) -> Mapping[str, Any]:
            challenge = await lane.of(case, quote)
            return challenge.proof(await send(challenge))

        return make_proof

    operation = case.session.catalog.operations[0]
    await judge_wrong_payments(case, row, operation, {name: for_task(send) for name, send in payments.items()})


async def judge_mixed_pairs(case: Case, lane: type[QuotedPayment], row: str, payment_name: str) -> None:
    """Judge that a payment of one challenge buys nothing with another's token, and that the right pair does.

    Args:
        case: The case.
        lane: The lane's challenges.
        row: The row of this lane's weld, judged together with RAIL-WELD-15.
        payment_name: The description of a payment with another challenge's weld.
    """

    async def for_operation(operation: Operation) -> None:
        own_challenge, other_challenge = await lane.ask(case, operation), await lane.ask(case, operation)
        paid_other = await other_challenge.send()
        await own_challenge.judge_buys_nothing(row, paid_other, payment_name)
        paid_mine = await own_challenge.send()
        for tx_id, challenge in ((paid_mine, other_challenge), (paid_other, own_challenge)):
            await challenge.judge_buys_nothing("RAIL-WELD-15", tx_id, "transaction and reference of two payments")
        # The right pair comes last, so that the refusals above are not due to a rail that refuses everything.
        assert_control_is_served(await own_challenge.present(paid_mine), "the right pair")

    await run_concurrently(map(for_operation, case.sample(case.session.catalog.operations)))

    async def pay_other(_: QuotedPayment) -> str:
        return await (await lane.ask(case, case.session.catalog.operations[0])).send()

    await _judge_over_a2a(case, lane, (row, "RAIL-WELD-15"), {payment_name: pay_other})


async def judge_stray_transfers(case: Case, lane: type[QuotedPayment]) -> None:
    """Judge that transfers without a weld, made before and after a challenge, buy nothing (RAIL-WELD-05)."""

    async def for_operation(operation: Operation) -> None:
        await require_honest_payment_served(case, operation)
        # A transfer before the challenge: a rail that searches the chain by amount and address finds it first.
        before = await (await lane.ask(case, operation)).send_unwelded()
        challenge = await lane.ask(case, operation)
        after = await challenge.send_unwelded()
        for tx_id, time_name in ((before, "made before the challenge"), (after, "made after the challenge")):
            for _ in range(2):
                await challenge.judge_buys_nothing("RAIL-WELD-05", tx_id, f"a stray transfer {time_name}")

    await run_concurrently(map(for_operation, case.sample(case.session.catalog.operations)))

    async def pay_unwelded(challenge: QuotedPayment) -> str:
        return await challenge.send_unwelded()

    await _judge_over_a2a(case, lane, "RAIL-WELD-05", {"a stray transfer": pay_unwelded})


async def judge_ordinary_client(
    case: Case, quote: Challenge, payloads: Sequence[Mapping[str, Any]], **where: str
) -> None:
    """Judge that the payments of an ordinary x402 client, in both headers, buy nothing (RAIL-WELD-14)."""
    # The names of x402 version 1 and 2. A rail that verifies such a payload by its signature alone has received no
    # money.
    for header in ("X-PAYMENT", "PAYMENT-SIGNATURE"):
        for payload in payloads:
            value = header_value(payload)
            case.client.names.name(value, "STOCK_PAYMENT")
            answer = await case.client.call("POST", quote.operation.url, json_body=quote.body, headers={header: value})
            place = {"header": header, "version": str(payload["x402Version"]), **where}
            case.expect("RAIL-WELD-14", answer.status != 200, "not served", brief(answer), exchange=answer, where=place)


async def judge_recovery_from_refusals(
    case: Case, lane: type[Q], send_wrong: Callable[[Q], Awaitable[Mapping[str, str]]]
) -> None:
    """Judge that a refused payment is answered 402 with a fresh accepts array (RAIL-WELD-16).

    Args:
        case: The case.
        lane: The lane's challenges.
        send_wrong: Sends payments that buy nothing, and returns their transactions by their faults.

    Raises:
        Inconclusive: An honest payment is not served.
    """
    operation, spent_status = case.session.catalog.operations[0], case.profile.rail_bindings.spent_status
    # The spent proof is needed at the end, and its purchase is the control at the same time.
    first_challenge = await lane.ask(case, operation)
    spent_proof = await pay(case, first_challenge.quote, case.lane)
    assert_control_is_served(await present(case, operation, spent_proof))
    open_challenge = await lane.ask(case, operation)
    seen_tokens = {open_challenge.token, first_challenge.token}
    tx_ids = await send_wrong(open_challenge)
    # Each proof is wrong in one way, so that each refusal has to offer new terms by itself.
    proofs: dict[str, object] = {
        _UNKNOWN: open_challenge.proof(open_challenge.invented_id()),
        **{payment_name: open_challenge.proof(tx_id) for payment_name, tx_id in tx_ids.items()},
        "an unreadable proof": _NON_JSON_PROOF,
        # With a payment that is still unspent: for a spent one 409 would be right as well.
        "a token that was never issued": open_challenge.proof(
            await open_challenge.send(), forge_tokens(case, open_challenge.quote)[0][1]
        ),
    }
    for payment_name, proof in proofs.items():
        answer = await present(case, operation, proof)
        judge_recovery(case, answer, seen_tokens, (402, 503) if payment_name == _UNKNOWN else (402,), payment_name)
    await judge_fresh_terms(case, operation)
    second_answer = await present(case, operation, {**spent_proof, "payment_reference": open_challenge.token})
    judge_recovery(case, second_answer, seen_tokens, spent_status, "a payment that bought something")
    for other_operation in case.session.catalog.operations[1:2]:
        judge_recovery(
            case, await present(case, other_operation, spent_proof), seen_tokens, spent_status, "on another operation"
        )
