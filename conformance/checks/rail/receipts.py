"""RAIL-RCPT: the payable receipt."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.discovery.rail import Operation
from conformance.discovery.rehearsing import refusal
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick import sample
from conformance.judging.rail.paid_reference import (
    ON_ITS_WORD,
    References,
    judge_claims,
    judge_header,
    names_another,
    settlement_of,
)
from conformance.judging.rail.served import QUERY
from conformance.lanes.descriptor import Payer
from conformance.oracles import hashing, jose
from conformance.oracles.keys import Ed25519Key
from conformance.outcome import ON_WORD, Inconclusive
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import ABSENT, result_of
from conformance.surfaces.rail.purchase import Purchase
from conformance.surfaces.rail.receipts import bought, claims_of, request_hashes

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SAMPLED = 24
_REQUEST_HASH = "request_hash"
_NOTHING: Mapping[str, str] = {}
# What an operator binds where no usual recipe is found.
_KEYS = {
    "RAIL-RCPT-04": "[rail] request_hash",
    "RAIL-RCPT-05": "[rail] response_hash or result_at",
    "RAIL-RCPT-06": "[rail] settled_payment_ref",
}


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
    changes it by one character, at every place of the signature and at sampled places of header and payload. Expects
    that it verifies, and that no changed one does.
    """
    in_set, in_did = await published_keys(case)
    changes = [case.rng.getrandbits(64) for _ in case.session.operations]

    async def for_operation(operation: Operation, seed: int) -> None:
        served, token = await bought(case, operation)
        _judge_signature(case, served, token, in_set, in_did)
        keys = in_set or in_did
        if jose.fault_of(token, keys) is None:
            rng = random.Random(seed)  # noqa: S311 - repeatable on purpose
            survivors = [place for place, text in changed_once(token, rng) if jose.fault_of(text, keys) is None]
            where = {"operation": operation.path}
            case.expect("RAIL-RCPT-09", not survivors, "no changed receipt verifies", survivors, where=where)

    await run_concurrently(map(for_operation, case.session.operations, changes))


def _judge_signature(
    case: Case, served: Purchase, token: str, in_set: list[Ed25519Key], in_did: list[Ed25519Key]
) -> None:
    where = {"operation": served.operation.path}
    header = _header(token)
    signed = header.get("alg") in jose.ALGORITHMS
    case.expect("RAIL-RCPT-01", signed, "alg EdDSA", header.get("alg"), exchange=served.answer, where=where)
    for row, keys, expected in (
        ("RAIL-RCPT-02", in_set, "verifies under jwks.json"),
        ("RAIL-RCPT-03", in_did, "verifies under did.json"),
        ("RAIL-RCPT-08", in_set or in_did, "verifies with saved keys"),
    ):
        fault = jose.fault_of(token, keys)
        case.expect(row, fault is None, expected, fault, exchange=served.answer, where=where)
    kid = header.get("kid")
    known = kid is None or is_published(kid, [*in_set, *in_did])
    case.expect("RAIL-RCPT-10", known, "a kid of the published set", kid, exchange=served.answer, where=where)


def is_published(kid: Any, keys: Sequence[Ed25519Key]) -> bool:
    """Return whether a header's `kid` names one of the keys, by itself or as the fragment of a DID URL."""
    return isinstance(kid, str) and not {kid, kid.rpartition("#")[2]}.isdisjoint(key.kid for key in keys if key.kid)


def _header(token: str) -> Mapping[str, Any]:
    try:
        return jose.parse(token).header
    except jose.JwsFault:
        return {}


def changed_once(token: str, rng: random.Random) -> list[tuple[int, str]]:
    """Return the token with one character changed, by place: all of the signature, samples of header and payload."""
    header, payload, _ = token.split(".")
    first, second = len(header) + 1, len(header) + len(payload) + 2
    parts = (range(first - 1), range(first, second - 1))
    sampled = [place for part in parts for place in rng.sample(part, min(_SAMPLED, len(part)))]
    changed = []
    for place in [*sorted(sampled), *range(second, len(token))]:
        other = rng.choice([one for one in _ALPHABET if one != token[place]])
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
    quick=sample("operations"),
)
async def receipt_binds_request_response_and_payment(case: Case) -> None:
    """The receipt binds the request, the response and the settled payment reference.

    Buys two different calls of each operation and looks for the hashes of what was sent, answered and paid among the
    claims: by the recipe that the profile binds, else by every usual one. Where the rail settles, what was paid is the
    transaction that the chain shows for the authorization, whatever the answer says. Expects all three, that the two
    requests' hashes differ, and that no two payments have the same reference. Buys the first operation with a query as
    well, where it is quoted so: then the hash of the request is that of the request with its query, by the recipe that
    held it without.
    """
    seen = _Seen(case, await case.session.payer(case.lane))
    await run_concurrently(_bindings(seen, operation) for operation in case.sample(case.session.operations))
    seen.references.judge(case)
    seen.judge_unknown()


