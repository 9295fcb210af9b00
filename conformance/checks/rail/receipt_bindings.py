"""RAIL-RCPT-04 to -07: the payable receipt binds request, response and payment.

The interface demands the three hashes and leaves their construction open. A construction is called a recipe. The
profile may bind one for each row. Without that, the suite tries every usual recipe on every claim:

* A recipe that fits is the target's recipe for this operation, and must then fit all its receipts.
* If no recipe fits, the receipts of the other operations decide. A recipe that they share and this receipt lacks is a
  breach, and so is a claim that fits another call.
* Otherwise the row is inconclusive, and its reason names the key to bind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.discovery.rail import Operation
from conformance.discovery.body_probe import probe_body
from conformance.discovery.accepted_unusual_bodies import repeated_body, unusual_bodies
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.judging.rail.paid_reference import (
    ON_ITS_WORD,
    References,
    judge_claims,
    judge_header,
    names_another,
    settlement_of,
)
from conformance.lanes.descriptor import Payer
from conformance.oracles import hashing
from conformance.oracles.json_encodings import AS_SENT, OTHER_ENCODINGS, Encoder
from conformance.outcome import ON_WORD, Inconclusive
from conformance.surfaces.rail.paid_answers import ABSENT, result_of
from conformance.surfaces.rail.purchase import Purchase
from conformance.surfaces.rail.receipts import buy_receipt, claims_of, request_hashes, service_id_of

_REQUEST_HASH = "request_hash"
_NOTHING: Mapping[str, str] = {}
# Encoders for web pages escape the ampersand. A server that writes the query again keeps this text as it is, including
# the encoded delimiters, which are data by RFC 3986 (2.2).
_QUERY = "a=1&b=2%26c%3D3"
# If this many other operations share a recipe, it is taken for the recipe of all.
_ENOUGH = 2
# The keys of the profile that an operator binds if no usual recipe is found.
_KEYS = {
    "RAIL-RCPT-04": "[rail] request_hash",
    "RAIL-RCPT-05": "[rail] response_hash or result_at",
    "RAIL-RCPT-06": "[rail] settled_payment_ref",
}


@check(
    "RAIL-RCPT-04",
    "RAIL-RCPT-05",
    "RAIL-RCPT-06",
    "RAIL-RCPT-07",
    surface="rail",
    lane="each",
    fix="Put hashes of the received request, of the returned response and of the settled payment into the receipt, and "
    "bind the recipes in the profile. Hash the RFC 8785 form, written by a library for it. Another JSON encoder "
    "writes a different text if a value contains &, <, a letter beyond ASCII or a fraction.",
    quick=sample("operations"),
)
async def receipt_binds_request_response_and_payment(case: Case) -> None:
    """The receipt binds the request, the response and the settled payment reference.

    Buys two different calls of each operation. Looks among the claims for the hashes of request, response and payment,
    by the recipe that the profile binds, or by every usual one. If the rail settles, the payment is the transaction
    that the chain shows for the authorization. Expects all three hashes. Expects that the hashes of two requests
    differ, and that no two payments have the same reference.

    Also buys each operation with texts, member names and numbers that JSON encoders write differently, if it accepts
    any. Buys the first operation with a query, if it quotes a price for that, and the verifiers with such texts if
    their results repeat them. Expects that the recipe of the plain request holds for these requests.
    """
    seen = _Seen(case, await case.session.payers.for_rail(case.lane))
    await run_concurrently(_bindings(seen, operation) for operation in case.sample(case.session.catalog.operations))
    seen.references.judge(case)
    seen.judge_unknown()


# The profile's key of each binding's recipe.
_RECIPES = {
    "RAIL-RCPT-04": "request_hash",
    "RAIL-RCPT-05": "response_hash",
    "RAIL-RCPT-06": "settled_payment_ref",
}


@dataclass(frozen=True, slots=True)
class _Hashed:
    """Digests that one receipt may contain, by recipe, and the same recipes over another JSON encoding."""

    recipes: Mapping[str, set[str]]
    encoded: Callable[[Encoder], Mapping[str, set[str]]] | None = None


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A receipt in which no recipe was found.

    Attributes:
        row: The row of the binding.
        served: The call.
        hashed: The digests that it may contain.
        claims: The claims that may contain them.
        own: The claim with the binding's usual name, or None.
        reason: Which recipes were tried.
    """

    row: str
    served: Purchase
    hashed: _Hashed
    claims: Mapping[str, Any]
    own: str | None
    reason: str


