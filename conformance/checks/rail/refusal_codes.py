"""RAIL-402-25: which fault of a payment is answered with which code, where the target claims the specification (5.7).

Each payment has one fault, so that the first step of 5.7 that fails is known. Faults of the lanes' transactions and
authorizations are in the folders of the lanes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.assertions.rail.specified_refusals import (
    ROW,
    WrongPayment,
    expect_refusal,
    judge_over_rest,
    judge_wrong_payment,
)
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.registry import LANES
from conformance.oracles.challenge_schema import proof_of_another_family
from conformance.oracles.member_rules import find_member_faults, is_an
from conformance.oracles.nearly_equal_values import list_near_texts
from conformance.surfaces.rail.proofs import STOCK_PAYMENT, encode_base64
from conformance.surfaces.rail.purchase import Challenge, challenge, header_value, name_live_values, pay, redeem
from conformance.surfaces.rail.unpaid_answers import entries, find_request_example

_UNKNOWN_MEMBER: Final = {"no_such_member_of_any_service": 1}
_MAC_LENGTH, _HALF_LENGTH = 64, 32


@check(
    ROW,
    surface="rail",
    lane="each",
    fix="Check a payment in the order of 5.7, and answer with the code of the first step that fails: the same code by "
    "REST and over A2A, in the body, in PAYMENT-RESPONSE and in x402.payment.receipts.",
    quick=sample("operations"),
)
async def codes_of_wrong_payments(case: Case) -> None:
    """A payment with one fault is answered with the code of that fault, by REST and over A2A.

    Presents for each operation headers that are no proof, tokens that differ from a live one in either half, proofs of
    another lane or network, a live token with another body or query, on another method, with another media type, and
    with a body that is refused; and the token of a call without a body with another body than the example. Expects
    status, code, Retry-After, PAYMENT-RESPONSE and fresh tokens as 5.7 says, and over A2A the state and names of
    P-RA-08 and P-RA-09. Then buys a call, and presents its proof for another request and its token with another
    payment: expects 409.
    """
    await run_concurrently(
        _judge_operation(case, operation) for operation in case.sample(case.session.catalog.operations)
    )


async def _judge_operation(case: Case, operation: Operation) -> None:
    quote = await challenge(case, operation)
    proof = _make_unsent_proof(case, quote)
    for text, name, code in _list_texts(proof):
        await judge_over_rest(case, WrongPayment(name, quote, text, code, names_lane=False))
    for wrong in _list_wrong_proofs(case, quote, proof):
        await judge_wrong_payment(case, wrong)
    await _judge_transport(case, quote, proof)
    await _judge_example_token(case, operation, quote)
    await _judge_spent(case, operation)


def _make_unsent_proof(case: Case, quote: Challenge) -> dict[str, Any]:
    """Return a well-formed proof with a live token, whose payment does not exist."""
    token, network = quote.reference(case.lane), quote.entry(case.lane).get("network")
    if str(network).startswith("eip155:"):
        return proof_of_another_family("", token)
    no_transaction = {"algorand": "A" * 52, "solana": "1" * 64}[str(network).partition(":")[0]]
    return {"tx_id": no_transaction, "payment_reference": token}


def _list_texts(proof: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield texts of headers that are no proof: text, name, code."""
    text = json.dumps(proof)
    invalid = "invalid_payment_header"
    yield "please", "no base64", invalid
    yield encode_base64(b"please"), "no JSON", invalid
    yield encode_base64(f"[{text}]".encode()), "an array", invalid
    yield encode_base64(f"{text[:-1]},{text[1:]}".encode()), "each member twice", invalid
    for member in proof:
        yield header_value({**proof, member: ""}), f"{member} empty", invalid
        yield header_value({**proof, member: None}), f"{member} null", invalid
        yield header_value({name: value for name, value in proof.items() if name != member}), f"no {member}", invalid
    yield header_value({**proof, "filler": "x" * 8192}), "a header of more than 8,192 characters", invalid
    yield header_value(STOCK_PAYMENT), "an ordinary x402 payload", "payment_not_welded"
    yield header_value({**proof, "scheme": "exact"}), "a proof with the member scheme", "payment_not_welded"


def _list_wrong_proofs(case: Case, quote: Challenge, proof: Mapping[str, Any]) -> Iterator[WrongPayment]:
    """Yield proofs whose fault shows before a chain is asked."""
    member = "challenge_token" if "challenge_token" in proof else "payment_reference"
    token, network = quote.reference(case.lane), quote.entry(case.lane).get("network")
    head, mac = token[:-_MAC_LENGTH], token[-_MAC_LENGTH:]
    for name, near_mac in list_near_texts(mac).items():
        # The halves of a token have different meanings: not of this rail, and of another request (5.4).
        is_of_rail = near_mac[:_HALF_LENGTH] == mac[:_HALF_LENGTH]
        code = "request_mismatch" if is_of_rail else "unknown_challenge"
        yield WrongPayment(f"mac, {name}", quote, {**proof, member: head + near_mac}, code, names_lane=is_of_rail)
    for name, text in _spell_token(token).items():
        yield WrongPayment(name, quote, {**proof, member: text}, "unknown_challenge", names_lane=False)
    foreign_proof = proof_of_another_family(network, token)
    yield WrongPayment("a proof in the form of another lane", quote, foreign_proof, "lane_mismatch")
    for entry in entries(quote.answer):
        if entry.get("network") != network:
            named_proof = {**proof, "network": entry.get("network")}
            yield WrongPayment(f"the network {entry.get('network')}", quote, named_proof, "lane_mismatch")
    if "tx_id" in proof:
        spelled_proof = {**proof, "tx_id": str(proof["tx_id"])[:-1]}
        yield WrongPayment("an id that is one character short", quote, spelled_proof, "invalid_payment_header")
    for body in () if quote.operation.is_guess else quote.operation.other_bodies[:1]:
        yield WrongPayment("another body", quote, proof, "request_mismatch", body=body)
    yield WrongPayment("another query", quote, proof, "request_mismatch", query="a=1")


