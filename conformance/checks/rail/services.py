"""RAIL-SVC: the services that are sold."""

from __future__ import annotations

from typing import Any

from conformance.check import Case, Inconclusive, check
from conformance.checks.rail.discovery import CATALOG, INDEX, OPENAPI, RESOURCES
from conformance.checks.rail.keys import DID, JWKS
from conformance.checks.rail.receipts import bought
from conformance.oracles import jose
from conformance.oracles.x402 import atomic_amount
from conformance.purchase import challenge

VERDICTS = frozenset({"ALLOW", "REFER", "DENY"})


@check(
    "RAIL-SVC-01",
    "RAIL-SVC-05",
    surface="rail",
    fix="Offer receipt verification as a paid operation; its price is 0.01 USDC unless the profile says another.",
)
async def receipt_verification_is_sold(case: Case) -> None:
    """A paid receipt-verification service is offered, at 0.01 USDC unless the operator declares another price.

    Asks the service's operation for its price. Expects 402, and the declared price on every lane.
    """
    operation = case.session.service("receipt-verify")
    quote = await challenge(case, operation)
    case.expect("RAIL-SVC-01", quote.answer.status == 402, "402", quote.answer.status, exchange=quote.answer)
    declared = atomic_amount(case.profile.rail_bindings.price_receipt_verify)
    prices = [atomic_amount(entry.get("maxAmountRequired")) for entry in quote.accepts]
    same = bool(prices) and set(prices) == {declared}
    case.expect("RAIL-SVC-05", same, f"{declared} atomic units on every lane", prices, exchange=quote.answer)


@check(
    "RAIL-SVC-02",
    surface="rail",
    lane="each",
    fix="Offer RFC 9421 verification as a paid operation whose answer holds a result and the payable receipt.",
)
async def message_verification_is_sold(case: Case) -> None:
    """A paid RFC 9421 verification service is offered, and its result comes with a receipt.

    Buys one verification. Expects a result beside the receipt.
    """
    served, _ = await bought(case, case.session.service("rfc9421-verify"))
    result = result_of(case, served.answer.object())
    case.expect("RAIL-SVC-02", isinstance(result, dict) and bool(result), "a result", result, exchange=served.answer)


@check(
    "RAIL-SVC-03",
    "RAIL-SVC-04",
    surface="rail",
    lane="each",
    fix="Answer a paid screening with a compliance receipt whose verdict is ALLOW, REFER or DENY, in these letters.",
)
async def screening_is_sold(case: Case) -> None:
    """A paid compliance service is offered whose receipt carries a verdict: ALLOW, REFER or DENY and nothing else.

    Buys a screening of every request body that is known. Expects a verdict of the set in each answer's result, and in
    its compliance receipt where the answer holds one.
    """
    operation = case.session.service("compliance-receipt")
    for body in (operation.body, *(() if operation.guessed else operation.other_bodies)):
        served, payable = await bought(case, operation, body=body)
        answer = served.answer.object()
        result = result_of(case, answer)
        told = verdicts_in(result, answer, payable)
        case.expect("RAIL-SVC-03", bool(told), "a verdict", told, exchange=served.answer)
        inside = bool(told) and set(told) <= VERDICTS
        case.expect("RAIL-SVC-04", inside, "ALLOW, REFER or DENY", told, exchange=served.answer)


def result_of(case: Case, answer: dict[str, Any]) -> Any:
    """Return the service's result in a paid answer: at the bound place, else at `result`."""
    place = (case.profile.rail_bindings.result_at or "body:result").removeprefix("body:")
    return answer.get(place)


def verdicts_in(result: Any, answer: dict[str, Any], payable: str) -> list[Any]:
    """Return what the result and the compliance receipts of an answer call the verdict."""
    found = [result["verdict"]] if isinstance(result, dict) and "verdict" in result else []
    for _, token in jose.tokens_in(answer, {}):
        if token == payable:
            continue
        try:
            claims = jose.parse(token).claims()
        except jose.JwsFault:
            continue
        found += [claims[name] for name in ("screen_result", "verdict") if name in claims]
    return found


@check(
    "RAIL-SVC-06",
    surface="rail",
    fix="Ask nobody on the rail to register or sign in: payment is the only credential.",
)
async def nobody_signs_in(case: Case) -> None:
    """No endpoint of the rail requires registration, login or a tenant record.

    Calls every published document and paid operation without any credential. Expects neither 401 nor 403, nor a
    redirect, and no security requirement in the OpenAPI document.
    """
    for path in (CATALOG, RESOURCES, INDEX, OPENAPI, DID, JWKS):
        answer = await case.client.call("GET", case.session.rail + path)
        _judge_open(case, path, answer)
    for operation in case.session.operations:
        answer = await case.client.call("POST", operation.url, json_body=operation.body)
        _judge_open(case, operation.path, answer)
    document = (await case.client.call("GET", case.session.rail + OPENAPI)).object()
    if not document:
        raise Inconclusive("there is no OpenAPI document to read security requirements from")
    declared = document.get("security") or []
    case.expect("RAIL-SVC-06", not any(declared), "no security requirement", declared)


def _judge_open(case: Case, path: str, answer: Any) -> None:
    asked = answer.status in {401, 403} or 300 <= answer.status < 400 or "WWW-Authenticate" in answer.headers
    case.expect("RAIL-SVC-06", not asked, "no sign-in", answer.status, exchange=answer, where={"operation": path})