@dataclass(slots=True)
class _Seen:
    """The recipes that were found in the receipts of one check.

    Attributes:
        case: The case.
        payer: The lane's payer.
        found: Recipes that were found, by row, with the paths of their operations.
        fitting: Recipes that fit every receipt of an operation so far, by row and path.
        tried: By row, the digests that each receipt could contain, by recipe.
        unknown: Receipts in which no recipe was found.
        references: The references of their payments.
    """

    case: Case
    payer: Payer
    found: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    fitting: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    tried: dict[str, list[Mapping[str, set[str]]]] = field(default_factory=dict)
    unknown: list[_Unknown] = field(default_factory=list)
    references: References = field(default_factory=References)

    def judge_unknown(self) -> None:
        """Judge the receipts in which no recipe was found, by the recipes of the others.

        A claim that fits another call is a breach. So is a recipe that fits other operations and not this one. If only
        one other operation has it, the claim must also fit another encoding of the same recipe.
        """
        for one in self.unknown:
            usual = self._usual(one)
            fits = [
                name
                for tried in self.tried[one.row]
                for name, values in tried.items()
                if one.own in values and one.hashed.recipes.get(name)
            ]
            encoding = _encoding(one.hashed, one.claims, usual or one.hashed.recipes)
            elsewhere = set().union(*usual.values())
            if fits or (usual and (one.row == "RAIL-RCPT-06" or encoding is not None or len(elsewhere) >= _ENOUGH)):
                where = {"operation": one.served.operation.path}
                expected = f"recipe {', '.join(usual or fits)} of this call"
                found = f"{_RECIPES[one.row]} is that of another call" if fits else encoding or one.reason
                self.case.expect(one.row, False, expected, found, exchange=one.served.answer, where=where)
            else:
                others = "; ".join(f"{name} is found at {', '.join(sorted(paths))}" for name, paths in usual.items())
                also = "".join(f" ({text})" for text in (others, encoding) if text)
                reason = f"unbound: {one.reason}{also}; bind {_KEYS[one.row]}"
                self.case.mark_inconclusive(one.row, reason, exchange=one.served.answer)

    def _usual(self, unknown: _Unknown) -> dict[str, set[str]]:
        """Return the recipes of other receipts that this one could contain, with the paths of their operations.

        A recipe over the service's id is left out if the challenge does not name the service. A recipe over the result
        is left out if the answer has no result at the usual place, which the interface does not prescribe.
        """
        recipes = {name for name, values in unknown.hashed.recipes.items() if values}
        if unknown.row == "RAIL-RCPT-04" and service_id_of(unknown.served.challenge.accepts) is None:
            recipes.discard("jcs-envelope")
        return {name: paths for name, paths in self.found.get(unknown.row, {}).items() if name in recipes}