def _change_digit(text: str, place: int) -> str:
    return text[:place] + ("1" if text[place] == "0" else "0") + text[place + 1 :]


def _spell_token(token: str) -> Mapping[str, str]:
    unix, nonce, mac = token.split(":")
    return {
        "the token in upper case": token.upper(),
        "a space after the token": token + " ",
        "a zero before the token": "0" + token,
        "the token cut by one": token[:-1],
        "a digit after the token": token + "0",
        "a second later in the token": f"{int(unix) + 1}:{nonce}:{mac}",
        "another nonce in the token": f"{unix}:{_change_digit(nonce, len(nonce) - 1)}:{mac}",
    }


async def _judge_transport(case: Case, quote: Challenge, proof: Mapping[str, Any]) -> None:
    """Judge proofs whose fault is in the request: method, media type, body, header."""
    operation, header = quote.operation, {"X-PAYMENT": header_value(proof)}
    for method in ("GET", "PUT"):
        answer = await case.client.call(method, operation.url, headers=header)
        example = find_request_example(quote.answer)
        expect_refusal(case, WrongPayment(f"a proof on {method}", quote, proof, "method_not_payable"), answer, example)
    body = json.dumps(quote.body).encode()
    answer = await case.client.call("POST", operation.url, body=body, headers={**header, "content-type": "text/plain"})
    expect_refusal(case, WrongPayment("text/plain", quote, proof, "unsupported_media_type"), answer, quote.body)
    answer = await case.client.call("POST", operation.url, json_body=_UNKNOWN_MEMBER, headers=header)
    faults = [] if answer.status == 422 else [f"status {answer.status}"]
    detail = answer.read_object().get("detail")
    for item in detail if isinstance(detail, list) and detail else [None]:
        faults += find_member_faults(item, {"loc": is_an(list), "msg": is_an(str), "type": is_an(str)}, "detail[]")
    where = {"operation": operation.path, "payment": "a body that is refused"}
    case.expect(ROW, not faults, "422 with detail", "; ".join(faults) or "so", exchange=answer, where=where)
    stock_header = {"PAYMENT-SIGNATURE": header_value(STOCK_PAYMENT)}
    answer = await case.client.call("POST", operation.url, json_body=quote.body, headers=stock_header)
    wrong = WrongPayment("PAYMENT-SIGNATURE", quote, "", "payment_not_welded", names_lane=False)
    expect_refusal(case, wrong, answer, quote.body)


async def _judge_example_token(case: Case, operation: Operation, quote: Challenge) -> None:
    """Judge that the token of a call without a body is for the example, and for no other body (P-CH-11)."""
    answer = await case.client.call("GET", operation.url)
    example_quote = Challenge(operation, find_request_example(quote.answer), answer, tuple(entries(answer)))
    proof = _make_unsent_proof(case, example_quote)
    for body in [] if operation.is_guess else [operation.body, *operation.other_bodies]:
        if body != example_quote.body:
            name = "a token of the example, another body"
            await judge_over_rest(case, WrongPayment(name, example_quote, proof, "request_mismatch", body=body))
    if "tx_id" in proof:
        wrong = WrongPayment("a token of the example, an unsent payment", example_quote, proof, "tx_not_found")
        await judge_over_rest(case, wrong)


async def _judge_spent(case: Case, operation: Operation) -> None:
    """Buy a call, and judge the answers to its proof for another request, and to its token with another payment."""
    quote = await challenge(case, operation)
    proof = await pay(case, quote, case.lane)
    served = await redeem(case, operation, proof, body=quote.body)
    if served.status != 200:
        case.mark_inconclusive(ROW, f"an honest payment was answered {served.status}, which other rows judge")
        return
    for body in () if operation.is_guess else operation.other_bodies[:1]:
        wrong = WrongPayment("a spent payment, another body", quote, proof, "payment_already_spent", body=body)
        await judge_wrong_payment(case, wrong)
    wrong = WrongPayment("a spent payment, another query", quote, proof, "payment_already_spent", query="a=1")
    await judge_wrong_payment(case, wrong)
    if LANES[case.lane].spellings is None:
        return
    fresh_quote = await challenge(case, operation)
    mixed_proof = {**proof, "payment_reference": fresh_quote.reference(case.lane)}
    name_live_values(case, mixed_proof)
    wrong = WrongPayment("a spent transaction, a fresh token", fresh_quote, mixed_proof, "payment_already_spent")
    await judge_wrong_payment(case, wrong)
