"""What receipts bind, recomputed: the request, the answer, the payment, the challenge token and the payer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import base58

from conformance.oracles import receipt_bindings
from tools.vectors_builder.drafting import Draft, seed
from tools.vectors_builder.receipts.material import (
    ATTESTATION,
    COMPLIANCE,
    FAMILY,
    KINDS,
    OFFLINE,
    PAID_COMPLIANCE,
    PAYABLE,
    PAYER,
    REFERENCE,
    REQUEST,
    RESPONSE,
    SETTLEMENT,
    draft_refusal,
    receipt,
    valid,
    without,
)

_REQUEST: Final = ("P-RH-01",)
_RESPONSE: Final = ("P-RH-02",)
_SETTLED_PIN: Final = ("P-RH-03",)
_MEMBERS: Final = ("profile 2.3",)
_ALGORAND_TX: Final = "TX7RZT2ZQHBG4PSXKX5WFV4ZUJCJYDQ3V2D6QK2U3GQLN4HKOYEA"
_ALGORAND_PAYER: Final = "7777777777777777777777777777777777777777777777777774MSJUVU"
_SOLANA_TX: Final = base58.b58encode(seed(FAMILY, "transaction") * 2).decode()
_SOLANA_PAYER: Final = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
_UNICODE: Final[Mapping[str, Any]] = {
    **REQUEST,
    "query": "limit=10&name=Z%C3%BCrich&limit=20",
    "body": {"name": "Zürich", "€": 1e21, "list": [1.5, None, {}], "\U0001f600": "\ufb33"},
}


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _right_requests()
    yield from _right_payments()
    yield from _right_payers()
    yield from _requests()
    yield from _responses()
    yield from _settlements()
    yield from _tokens_and_payers()


def _right(
    property_name: str, variant: str, claims: Mapping[str, Any], why: str, row: str, **draft_members: Any
) -> Draft:
    kind = next(name for name, members in KINDS.items() if members.keys() <= claims.keys())
    token = receipt(claims)
    return valid(
        f"bound_{property_name}", variant, token, why, row, kind=kind, claims=claims, doors=OFFLINE, **draft_members
    )


def _wrong(
    name: str, variant: str, claims: Mapping[str, Any], fault: str, why: str, row: str, **draft_members: Any
) -> Draft:
    code = f"{_CODES[name.partition('_')[0]]}_differs"
    token = receipt(claims)
    return draft_refusal(
        f"bindings/{name}", variant, token, fault, why, row, codes=(code,), doors=OFFLINE, **draft_members
    )


_CODES: Final = {
    "request": "request_hash",
    "response": "response_hash",
    "settlement": "settled_payment_ref",
    "reference": "payment_reference_hash",
    "payer": "payer_ref",
}


def _of_request(request: Mapping[str, Any]) -> dict[str, Any]:
    service = request["service_id"]
    return {**PAYABLE, "service_id": service, "request_hash": receipt_bindings.request_hash(request, service)}


def _right_requests() -> Iterator[Draft]:
    why = "what was paid for can be proved from request and receipt alone"
    row = "RAIL-RCPT-04"
    yield _right("request", "plain", PAYABLE, why, row, pins=_REQUEST, request=REQUEST)
    why = "the query is bound as it was sent, the body as JSON in canonical form"
    yield _right("request", "query_and_unicode", _of_request(_UNICODE), why, row, pins=_REQUEST, request=_UNICODE)
    empty = {**REQUEST, "path": "/pay/v1/compliance/receipt", "service_id": "compliance-receipt", "body": {}}
    yield _right("request", "empty_body", _of_request(empty), why, row, pins=_REQUEST, request=empty)
    row, why = "RAIL-RCPT-05", "what was answered can be proved from answer and receipt alone"
    yield _right("response", "plain", PAYABLE, why, row, pins=_RESPONSE, response=RESPONSE)
    for name, result in (
        ("null", None),
        ("numbers_and_text", {"rate": 1e-7, "n": 1e21, "ö": ["\U0001f600", "\ufb33"]}),
    ):
        response = {"result": result}
        claims = {**PAYABLE, "response_hash": receipt_bindings.response_hash(response)}
        yield _right("response", name, claims, why, row, pins=_RESPONSE, response=response)
    why = "one receipt binds all of them together"
    all_bindings = {"request": REQUEST, "response": RESPONSE, "settlement": SETTLEMENT, "payment_reference": REFERENCE}
    every_pin = (*_REQUEST, *_RESPONSE, *_SETTLED_PIN, *_MEMBERS)
    yield _right("all", "payable", PAYABLE, why, "RAIL-RCPT-06", pins=every_pin, **all_bindings)
    both = {"settlement": SETTLEMENT, "payer": PAYER, "pins": (*_SETTLED_PIN, *_MEMBERS)}
    yield _right("all", "compliance", PAID_COMPLIANCE, why, "GW-SCR-04", **both)


def _settlement(tx_id: str, network: str, word: str = "weldproof") -> dict[str, Any]:
    return {"tx_id": tx_id, "network": network, "service": word}


def _ref(settlement: Mapping[str, Any]) -> dict[str, Any]:
    reference = receipt_bindings.settled_payment_ref(settlement["tx_id"], settlement["network"], settlement["service"])
    return {**PAYABLE, "kind": f"{settlement['service']}/payable-svc-receipt/1", "settled_payment_ref": reference}


def _right_payments() -> Iterator[Draft]:
    row, why = "RAIL-RCPT-06", "the settled payment can be looked up and compared"
    for name, settlement in (
        ("base", SETTLEMENT),
        ("algorand", _settlement(_ALGORAND_TX, "algorand_mainnet")),
        ("solana", _settlement(_SOLANA_TX, "solana_mainnet")),
    ):
        yield _right("settlement", name, _ref(settlement), why, row, pins=_SETTLED_PIN, settlement=settlement)
    why = "an EVM transaction id is bound in lower case, however it is spelled (P-NW-04)"
    lower, upper = (_settlement("0x" + digits * 32, "base_mainnet") for digits in ("ab", "AB"))
    pins = (*_SETTLED_PIN, "P-NW-04")
    yield _right("settlement_spelling", "evm", _ref(lower), why, row, pins=pins, settlement=upper)
    why = "the service word is part of what is hashed"
    of_acme = _settlement("0x" + "1" * 64, "base_mainnet", "acme")
    yield _right("settlement_service", "acme", _ref(of_acme), why, row, pins=_SETTLED_PIN, settlement=of_acme)
    why = "an attestation binds the same payment by the same member"
    yield _right("settlement_of_kind", "attestation", ATTESTATION, why, row, pins=_SETTLED_PIN, settlement=SETTLEMENT)
    why = "a compliance receipt of the rail binds the payment by payment_hash"
    yield _right(
        "settlement_of_kind", "compliance", PAID_COMPLIANCE, why, row, pins=_SETTLED_PIN, settlement=SETTLEMENT
    )


def _right_payers() -> Iterator[Draft]:
    why = "the challenge token is bound by its hash, and never told"
    yield _right(*("reference", "plain", PAYABLE, why, "RAIL-RCPT-06"), pins=_MEMBERS, payment_reference=REFERENCE)
    row, why = "GW-SCR-04", "who was screened can be proved by whoever knows the address"
    mixed_case = {**PAYER, "address": "0x000000000000000000000000000000000000B10C"}
    yield _right("payer", "evm", COMPLIANCE, why, row, pins=_MEMBERS, payer=PAYER)
    why = "an EVM address is bound in lower case, however it is spelled"
    yield _right("payer_spelling", "evm", COMPLIANCE, why, row, pins=_MEMBERS, payer=mixed_case)
    why = "other addresses are bound as they are"
    for name, address, network in (
        ("algorand", _ALGORAND_PAYER, "algorand_mainnet"),
        ("solana", _SOLANA_PAYER, "solana_mainnet"),
    ):
        payer = {"address": address, "network": network}
        claims = {**COMPLIANCE, "payer_ref": receipt_bindings.payer_ref(address, network)}
        yield _right("payer", name, claims, why, row, pins=_MEMBERS, payer=payer)


def _requests() -> Iterator[Draft]:
    row, why = "RAIL-RCPT-04", "a receipt of one request is no receipt of another"
    pins = _REQUEST
    for group, changes in (
        ("request", {"path": "/pay/v1/verify/rfc9421", "query": "a=1", "method": "GET"}),
        ("request_service", {"service_id": "rfc9421-verify"}),
        ("request_path", {"path": "/pay/v1/verify/receipt/"}),
    ):
        for member, value in changes.items():
            fault = f"{member} is another than that of the request which was paid"
            request = {**REQUEST, member: value}
            yield _wrong(group, member, PAYABLE, fault, why, row, pins=pins, request=request)
    for name, body in (("member_more", {"jws": "a.b.c", "jwks": None}), ("value", {"jws": "a.b.d"}), ("empty", {})):
        fault = "the body is another than that of the request which was paid"
        request = {**REQUEST, "body": body}
        yield _wrong("request_body", name, PAYABLE, fault, why, row, pins=pins, request=request)
    why = "the query is bound as it was sent"
    for name, query in (("order", "name=Z%C3%BCrich&limit=10&limit=20"), ("decoded", "limit=10&name=Zürich&limit=20")):
        request = {**_UNICODE, "query": query}
        fault = "the query is another spelling of the one that was sent"
        yield _wrong("request_query", name, _of_request(_UNICODE), fault, why, row, pins=pins, request=request)
    why = "a receipt that binds nothing of a request proves nothing of it"
    fault = "the receipt has no request_hash"
    yield _wrong("request_not_bound", "compliance", COMPLIANCE, fault, why, row, pins=pins, request=REQUEST)
    yield _wrong("request_not_bound", "attestation", ATTESTATION, fault, why, row, pins=pins, request=REQUEST)


def _responses() -> Iterator[Draft]:
    row, why = "RAIL-RCPT-05", "a receipt of one answer is no receipt of another"
    for name, result in (
        ("value", {"verified": False, "error_code": None}),
        ("member_less", {"verified": True}),
        ("null", None),
    ):
        fault = "the answer is another than the one that was given"
        response = {"result": result}
        yield _wrong("response", name, PAYABLE, fault, why, row, pins=_RESPONSE, response=response)
    whole = {"service_id": "receipt-verify", "result": RESPONSE["result"]}
    fault = "what is given is the whole body, of which only the result is bound"
    yield _wrong("response_body", "whole", PAYABLE, fault, why, row, pins=_RESPONSE, response={"result": whole})
    fault = "the receipt has no response_hash"
    yield _wrong("response_not_bound", "compliance", COMPLIANCE, fault, why, row, pins=_RESPONSE, response=RESPONSE)


def _settlements() -> Iterator[Draft]:
    row, why = "RAIL-RCPT-06", "a receipt of one payment is no receipt of another"
    pins: tuple[str, ...] = _SETTLED_PIN
    tx = str(SETTLEMENT["tx_id"])
    for name, settlement in (
        ("transaction", {**SETTLEMENT, "tx_id": tx[:-1] + "2"}),
        ("network", {**SETTLEMENT, "network": "base_sepolia"}),
        ("service", {**SETTLEMENT, "service": "acme"}),
    ):
        fault = f"the {name} is another than that of the payment"
        yield _wrong("settlement", name, PAYABLE, fault, why, row, pins=pins, settlement=settlement)
    for kind, claims in (("compliance", PAID_COMPLIANCE), ("attestation", ATTESTATION)):
        settlement = {**SETTLEMENT, "tx_id": tx[:-1] + "2"}
        fault = "the transaction is another than that of the payment"
        yield _wrong("settlement_of_kind", kind, claims, fault, why, row, pins=pins, settlement=settlement)
    fault = "the receipt names no payment"
    yield _wrong("settlement_not_bound", "compliance", COMPLIANCE, fault, why, row, pins=pins, settlement=SETTLEMENT)
    why = "an id in another spelling is no id (P-NW-04)"
    spare = _ALGORAND_TX[:-1] + "B"
    other_settlement = _settlement(spare, "algorand_mainnet")
    right = _ref(_settlement(_ALGORAND_TX, "algorand_mainnet"))
    fault = "the Algorand id has spare bits that are not zero"
    pins = (*_SETTLED_PIN, "P-NW-04")
    yield _wrong("settlement_spelling", "algorand", right, fault, why, row, pins=pins, settlement=other_settlement)


def _tokens_and_payers() -> Iterator[Draft]:
    row, why = "RAIL-RCPT-06", "a receipt of one challenge is no receipt of another"
    for name, token in (
        ("mac", REFERENCE[:-1] + "6"),
        ("space_after", f"{REFERENCE} "),
        ("upper_case", REFERENCE.upper()),
    ):
        fault = "the challenge token is another text"
        yield _wrong("reference", name, PAYABLE, fault, why, row, pins=_MEMBERS, payment_reference=token)
    bare = without(PAYABLE, "payment_reference_hash")
    fault = "the receipt has no payment_reference_hash"
    yield _wrong("reference_not_bound", "payable", bare, fault, why, row, pins=_MEMBERS, payment_reference=REFERENCE)
    row, why = "GW-SCR-04", "a receipt of one payer is no receipt of another"
    for name, payer in (
        ("address", {**PAYER, "address": "0x000000000000000000000000000000000000b10d"}),
        ("network", {**PAYER, "network": "base_sepolia"}),
    ):
        fault = f"the {name} is another than that of the payer"
        yield _wrong("payer", name, COMPLIANCE, fault, why, row, pins=_MEMBERS, payer=payer)
    lower = {"address": _ALGORAND_PAYER.lower(), "network": "algorand_mainnet"}
    claims = {**COMPLIANCE, "payer_ref": receipt_bindings.payer_ref(_ALGORAND_PAYER, "algorand_mainnet")}
    fault = "the Algorand address is in lower case, which is no address"
    yield _wrong("payer_spelling", "algorand", claims, fault, why, row, pins=_MEMBERS, payer=lower)
    fault = "the receipt has no payer_ref"
    yield _wrong("payer_not_bound", "payable", PAYABLE, fault, why, row, pins=_MEMBERS, payer=PAYER)
