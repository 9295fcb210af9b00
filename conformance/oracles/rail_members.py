"""The members of a rail's challenges and settlement responses, as the specification gives them (5.3, 5.7, 5.9).

Each member is computed from what the client knows: its request, its payment, and the lane that it chose.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import base58

from conformance.oracles.challenge_tokens import core, eip3009_nonce, solana_reference
from conformance.oracles.json_schema import Schema
from conformance.oracles.member_rules import (
    Rule,
    Rules,
    between,
    equals,
    find_member_faults,
    is_an,
    matches,
    one_of,
)

TOKEN_FORM: Final = r"[1-9][0-9]{9,10}:[0-9a-f]{16}:[0-9a-f]{64}"  # noqa: S105 - a pattern, not a password
# A random UUID: version 4, and the variant of RFC 9562 in the first digit of the fourth group.
UUID_RULE: Final = matches("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
AMOUNT_FORM: Final = r"0|[1-9][0-9]*"
_BINDINGS: Final = {
    "algorand": "note-binding",
    "eip155": "eip3009-authorization",
    "solana": "solana-reference",
}
_USDC_DECIMALS: Final = 6
# A 422 has more than the 402 quotes of it (P-CH-11).
_MOST_DETAILS: Final = 3
_DETAIL_RULES: Final[Rules] = {
    "loc": Rule("an array", lambda value: isinstance(value, list)),
    "msg": is_an(str),
    "type": is_an(str),
}


@dataclass(frozen=True, slots=True)
class QuotedRequest:
    """A request, and what the client knows of the challenge for it.

    Attributes:
        url: Absolute address of the operation.
        service_id: The service, None if it is unknown.
        request_hashes: Hash references that the challenge may bind: of the request, or of the example.
        scheme: The scheme word.
        lifetime: The lifetime of a challenge in seconds, None if it is unknown.
        service_word: The word in labels of the deployment, None if it is unknown.
    """

    url: str
    service_id: str | None
    request_hashes: Collection[str]
    scheme: str
    lifetime: int | None
    service_word: str | None


def find_challenge_faults(
    body: Any, request: QuotedRequest, *, error: str, is_refusal: bool, has_detail: bool
) -> list[str]:
    """Return the members of a 402's body that are not as P-CH-01 to P-CH-08 say, in words.

    Args:
        body: The body.
        request: The request that it quotes.
        error: The code that it must have.
        is_refusal: Whether the request presented a proof.
        has_detail: Whether the request had a body that the service refuses.
    """
    resource_rules: Rules = {
        "url": equals(request.url),
        "description": is_an(str),
        "mimeType": equals("application/json"),
    }
    rules: dict[str, Rule] = {
        "x402Version": equals(2),
        "error": equals(error),
        "resource": is_an(dict),
        "accepts": is_an(list),
    }
    if not is_refusal:
        rules["extensions"] = is_an(dict)
    if has_detail:
        rules["error_detail"] = Rule(
            "an array of one to three items", lambda value: isinstance(value, list) and 0 < len(value) <= _MOST_DETAILS
        )
    faults = find_member_faults(body, rules, "the 402")
    if not isinstance(body, Mapping):
        return faults
    faults += find_member_faults(body.get("resource"), resource_rules, "resource")
    entries = body.get("accepts")
    for entry in entries if isinstance(entries, list) else []:
        faults += _find_entry_faults(entry, request)
    details = body.get("error_detail")
    for detail in details if has_detail and isinstance(details, list) else []:
        faults += find_member_faults(detail, _DETAIL_RULES, "error_detail[]")
    return faults if is_refusal else faults + _find_bazaar_faults(body.get("extensions"))


def _find_entry_faults(entry: Any, request: QuotedRequest) -> list[str]:
    # The two names of the amount must have one value. Which amount is right is the catalogue's to say, not this rule's.
    amount = entry.get("maxAmountRequired") if isinstance(entry, Mapping) else None
    lifetime = between(1, 86_400) if request.lifetime is None else equals(request.lifetime)
    rules: Rules = {
        "scheme": equals(request.scheme),
        "network": matches("[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}"),
        "amount": equals(amount),
        "maxAmountRequired": matches(AMOUNT_FORM),
        "asset": is_an(str),
        "payTo": is_an(str),
        "maxTimeoutSeconds": lifetime,
        "extra": is_an(dict),
    }
    faults = find_member_faults(entry, rules, "accepts[]")
    if isinstance(entry, Mapping):
        faults += _find_extra_faults(entry.get("extra"), str(entry.get("network")).partition(":")[0], request)
    return faults


def _find_extra_faults(extra: Any, namespace: str, request: QuotedRequest) -> list[str]:
    token = str(extra.get("payment_reference")) if isinstance(extra, Mapping) else ""
    rules: dict[str, Rule] = {
        "payment_reference": matches(TOKEN_FORM),
        "request_hash": one_of(request.request_hashes),
        "service_id": is_an(str) if request.service_id is None else equals(request.service_id),
        "binding": equals(_BINDINGS.get(namespace)),
        "name": is_an(str) if namespace == "eip155" else equals("USDC"),
        "decimals": equals(_USDC_DECIMALS),
    }
    if namespace == "eip155":
        rules |= {"version": is_an(str), "authorization_nonce": equals(eip3009_nonce(token))}
    if namespace == "solana":
        word = request.service_word
        rules |= {
            "svm_reference_pubkey": is_an(str) if word is None else equals(solana_reference(token, word)),
            "feePayer": is_an(str) if word is None else equals(derive_fee_payer(word)),
        }
    return find_member_faults(extra, rules, f"accepts[{namespace}].extra")


def derive_fee_payer(service_word: str) -> str:
    """Return the address without a known key that entries on Solana name (P-CH-07), base58."""
    digest = hashlib.sha256(f"{core(service_word)}:solana-no-fee-payer".encode()).digest()
    return str(base58.b58encode(digest).decode("ascii"))


def _find_bazaar_faults(extensions: Any) -> list[str]:
    faults = find_member_faults(extensions, {"bazaar": is_an(dict)}, "extensions")
    bazaar = extensions.get("bazaar") if isinstance(extensions, Mapping) else None
    if not isinstance(bazaar, Mapping):
        return faults
    info = bazaar.get("info")
    faults += find_member_faults(bazaar, {"info": is_an(dict), "schema": is_an(dict)}, "bazaar")
    faults += find_member_faults(info, {"input": is_an(dict), "output": is_an(dict)}, "bazaar.info")
    if not isinstance(info, Mapping):
        return faults
    input_rules: Rules = {
        "type": equals("http"),
        "method": equals("POST"),
        "bodyType": equals("json"),
        "body": is_an(dict),
    }
    faults += find_member_faults(info.get("input"), input_rules, "bazaar.info.input")
    output_rules: Rules = {"type": equals("json"), "example": is_an(dict)}
    faults += find_member_faults(info.get("output"), output_rules, "bazaar.info.output")
    try:
        schema = Schema(bazaar["schema"]) if isinstance(bazaar.get("schema"), Mapping) else None
        fault = None if schema is None else next(schema.faults(info), None)
    except ValueError as error:
        return [*faults, f"bazaar.schema: {error}"]
    return faults if fault is None else [*faults, f"bazaar.info does not fit bazaar.schema: {fault[1]}"]


def find_required_header_faults(value: str | None, body: Any) -> list[str]:
    """Return what is wrong with PAYMENT-REQUIRED, which holds a 402's body without `error_detail` (P-CH-02)."""
    if value is None:
        return ["no PAYMENT-REQUIRED"]
    decoded = _decode_object(value)
    if decoded is None:
        return ["PAYMENT-REQUIRED is not base64 of a JSON object"]
    # The header holds what a client needs to pay. A list of faults of the request would make it longer than proxies
    # allow.
    members = {name: member for name, member in body.items() if name != "error_detail"}
    return [] if decoded == members else ["PAYMENT-REQUIRED differs from the body"]


