"""RAIL-402-25: a payment that was refused for its request is served when the request is right (5.7, column Paid)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from conformance.assertions.rail.specified_refusals import ROW, WrongPayment, expect_refusal, judge_wrong_payment
from conformance.checks.rail.ignored_account_credentials import ACCOUNT_CREDENTIALS
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer, read_retry_after
from conformance.lanes.registry import LANES
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.proofs import STOCK_PAYMENT
from conformance.surfaces.rail.purchase import Challenge, challenge, header_value, name_live_values, pay, present
from conformance.surfaces.rail.unpaid_answers import find_request_example

_LARGEST_BODY = 65_536
# Members that no shape of a proof has, and that no ordinary x402 payload has either (P-LN-04, P-XP-03).
_FURTHER_MEMBERS: Final = {"memo": "an order", "client": {"name": "a wallet", "tags": [1, None]}}
# Shorter texts, such as a verdict, may be in any answer by chance.
_TELLING_LENGTH = 12

Headers = Sequence[tuple[str, str]]


@check(
    ROW,
    surface="rail",
    lane="each",
    fix="Refuse a payment for its request without using it up. Read one X-PAYMENT, ignore PAYMENT-SIGNATURE beside it "
    "and members that the proof need not have. A 409 says nothing about what was bought.",
    quick=sample("operations"),
)
async def refused_requests_leave_a_payment_usable(case: Case) -> None:
    """A payment that is refused for its request is served with the right one, and a second one is refused with 409.

    Pays each operation. Presents the payment in two X-PAYMENT fields, on GET, as text/plain, with a body of 65,537
    bytes, with a body that is refused, and with another query and body. Expects the code of 5.7 for each. Then
    presents it rightly, with further members in the proof, next to PAYMENT-SIGNATURE and an account's credential.
    Expects 200, and the stored answer with another X-Request-Id. Pays the same challenge again. Expects 409 with
    nothing of the first answer.
    """
    await run_concurrently(
        _judge_operation(case, operation) for operation in case.sample(case.session.catalog.operations)
    )


async def _judge_operation(case: Case, operation: Operation) -> None:
    quote = await challenge(case, operation)
    proof = await pay(case, quote, case.lane)
    await _present_wrongly(case, quote, proof)
    header = header_value({**proof, **_FURTHER_MEMBERS})
    case.client.names.name(header, "X_PAYMENT")
    fields = [("X-PAYMENT", header), ("PAYMENT-SIGNATURE", header_value(STOCK_PAYMENT))]
    # An account credential changes no answer (5.1), so the stored answer to the call without it is the same.
    fields += ACCOUNT_CREDENTIALS["an API key and a tenant"].items()
    served = await _redeem(case, quote, fields)
    where = {"operation": operation.path, "payment": "right, after it was presented wrongly"}
    if not case.expect(ROW, served.status == 200, "200", brief(served), exchange=served, where=where):
        return
    stored = await present(case, operation, proof, body=quote.body)
    ids = {answer.headers.get("X-Request-Id") for answer in (served, stored)}
    holds = stored.status == 200 and stored.body == served.body and len(ids) == 2
    finding = f"{stored.status}, X-Request-Id {'another' if len(ids) == 2 else 'the same'}"
    case.expect(ROW, holds, "the stored answer with its own X-Request-Id", finding, exchange=stored, where=where)
    if LANES[case.lane].spellings is not None:
        second = await pay(case, quote, case.lane)
        wrong = WrongPayment("a second payment for a token", quote, second, "payment_already_spent")
        await judge_wrong_payment(case, wrong)
    await _judge_silence(case, quote, proof, served)


async def _present_wrongly(case: Case, quote: Challenge, proof: Mapping[str, Any]) -> None:
    operation, field = quote.operation, ("X-PAYMENT", header_value(proof))
    case.client.names.name(field[1], "X_PAYMENT")
    for name, code, fields, body in _list_wrong_requests(quote, field):
        answer = await case.client.call("POST", operation.url, body=body, headers=fields)
        names_lane = code != "invalid_payment_header"
        expect_refusal(case, WrongPayment(name, quote, proof, code, names_lane=names_lane), answer, quote.body)
    answer = await case.client.call("GET", operation.url, headers=[field])
    wrong = WrongPayment("a payment on GET", quote, proof, "method_not_payable")
    expect_refusal(case, wrong, answer, find_request_example(quote.answer))
    # RAIL-402-25 judges the 422 elsewhere: here it only must not use the payment up.
    await case.client.call("POST", operation.url, json_body={"no_such_member_of_any_service": 1}, headers=[field])
    for body in () if operation.is_guess else operation.other_bodies[:1]:
        await judge_wrong_payment(case, WrongPayment("paid, another body", quote, proof, "request_mismatch", body=body))
    wrong = WrongPayment("paid, another query", quote, proof, "request_mismatch", query="a=1")
    await judge_wrong_payment(case, wrong)


def _list_wrong_requests(quote: Challenge, field: tuple[str, str]) -> Iterator[tuple[str, str, Headers, bytes]]:
    """Yield POST requests with one fault: name, code, header fields, body."""
    body, media = json.dumps(quote.body).encode(), ("Content-Type", "application/json")
    yield "two X-PAYMENT fields", "invalid_payment_header", [media, field, field], body
    yield "text/plain", "unsupported_media_type", [("Content-Type", "text/plain"), field], body
    yield "65,537 bytes", "payload_too_large", [media, field], body.ljust(_LARGEST_BODY + 1)


async def _redeem(case: Case, quote: Challenge, fields: Headers) -> Answer:
    """Present a payment with these fields, again as long as the rail says "not yet"."""
    loop = asyncio.get_running_loop()
    ends, is_repeated = loop.time() + case.profile.budgets.confirmation, False
    while True:
        answer = await case.client.call(
            "POST", quote.operation.url, json_body=quote.body, headers=fields, retry=is_repeated
        )
        pause = read_retry_after(answer) if answer.status in {402, 409, 503} else None
        if pause is None or loop.time() + pause > ends:
            return answer
        await asyncio.sleep(pause)
        is_repeated = True


async def _judge_silence(case: Case, quote: Challenge, proof: Mapping[str, Any], served: Answer) -> None:
    """Judge that the refusal of a spent payment repeats nothing of the first answer (P-ER-04)."""
    name_live_values(case, proof)
    answer = await present(case, quote.operation, dict(proof), body=quote.body, query="b=2")
    text = answer.body.decode("utf-8", "replace") + " ".join(answer.headers.values())
    repeated_names = sorted(name for name, value in served.read_object().items() if _is_repeated(value, text))
    where = {"operation": quote.operation.path, "payment": "spent, another query"}
    finding = ", ".join(repeated_names) or "so"
    case.expect(ROW, not repeated_names, "nothing of the first answer", finding, exchange=answer, where=where)


def _is_repeated(value: Any, text: str) -> bool:
    """Return whether a text repeats a member of an answer, or one of its longer texts."""
    if isinstance(value, str):
        return len(value) >= _TELLING_LENGTH and value in text
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_is_repeated(member, text) for member in members)
