"""True tokens offered with another request than they were issued for, or with another construction of half B."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.oracles import challenge_tokens as tokens
from tools.vectors_builder.challenges.drafting import ALGORAND, ALL_MEMBERS, REQUEST, SOLANA, Offer
from tools.vectors_builder.drafting import Draft

_BODY: Final[Mapping[str, Any]] = {"jws": "a.b.c", "items": [1, 2], "note": "caf\u00e9"}
_RECIPE: Final = ("profile 5.4", "profile 2.5 P-RH-01")


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _other_requests()
    yield from _other_services()
    yield from _other_hashes()
    yield from _constructions()


def _draft_refusal(
    fault_name: str, variant: str, vector_input: Mapping[str, Any], fault: str, why: str, row: str, **values: Any
) -> Draft:
    return Draft(
        stage="request",
        fault_name=fault_name,
        variant=variant,
        input=vector_input,
        why=why,
        requirements=(row,),
        fault=fault,
        codes=("request_mismatch",),
        values=values,
        pinned_members=ALL_MEMBERS,
        pins=_RECIPE,
    )


def _other_requests() -> Iterator[Draft]:
    why = "a captured payment must not buy another operation"
    cases: tuple[tuple[str, str, dict[str, Any], str, str], ...] = (
        ("method", "put", {"method": "PUT"}, "the request is a PUT", "RAIL-WELD-10"),
        ("method", "lower-case", {"method": "post"}, "the method is in lower case", "RAIL-WELD-10"),
        ("path", "other", {"path": "/pay/v1/verify/audit"}, "the path is another service's", "RAIL-WELD-08"),
        ("path", "slash", {"path": REQUEST["path"] + "/"}, "the path ends in a slash", "RAIL-WELD-08"),
        ("path", "encoded", {"path": "/pay/v1/verify/%72eceipt"}, "a letter of the path is encoded", "RAIL-WELD-08"),
        ("query", "added", {"query": "x=1&a=1&b=2"}, "the query has a member more", "RAIL-WELD-10"),
        ("query", "reordered", {"query": "b=2&a=1"}, "the query's members are in another order", "RAIL-WELD-10"),
        ("query", "removed", {"query": ""}, "the query is gone", "RAIL-WELD-10"),
        ("body", "other-value", {"body": {**_BODY, "jws": "a.b.d"}}, "a text in the body is another", "RAIL-WELD-09"),
        ("body", "member-more", {"body": {**_BODY, "x": None}}, "the body has a member more, null", "RAIL-WELD-09"),
        ("body", "order", {"body": {**_BODY, "items": [2, 1]}}, "a list is in another order", "RAIL-WELD-09"),
        ("body-type", "text", {"body": {**_BODY, "items": ["1", 2]}}, "a number has become a text", "RAIL-WELD-09"),
        ("body-type", "boolean", {"body": {**_BODY, "items": [True, 2]}}, "1 has become true", "RAIL-WELD-09"),
        ("body-type", "wrapped", {"body": [_BODY]}, "the body is wrapped in a list", "RAIL-WELD-09"),
        ("body-text", "decomposed", {"body": {**_BODY, "note": "cafe\u0301"}}, "an accent is decomposed",
         "RAIL-WELD-09"),
        ("body-text", "case", {"body": {**_BODY, "note": "Caf\u00e9"}}, "a letter is a capital", "RAIL-WELD-09"),
        ("body-text", "space", {"body": {**_BODY, "note": "caf\u00e9 "}}, "a text ends in a space", "RAIL-WELD-09"),
    )  # fmt: skip
    base = {**REQUEST, "body": _BODY, "query": "a=1&b=2"}
    for number, (fault_name, variant, change, fault, row) in enumerate(cases):
        lane = (ALGORAND, SOLANA)[number % 2]
        offer = Offer(f"request {fault_name} {variant}", request=base, lane=lane)
        request = {**base, **change}
        request_hash = tokens.request_hash(request, offer.service_id)
        vector_input = offer.input(request=request)
        yield _draft_refusal(
            fault_name, variant, vector_input, fault, why, row, lane=lane["caip2"], request_hash=request_hash
        )


def _other_services() -> Iterator[Draft]:
    why = "the service stands in half B of its own, beside the request"
    for variant, other_service in (("other", "audit-verify"), ("case", "Receipt-Verify"), ("empty", "")):
        offer = Offer(f"service {variant}")
        fault = "the token was issued for another service" if other_service else "no service is named"
        yield _draft_refusal("service", variant, offer.input(service_id=other_service), fault, why, "RAIL-WELD-08")


def _other_hashes() -> Iterator[Draft]:
    """Half B over another text for the same request."""
    offer = Offer("hash form")
    digest = offer.request_hash.removeprefix("sha256:")
    loose = json.dumps({**REQUEST, "service_id": offer.service_id}, sort_keys=True)
    body = json.dumps(REQUEST["body"], separators=(",", ":"))
    hashes = (
        ("hash-form", "bare-hex", digest, "the request's hash went in without sha256:"),
        ("hash-form", "upper-case", f"sha256:{digest.upper()}", "the request's hash went in in upper case"),
        ("hash-form", "empty", "", "no hash of a request went in"),
        ("recipe", "body-alone", _hash(body), "the hash is of the body alone"),
        ("recipe", "spaces", _hash(loose), "the hash is of JSON with spaces in it"),
        ("recipe", "no-service", _hash(json.dumps(REQUEST, sort_keys=True, separators=(",", ":"))),
         "the hash leaves the service out"),
    )  # fmt: skip
    why = "two implementations that share a secret must bind a request alike"
    for fault_name, variant, hash_input, fault in hashes:
        tail = offer.issuer.second_half(offer.first, offer.service_id, hash_input)
        vector_input = offer.input(offer.token(second=tail))
        yield _draft_refusal(
            fault_name, variant, vector_input, fault, why, "RAIL-WELD-09", request_hash=offer.request_hash
        )


def _constructions() -> Iterator[Draft]:
    offer = Offer("half b")
    other_offer = offer.with_members(nonce="f" * 16)
    key, remaining_members = offer.issuer.secret, f"{offer.service_id}\n{offer.request_hash}"
    label = "weldproof-payable-core:challenge:b:1"
    flipped_half = bytearray.fromhex(offer.second)
    flipped_half[-1] ^= 1
    raw = hmac.digest(
        key, f"{label}\n".encode() + bytes.fromhex(offer.first) + f"\n{remaining_members}".encode(), "sha256"
    )
    halves = (
        ("half-b", "last-bit", flipped_half.hex(), "the last bit of half B is flipped"),
        ("half-b", "zero", "0" * 32, "half B is zero"),
        ("half-b", "half-a-again", offer.first, "half A stands in the place of half B, too"),
        ("chaining", "other-token", other_offer.second, "half B is of another token for the same request"),
        ("chaining", "raw-half-a", raw[:16].hex(), "half A went into half B as bytes, not as hex"),
        ("chaining", "no-half-a", offer.issuer.mac("challenge:b:1", offer.service_id, offer.request_hash),
         "half A did not go into half B"),
        ("label-b", "of-half-a", offer.issuer.mac("challenge:a:1", offer.first, offer.service_id, offer.request_hash),
         "half B is made under the label of half A"),
        ("label-b", "second-version",
         offer.issuer.mac("challenge:b:2", offer.first, offer.service_id, offer.request_hash),
         "half B is made under another version"),
    )  # fmt: skip
    why = "a token without a true half B is good for any request"
    for fault_name, variant, tail, fault in halves:
        yield _draft_refusal(fault_name, variant, offer.input(offer.token(second=tail)), fault, why, "RAIL-WELD-08")


def _hash(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