def find_failure_faults(value: str | None, code: str, networks: Collection[str], tx_ids: Collection[str]) -> list[str]:
    """Return what is wrong with the PAYMENT-RESPONSE of a refusal (P-ER-01); `tx_ids` are those of the proof."""
    if value is None:
        return ["no PAYMENT-RESPONSE"]
    rules: Rules = {
        "success": equals(False),
        "errorReason": equals(code),
        "transaction": one_of({"", *tx_ids}),
        "network": one_of(networks),
    }
    return find_member_faults(_decode_object(value), rules, "PAYMENT-RESPONSE")


def find_settlement_faults(value: str | None, expected: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the PAYMENT-RESPONSE of a served call (5.9).

    Args:
        value: The header's value, None without one.
        expected: `network`, `payer` and `amount`; `transaction` if it is known.
    """
    if value is None:
        return ["no PAYMENT-RESPONSE"]
    rules: dict[str, Rule] = {"success": equals(True), "transaction": is_an(str)}
    rules |= {name: equals(member) for name, member in expected.items()}
    if str(expected.get("network")).startswith("eip155:"):
        # The case of the letters in an EVM address is only a checksum (P-NW-04).
        address = str(expected.get("payer")).lower()
        rules["payer"] = Rule(address, lambda member: isinstance(member, str) and member.lower() == address)
    return find_member_faults(_decode_object(value), rules, "PAYMENT-RESPONSE")


def receipt_rules(expected: Mapping[str, Any], did: str, service_word: str | None) -> Rules:
    """Return the rules of a payable receipt's claims (2.3).

    Args:
        expected: The members that the client computes.
        did: The rail's DID.
        service_word: The word in the kind, None if it is unknown.
    """
    kind = matches(r"[a-z0-9]+/payable-svc-receipt/1")
    return {
        "kind": kind if service_word is None else equals(f"{service_word.lower()}/payable-svc-receipt/1"),
        "canon_version": equals("jcs-rfc8785-v1"),
        "iss": equals(did),
        "provider_did": equals(did),
        "iat": is_an(int),
        "issued_at_ms": is_an(int),
        **{name: equals(value) for name, value in expected.items()},
    }


def attestation_rules(expected: Mapping[str, Any], did: str) -> Rules:
    """Return the rules of a settlement attestation's claims (2.3); `expected` has those that the client computes."""
    return {
        "canon_version": equals("jcs-rfc8785-v1"),
        "jurisdiction_flags": Rule(
            "an array of texts",
            lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
        ),
        "settlement_provider_did": equals(did),
        "settlement_result": equals("SETTLED"),
        "settlement_timestamp_ms": is_an(int),
        **{name: equals(value) for name, value in expected.items()},
    }


def _decode_object(value: str) -> dict[str, Any] | None:
    try:
        decoded = json.loads(base64.b64decode(value, validate=True))
    # Deeply nested JSON of a target is refused like any other malformed value, and does not end the run.
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None