def _encoding(hashed: _Hashed, claims: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Describe the JSON encoding, mistaken for RFC 8785, with which a named recipe fits; None if there is none."""
    if hashed.encoded is None:
        return None
    for what, encode in OTHER_ENCODINGS.items():
        for name, values in hashed.encoded(encode).items():
            if name in names and hashing.find_claim(claims, values) is not None:
                return f"recipe {name} over JSON that {what}"
    return None


async def _bindings(seen: _Seen, operation: Operation) -> None:
    case, where = seen.case, {"operation": operation.path}
    first = await _bound(seen, *await buy_receipt(case, operation))
    hashes = [first.value]
    for body in operation.other_bodies:
        try:
            another = await buy_receipt(case, operation, body=body)
        except Inconclusive:
            if not operation.is_guess:
                raise
            continue
        hashes.append((await _bound(seen, *another)).value)
        break
    if operation == case.session.catalog.operations[0]:
        await _with_query(seen, operation, first.recipe)
    await _with_unusual_values(seen, operation)
    if len(hashes) < 2:
        case.mark_inconclusive("RAIL-RCPT-07", "unbound: no second request is known; bind [rail.other_bodies]")
    elif None in hashes:
        case.mark_inconclusive(
            "RAIL-RCPT-07", "unbound: it is unknown which claim is the request's hash; bind [rail] request_hash"
        )
    else:
        case.expect("RAIL-RCPT-07", hashes[0] != hashes[1], "another hash for another request", hashes[0], where=where)


async def _with_query(seen: _Seen, operation: Operation, recipe: str | None) -> None:
    """Judge the receipt of the same request with a query, if the service accepts one."""
    case = seen.case
    if recipe is None:
        return
    if recipe in hashing.OF_THE_BODY:
        reason = f"recipe {recipe} hashes only the body, so the receipt of {operation.path} does not bind a query"
        case.mark_documented("RAIL-RCPT-04", reason)
    asked = operation.with_query(_QUERY)
    # If the call is not served with a query, other checks judge that.
    with suppress(Inconclusive):
        if await probe_body(case.client, asked) is None:
            await _bound(seen, *await buy_receipt(case, replace(asked, is_accepted=True)))


async def _with_unusual_values(seen: _Seen, operation: Operation) -> None:
    """Judge the receipt of a request whose JSON form encoders write differently, if the operation serves one."""
    case = seen.case
    if not any(seen.fitting.get((row, operation.path)) for row in ("RAIL-RCPT-04", "RAIL-RCPT-05")):
        return
    # Unpaid calls show which bodies an operation refuses. That does not depend on the lane, so it is found out once.
    session, name = case.session, f"unusual bodies of {operation.path}"
    sure = replace(operation, is_accepted=True)
    for body in await session.find_once(name, lambda: unusual_bodies(session.client, operation)):
        # The operation may refuse the body only after the payment.
        with suppress(Inconclusive):
            await _bound(seen, *await buy_receipt(case, sure, body=body))
            break
    # Most unusual texts are only in the request. The hash of a result shows its encoding if the result repeats such a
    # text.
    name = f"repeated body of {operation.path}"
    repeated = await session.find_once(name, lambda: repeated_body(session.client, operation))
    if repeated is not None:
        with suppress(Inconclusive):
            await _bound(seen, *await buy_receipt(case, sure, body=repeated))


@dataclass(frozen=True, slots=True)
class _Bound:
    """The hash of a request in a receipt, and the recipe that found it; None for each that is unknown."""

    value: str | None
    recipe: str | None


async def _bound(seen: _Seen, served: Purchase, token: str) -> _Bound:
    """Judge the three bindings of one receipt and return its request hash."""
    case = seen.case
    claims, bindings = claims_of(token), case.profile.rail_bindings
    quote, result, raw = served.challenge, result_of(case, served.answer), served.answer.body

    def of_request(encode: Encoder) -> dict[str, set[str]]:
        return request_hashes(served.operation, quote.body, quote.accepts, encode)

    def of_response(encode: Encoder) -> dict[str, set[str]]:
        hashes = hashing.response_hashes(raw, result, token, encode)
        # Without a result there is nothing that a claim could bind.
        if result is ABSENT:
            del hashes["jcs-result"]
        return hashes

    requested = _Hashed(of_request(hashing.jcs_bytes), of_request)
    name, place = _judge(seen, "RAIL-RCPT-04", claims, requested, bindings.request_hash, served)
    answered = _Hashed({"jcs-result": set(), **of_response(hashing.jcs_bytes)}, of_response)
    _judge(seen, "RAIL-RCPT-05", claims, answered, bindings.response_hash, served)
    await _judge_payment(seen, claims, served)
    value = claim_at(claims, place or _REQUEST_HASH)
    return _Bound(value if isinstance(value, str) else None, name)


async def _judge_payment(seen: _Seen, claims: Mapping[str, Any], served: Purchase) -> None:
    """Judge the reference of the payment in one receipt, and its other claims about the payment."""
    case, row, bound = seen.case, "RAIL-RCPT-06", seen.case.profile.rail_bindings.settled_payment_ref
    word, network = case.profile.service_word, getattr(seen.payer, "network_key", "")
    token, settled = served.challenge.reference(case.lane), await settlement_of(served, seen.payer)
    paid, another = settled.references(word, network, token), settled.another
    recipe = None if another is None else names_another(claims, hashing.settled_refs(word, another, network, token))
    # A receipt that names another transaction proves a payment that was never made for this call.
    if recipe is not None:
        expected, found = f"a reference of {settled.tx_id}, which used the authorization", f"{recipe} of {another}"
        where = {"operation": served.operation.path}
        case.expect(row, False, expected, found, exchange=served.answer, where=where)
    elif settled.tx_id is None and (bound or "") not in {"", *paid}:
        case.mark_inconclusive(row, "no transaction on the chain uses the authorization, and no header names one")
    else:
        _judge(seen, row, claims, _Hashed(paid), bound, served, {} if settled.by_chain else {ON_WORD: ON_ITS_WORD})
    seen.references.add(served, settled, claims)
    judge_header(case, served, settled)
    judge_claims(case, served, seen.payer, claims)


def _judge(
    seen: _Seen,
    row: str,
    claims: Mapping[str, Any],
    hashed: _Hashed,
    bound: str | None,
    served: Purchase,
    said: Mapping[str, str] = _NOTHING,
) -> tuple[str | None, str | None]:
    """Judge one binding and return the recipe and the place of the claim that contains it.

    A claim with the binding's usual name is that binding, and no other claim is. A recipe that fits the operation's
    receipts so far must fit this one.
    """
    case, path, recipes = seen.case, served.operation.path, hashed.recipes
    where = {"operation": path, **({"query": served.operation.query} if served.operation.query else {}), **said}
    if bound is not None and bound not in recipes:
        case.mark_inconclusive(row, f"unbound: the suite knows no recipe {bound}; it knows {', '.join(recipes)}")
        return None, None
    held = seen.fitting.get((row, path), set()).intersection(name for name, values in recipes.items() if values)
    tried = {name: recipes[name] for name in recipes if (name in held if held else bound in {None, name})}
    seen.tried.setdefault(row, []).append(recipes)
    own = {name: value for name, value in claims.items() if name == _RECIPES[row] and isinstance(value, str)}
    places = {name: hashing.find_claim(own or claims, values) for name, values in tried.items()}
    fitting = {name: place for name, place in places.items() if place is not None}
    if fitting:
        name, place = next(iter(fitting.items()))
        seen.found.setdefault(row, {}).setdefault(name, set()).add(path)
        seen.fitting[row, path] = set(fitting)
        case.expect(row, True, f"recipe {name} in claim {place}", None, exchange=served.answer, where=where)
        return name, place
    if bound is None and not held:
        elsewhere = hashing.find_claim(claims, {value for values in recipes.values() for value in values})
        also = f" in claim {_RECIPES[row]}, although {elsewhere} contains one" if elsewhere is not None else ""
        reason = f"none of the recipes {', '.join(tried)} is found among the claims of {path}{also}"
        unknown = _Unknown(row, served, hashed, own or claims, own.get(_RECIPES[row]), reason)
        seen.unknown.append(unknown)
        return None, None
    _judge_unfitting(seen, row, own or claims, hashed, tried, served, where)
    return None, None


def _judge_unfitting(
    seen: _Seen,
    row: str,
    claims: Mapping[str, Any],
    hashed: _Hashed,
    tried: Mapping[str, set[str]],
    served: Purchase,
    where: Mapping[str, str],
) -> None:
    """Judge a receipt that contains none of the recipes that the profile or the other receipts demand."""
    case, declared = seen.case, getattr(seen.case.profile.rail_bindings, _RECIPES[row])
    as_sent = {} if hashed.encoded is None else hashed.encoded(AS_SENT)
    if declared is None and any(hashing.find_claim(claims, as_sent.get(name, set())) is not None for name in tried):
        reason = f"unbound: the claim fits JSON in the order that was sent, which is not a recipe; bind {_KEYS[row]}"
        case.mark_inconclusive(row, reason, exchange=served.answer)
        return
    encoding = _encoding(hashed, claims, tried)
    others = "" if declared is not None else ", as for other requests of the operation"
    expected = f"a claim that equals recipe {' or '.join(tried)}{others}"
    hint = _bind(row, claims, hashed.recipes)
    if encoding is not None:
        hint = f"The receipt has {encoding}. Hash the RFC 8785 form, which escapes quotes, backslashes and controls."
    found = encoding or sorted(claims)
    case.expect(row, False, expected, found, exchange=served.answer, where=where, hint=hint)


def _bind(row: str, claims: Mapping[str, Any], recipes: Mapping[str, set[str]]) -> str | None:
    """Return which key to bind if another usual recipe fits. The profile is then more likely wrong than the hash."""
    fitting = next((name for name, values in recipes.items() if hashing.find_claim(claims, values) is not None), None)
    if fitting is None:
        return None
    key = f'[rail] {_RECIPES[row]} = "{fitting}"'
    return f"The receipt contains the recipe {fitting}. If you mean that recipe, bind {key}; else hash as you declare."


def claim_at(claims: Mapping[str, Any], place: str) -> Any:
    """Return the claim at a dotted place; `[n]` is the n-th element of a list."""
    value: Any = claims
    for name in place.replace("[", ".[").split("."):
        if name.startswith("["):
            value = value[int(name[1:-1])] if isinstance(value, list) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value
