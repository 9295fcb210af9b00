"""RAIL-RCPT: the payable receipt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from conformance.check import Case, Inconclusive, check
from conformance.checks.rail.keys import published_keys
from conformance.checks.rail.paid_calls import receipts_in
from conformance.discovery import Operation
from conformance.oracles import hashing, jose
from conformance.oracles.keys import Ed25519Key
from conformance.payers import Payer
from conformance.purchase import Purchase, purchase

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SAMPLED = 60


async def bought(case: Case, operation: Operation, *, body: Any = None) -> tuple[Purchase, str]:
    """Buy one call and return it with its payable receipt.

    Raises:
        Inconclusive: It was not served, or the answer holds no token that may be the receipt.
    """
    served = await purchase(case, operation, case.lane, body=body)
    found = receipts_in(served.answer, case.profile.rail_bindings.receipt_at)
    for _, token in found:
        try:
            claims = jose.parse(token).claims()
        except jose.JwsFault:
            continue
        if len(found) == 1 or _looks_payable(claims):
            return served, token
    raise Inconclusive("unbound: no token of the paid answer is the payable receipt; bind [rail] receipt_at")


def _looks_payable(claims: Mapping[str, Any]) -> bool:
    return "payable" in str(claims.get("kind", "")) or {"request_hash", "response_hash"} <= claims.keys()


def claims_of(token: str) -> dict[str, Any]:
    """Return a receipt's claims, verified or not; a check of its own judges the signature."""
    try:
        return jose.parse(token).claims()
    except jose.JwsFault:
        return {}


@check(
    "RAIL-RCPT-01",
    "RAIL-RCPT-02",
    "RAIL-RCPT-03",
    "RAIL-RCPT-08",
    "RAIL-RCPT-09",
    "RAIL-RCPT-10",
    surface="rail",
    lane="each",
    fix="Sign the receipt as a compact JWS with EdDSA under the key that jwks.json and did.json publish, and name it "
    "by its kid.",
)
async def receipt_verifies_offline(case: Case) -> None:
    """The receipt is an Ed25519 JWS that verifies under the published key, offline, and nothing else does.

    Saves both key documents, buys a call of each operation, and verifies the receipt with the saved keys alone; then
    changes it by one character at many places. Expects that it verifies, and that no changed one does.
    """
    in_set, in_did = await published_keys(case)
    for operation in case.session.operations:
        where = {"operation": operation.path}
        served, token = await bought(case, operation)
        header = _header(token)
        signed = header.get("alg") in jose.ALGORITHMS
        case.expect("RAIL-RCPT-01", signed, "alg EdDSA", header.get("alg"), exchange=served.answer, where=where)
        for row, keys, named in (("RAIL-RCPT-02", in_set, "jwks.json"), ("RAIL-RCPT-03", in_did, "did.json")):
            fault = fault_of(token, keys)
            case.expect(row, fault is None, f"verifies under {named}", fault, exchange=served.answer, where=where)
        fault = fault_of(token, in_set or in_did)
        case.expect(
            "RAIL-RCPT-08", fault is None, "verifies with saved keys", fault, exchange=served.answer, where=where
        )
        if fault is None:
            survivors = [place for place, text in changed_once(case, token) if fault_of(text, in_set) is None]
            case.expect("RAIL-RCPT-09", not survivors, "no changed receipt verifies", survivors, where=where)
        kid = header.get("kid")
        known = kid is None or kid in {key.kid for key in (*in_set, *in_did)}
        case.expect("RAIL-RCPT-10", known, "a kid of the published set", kid, exchange=served.answer, where=where)


def _header(token: str) -> Mapping[str, Any]:
    try:
        return jose.parse(token).header
    except jose.JwsFault:
        return {}


def fault_of(token: str, keys: list[Ed25519Key]) -> str | None:
    """Return why a token does not verify, or None when it does."""
    try:
        jose.verify(token, keys)
    except jose.JwsFault as fault:
        return str(fault)
    return None