# The profile's key of each binding's recipe.
_RECIPES = {
    "RAIL-RCPT-04": "request_hash",
    "RAIL-RCPT-05": "response_hash",
    "RAIL-RCPT-06": "settled_payment_ref",
}


@dataclass(slots=True)
class _Seen:
    """What the receipts of one check were found to bind.

    Attributes:
        case: The case.
        payer: The lane's payer.
        found: Recipes that were found, by row, with the paths where they were.
        tried: By row, what each receipt could have held by each recipe.
        unknown: Receipts in which no recipe was found: row, call, recipes, the claim of that name, and why.
        references: What their payments have for themselves.
    """

    case: Case
    payer: Payer
    found: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    tried: dict[str, list[Mapping[str, set[str]]]] = field(default_factory=dict)
    unknown: list[tuple[str, Purchase, Mapping[str, set[str]], str | None, str]] = field(default_factory=list)
    references: References = field(default_factory=References)

    def judge_unknown(self) -> None:
        """Judge the receipts in which no recipe was found, by what the others hold.

        A claim that fits another call is a breach. How a payment is named depends on no operation, so that a receipt
        that names it otherwise than the others is one, too.
        """
        for row, served, recipes, own, reason in self.unknown:
            usual = {name: paths for name, paths in self.found.get(row, {}).items() if name in recipes}
            others = "; ".join(f"{name} is found at {', '.join(sorted(paths))}" for name, paths in usual.items())
            fits = [name for one in self.tried[row] for name, values in one.items() if own in values]
            if fits or (usual and row == "RAIL-RCPT-06"):
                where = {"operation": served.operation.path}
                expected = f"recipe {', '.join(usual or fits)} of this call"
                found = f"{_RECIPES[row]} is that of another call" if fits else reason
                self.case.expect(row, False, expected, found, exchange=served.answer, where=where)
            else:
                also = f" ({others})" if others else ""
                self.case.inconclusive(row, f"unbound: {reason}{also}; bind {_KEYS[row]}", exchange=served.answer)


async def _bindings(seen: _Seen, operation: Operation) -> None:
    case, where = seen.case, {"operation": operation.path}
    first = await _bound(seen, *await bought(case, operation))
    hashes = [first.value]
    for body in operation.other_bodies:
        try:
            another = await bought(case, operation, body=body)
        except Inconclusive:
            if not operation.guessed:
                raise
            continue
        hashes.append((await _bound(seen, *another)).value)
        break
    if operation == case.session.operations[0]:
        await _with_query(seen, operation, first.recipe)
    if len(hashes) < 2:
        case.inconclusive("RAIL-RCPT-07", "unbound: no second request is known; bind [rail.other_bodies]")
    elif None in hashes:
        case.inconclusive(
            "RAIL-RCPT-07", "unbound: which claim is the request's hash cannot be told; bind [rail] request_hash"
        )
    else:
        case.expect("RAIL-RCPT-07", hashes[0] != hashes[1], "another hash for another request", hashes[0], where=where)


