"""RAIL-402-23: the header fields of a 402 fit into the buffer of a stock proxy."""

from __future__ import annotations

from typing import Final

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.challenge_schema import proof_of_another_family
from conformance.surfaces.rail.purchase import header_value
from conformance.surfaces.rail.unpaid_answers import entries

ROW = "RAIL-402-23"
# nginx keeps 4,096 bytes for status line and fields of an answer, and a proxy may add fields of its own.
LIMIT_BYTES: Final = 4_000
_STATUS_LINE = "HTTP/1.1 402 Payment Required\r\n"


@check(
    ROW,
    surface="rail",
    fix="Shorten what PAYMENT-REQUIRED carries: descriptions, schemas and examples belong into the OpenAPI document.",
    quick=sample("operations"),
)
async def fields_of_a_402_fit_stock_proxies(case: Case) -> None:
    """The status line and the header fields of each 402 are together shorter than 4,000 bytes (P-CH-02).

    Calls each operation without a payment, with a body that it must refuse, with a token that was never issued, and for
    each entry of accepts with its token in a proof of another lane. Adds up name, value and four bytes of each field.
    Judges answers of the status 402 only, because other rows judge the status.
    """
    for operation in case.sample(case.session.catalog.operations):
        unpaid = await case.client.call("POST", operation.url, json_body=operation.body)
        answers = {"no payment": unpaid}
        answers["a body without members"] = await case.client.call("POST", operation.url, json_body={})
        for entry in entries(unpaid):
            extra = entry.get("extra")
            token = extra.get("payment_reference") if isinstance(extra, dict) else None
            value = header_value(proof_of_another_family(entry.get("network"), token))
            case.client.names.name(value, "REFUSED_PAYMENT")
            payment = {"X-PAYMENT": value}
            answers[f"a proof of another lane than {entry.get('network')}"] = await case.client.call(
                "POST", operation.url, json_body=operation.body, headers=payment
            )
        challenges = {what: answer for what, answer in answers.items() if answer.status == 402}
        if not challenges:
            case.mark_inconclusive(ROW, f"{operation.path} answers no call with 402, which other rows judge")
        for what, answer in challenges.items():
            size = measure_head(answer)
            where = {"operation": operation.path, "call": what}
            case.expect(ROW, size < LIMIT_BYTES, f"below {LIMIT_BYTES} bytes", size, exchange=answer, where=where)


def measure_head(answer: Answer) -> int:
    """Return the bytes of an answer's status line and header fields, each with its line end."""
    return len(_STATUS_LINE) + sum(
        len(name.encode()) + len(value.encode()) + 4 for name, value in answer.headers.items()
    )