def changed_once(case: Case, token: str) -> list[tuple[int, str]]:
    """Return the token with one character changed: at sampled places, and at every place of the signature's end."""
    last = len(token) - 8
    places = sorted({*case.rng.sample(range(len(token)), min(_SAMPLED, len(token))), *range(last, len(token))})
    changed = []
    for place in places:
        other = case.rng.choice([one for one in _ALPHABET if one != token[place]])
        changed.append((place, token[:place] + other + token[place + 1 :]))
    return changed


@check(
    "RAIL-RCPT-04",
    "RAIL-RCPT-05",
    "RAIL-RCPT-06",
    "RAIL-RCPT-07",
    surface="rail",
    lane="each",
    fix="Put a hash of the request that was sent, of the response that was given, and of the settled payment into the "
    "receipt, and bind the recipe in the target profile.",
)
async def receipt_binds_request_response_and_payment(case: Case) -> None:
    """The receipt binds the request, the response and the settled payment reference.

    Buys two different calls of each operation and looks for the hashes of what was sent, answered and paid among the
    claims: by the recipe that the profile binds, else by every usual one. Expects all three, and that the two
    requests' hashes differ.
    """
    payer = await case.session.payer(case.lane)
    await asyncio.gather(*(_bindings(case, operation, payer) for operation in case.session.operations))


async def _bindings(case: Case, operation: Operation, payer: Payer) -> None:
    where = {"operation": operation.path}
    seen: list[str] = []
    for body in (operation.body, *operation.other_bodies[:1]):
        served, token = await bought(case, operation, body=body)
        claims = claims_of(token)
        hashes = _request_hashes(served)
        place = _judge(case, "RAIL-RCPT-04", claims, hashes, case.profile.rail_bindings.request_hash, served, where)
        if place is not None:
            seen.append(str(_at(claims, place)))
        answer = served.answer.object()
        result = answer.get((case.profile.rail_bindings.result_at or "body:result").removeprefix("body:"))
        told = hashing.response_hashes(served.answer.body, result)
        _judge(case, "RAIL-RCPT-05", claims, told, case.profile.rail_bindings.response_hash, served, where)
        reference = served.challenge.reference(case.lane)
        tx_id = str(served.proof.get("tx_id", ""))
        network = getattr(payer, "network_key", "")
        paid = hashing.settled_refs(case.profile.service_word, tx_id, network, reference)
        _judge(case, "RAIL-RCPT-06", claims, paid, case.profile.rail_bindings.settled_payment_ref, served, where)
    if len(seen) == 2:
        differ = seen[0] != seen[1]
        case.expect("RAIL-RCPT-07", differ, "another hash for another request", seen[0], where=where)
    else:
        case.expect("RAIL-RCPT-07", False, "a request hash in both receipts", f"in {len(seen)}", where=where)


def _request_hashes(served: Purchase) -> dict[str, set[str]]:
    body = served.challenge.body
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    extra = served.challenge.accepts[0].get("extra")
    service_id = extra.get("service_id") if isinstance(extra, dict) else None
    return hashing.request_hashes("POST", served.operation.path, "", raw, body, service_id or served.operation.role)


def _judge(
    case: Case,
    row: str,
    claims: Mapping[str, Any],
    recipes: Mapping[str, set[str]],
    bound: str | None,
    served: Purchase,
    where: Mapping[str, str],
) -> str | None:
    """Judge one binding and return the place of the claim that holds it."""
    if bound is not None and bound not in recipes:
        case.inconclusive(row, f"unbound: the suite knows no recipe {bound}; it knows {', '.join(recipes)}")
        return None
    tried = recipes if bound is None else {bound: recipes[bound]}
    for name, values in tried.items():
        place = hashing.find_claim(claims, values)
        if place is not None:
            case.expect(row, True, f"recipe {name} in claim {place}", None, exchange=served.answer, where=where)
            return place
    if bound is None:
        case.inconclusive(row, f"unbound: none of the recipes {', '.join(tried)} is found among the claims")
        return None
    case.expect(row, False, f"a claim that equals recipe {bound}", sorted(claims), exchange=served.answer, where=where)
    return None


def _at(claims: Mapping[str, Any], place: str) -> Any:
    """Return the claim at a dotted place, `[n]` for the n-th of a list."""
    value: Any = claims
    for name in place.replace("[", ".[").split("."):
        if name.startswith("["):
            value = value[int(name[1:-1])] if isinstance(value, list) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value