async def _with_query(seen: _Seen, operation: Operation, recipe: str | None) -> None:
    """Judge the receipt of the same request with a query, where the service does not refuse one."""
    case = seen.case
    if recipe is None:
        return
    if recipe in hashing.OF_THE_BODY:
        reason = f"recipe {recipe} hashes the body alone, so that no query is in the receipt of {operation.path}"
        case.documented("RAIL-RCPT-04", reason)
    asked = operation.asked_with(QUERY)
    with suppress(Inconclusive):  # that it is not sold so, others judge
        if await refusal(case.client, asked) is None:
            await _bound(seen, *await bought(case, replace(asked, sure=True)), recipe)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The hash of a request as a receipt has it, where that can be told, and the recipe that it is found by."""

    value: str | None
    recipe: str | None


async def _bound(seen: _Seen, served: Purchase, token: str, recipe: str | None = None) -> _Bound:
    """Judge the three bindings of one receipt and return its request hash, which is by `recipe` where one is given."""
    case = seen.case
    claims, bindings = claims_of(token), case.profile.rail_bindings
    requested = request_hashes(served.operation, served.challenge.body, served.challenge.accepts)
    name, place = _judge(seen, "RAIL-RCPT-04", claims, requested, recipe or bindings.request_hash, served)
    result = result_of(case, served.answer)
    hashes = hashing.response_hashes(served.answer.body, result, token)
    if result is ABSENT:  # nothing is there to be bound, so no claim can bind it
        hashes["jcs-result"] = set()
    _judge(seen, "RAIL-RCPT-05", claims, hashes, bindings.response_hash, served)
    await _judge_payment(seen, claims, served)
    value = claim_at(claims, place or _REQUEST_HASH)
    return _Bound(value if isinstance(value, str) else None, name)


async def _judge_payment(seen: _Seen, claims: Mapping[str, Any], served: Purchase) -> None:
    """Judge the reference of the payment in one receipt, and what else it tells of it."""
    case, row, bound = seen.case, "RAIL-RCPT-06", seen.case.profile.rail_bindings.settled_payment_ref
    word, network = case.profile.service_word, getattr(seen.payer, "network_key", "")
    token, settled = served.challenge.reference(case.lane), await settlement_of(served, seen.payer)
    paid, another = settled.references(word, network, token), settled.another
    recipe = None if another is None else names_another(claims, hashing.settled_refs(word, another, network, token))
    if recipe is not None:
        expected, found = f"a reference of {settled.tx_id}, which used the authorization", f"{recipe} of {another}"
        where = {"operation": served.operation.path}
        case.expect(row, False, expected, found, exchange=served.answer, where=where)
    elif settled.tx_id is None and (bound or "") not in {"", *paid}:
        case.inconclusive(row, "no transaction on the chain uses the authorization, and no header tells one")
    else:
        _judge(seen, row, claims, paid, bound, served, {} if settled.by_chain else {ON_WORD: ON_ITS_WORD})
    seen.references.add(served, settled, claims)
    judge_header(case, served, settled)
    judge_claims(case, served, seen.payer, claims)


def _judge(
    seen: _Seen,
    row: str,
    claims: Mapping[str, Any],
    recipes: Mapping[str, set[str]],
    bound: str | None,
    served: Purchase,
    said: Mapping[str, str] = _NOTHING,
) -> tuple[str | None, str | None]:
    """Judge one binding and return the recipe and the place of the claim that holds it.

    A claim by the family's own name for it is that binding: where there is one, no other claim is.
    """
    case, path = seen.case, served.operation.path
    where = {"operation": path, **({"query": served.operation.query} if served.operation.query else {}), **said}
    if bound is not None and bound not in recipes:
        case.inconclusive(row, f"unbound: the suite knows no recipe {bound}; it knows {', '.join(recipes)}")
        return None, None
    tried = recipes if bound is None else {bound: recipes[bound]}
    seen.tried.setdefault(row, []).append(recipes)
    own = {name: value for name, value in claims.items() if name == _RECIPES[row] and isinstance(value, str)}
    for name, values in tried.items():
        place = hashing.find_claim(own or claims, values)
        if place is not None:
            seen.found.setdefault(row, {}).setdefault(name, set()).add(path)
            case.expect(row, True, f"recipe {name} in claim {place}", None, exchange=served.answer, where=where)
            return name, place
    if bound is None:
        elsewhere = hashing.find_claim(claims, {value for values in recipes.values() for value in values})
        also = f" in claim {_RECIPES[row]}, although {elsewhere} holds one" if elsewhere is not None else ""
        reason = f"none of the recipes {', '.join(tried)} is found among the claims of {path}{also}"
        seen.unknown.append((row, served, recipes, own.get(_RECIPES[row]), reason))
        return None, None
    expected, hint = f"a claim that equals recipe {bound}", _bind(row, claims, recipes)
    case.expect(row, False, expected, sorted(claims), exchange=served.answer, where=where, hint=hint)
    return None, None


def _bind(row: str, claims: Mapping[str, Any], recipes: Mapping[str, set[str]]) -> str | None:
    """Return what to bind where another usual recipe fits: the profile is then likelier wrong than the hash."""
    fitting = next((name for name, values in recipes.items() if hashing.find_claim(claims, values) is not None), None)
    if fitting is None:
        return None
    key = f'[rail] {_RECIPES[row]} = "{fitting}"'
    return f"The receipt holds the recipe {fitting}: if that is what you hash by, bind {key}, else hash as you declare."


def claim_at(claims: Mapping[str, Any], place: str) -> Any:
    """Return the claim at a dotted place, `[n]` for the n-th of a list."""
    value: Any = claims
    for name in place.replace("[", ".[").split("."):
        if name.startswith("["):
            value = value[int(name[1:-1])] if isinstance(value, list) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value
