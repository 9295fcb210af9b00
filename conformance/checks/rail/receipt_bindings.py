"""RAIL-RCPT-04 to -07: the payable receipt binds request, response and payment.

The interface demands the three hashes and leaves their construction open. A construction is called a recipe. The
profile may bind one for each row. Without that, the suite tries every usual recipe on every claim:

* A recipe that fits is the target's recipe for this operation, and must then fit all its receipts.
* If no recipe fits, the receipts of the other operations decide. A recipe that they share and this receipt lacks is a
  breach, and so is a claim that fits another call.
* Else the row is inconclusive, and its reason names the key to bind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.assertions.rail.receipt_payment_claims import (
    HEADER_TRANSACTION,
    References,
    find_settlement,
    find_wrong_recipe,
    judge_claims,
    judge_header,
)
from conformance.discovery.accepted_unusual_bodies import repeated_body, unusual_bodies
from conformance.discovery.body_probe import probe_body
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.descriptor import Payer
from conformance.oracles import hash_recipes
from conformance.oracles.json_encodings import AS_SENT, OTHER_ENCODINGS, Encoder
from conformance.outcome import ON_WORD, Inconclusive
from conformance.surfaces.rail.paid_answers import ABSENT, result_of
from conformance.surfaces.rail.purchase import Purchase
from conformance.surfaces.rail.receipts import buy_receipt, claims_of, request_hashes, service_id_of

_REQUEST_HASH = "request_hash"
_NO_MARKS: Mapping[str, str] = {}
# Encoders for web pages escape the ampersand. A server that writes the query again keeps this text as it is, including
# the encoded delimiters, which are data by RFC 3986 (2.2).
_QUERY = "a=1&b=2%26c%3D3"
# If this many other operations share a recipe, it is taken for the recipe of all.
_DECISIVE_COUNT = 2
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
    survey = _BindingSurvey(case, await case.session.payers.for_rail(case.lane))
    await run_concurrently(
        _judge_operation(survey, operation) for operation in case.sample(case.session.catalog.operations)
    )
    survey.references.judge(case)
    survey.judge_unmatched()


# The profile's key of each binding's recipe.
_RECIPES = {
    "RAIL-RCPT-04": "request_hash",
    "RAIL-RCPT-05": "response_hash",
    "RAIL-RCPT-06": "settled_payment_ref",
}


@dataclass(frozen=True, slots=True)
class _PossibleDigests:
    """Digests that one receipt may contain, by recipe, and the same recipes over another JSON encoding."""

    recipes: Mapping[str, set[str]]
    by_encoding: Callable[[Encoder], Mapping[str, set[str]]] | None = None


@dataclass(frozen=True, slots=True)
class _UnmatchedReceipt:
    """A receipt in which no recipe was found.

    Attributes:
        row: The row of the binding.
        sale: The call.
        digests: The digests that it may contain.
        claims: The claims that may contain them.
        usual_claim: The claim with the binding's usual name, or None.
        reason: Which recipes were tried.
    """

    row: str
    sale: Purchase
    digests: _PossibleDigests
    claims: Mapping[str, Any]
    usual_claim: str | None
    reason: str


@dataclass(slots=True)
class _BindingSurvey:
    """The recipes that were found in the receipts of one check.

    Attributes:
        case: The case.
        payer: The lane's payer.
        recipes: Recipes that were found, by row, with the paths of their operations.
        fitting_recipes: Recipes that fit every receipt of an operation so far, by row and path.
        possible_digests: By row, the digests that each receipt could contain, by recipe.
        unmatched_receipts: Receipts in which no recipe was found.
        references: The references of their payments.
    """

    case: Case
    payer: Payer
    recipes: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    fitting_recipes: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    possible_digests: dict[str, list[Mapping[str, set[str]]]] = field(default_factory=dict)
    unmatched_receipts: list[_UnmatchedReceipt] = field(default_factory=list)
    references: References = field(default_factory=References)

    def judge_unmatched(self) -> None:
        """Judge the receipts in which no recipe was found, by the recipes of the others.

        A claim that fits another call is a breach. So is a recipe that fits other operations and not this one. If only
        one other operation has it, the claim must also fit another encoding of the same recipe.
        """
        for receipt in self.unmatched_receipts:
            common_recipes = self._find_common_recipes(receipt)
            fits = [
                name
                for digests in self.possible_digests[receipt.row]
                for name, values in digests.items()
                if receipt.usual_claim in values and receipt.digests.recipes.get(name)
            ]
            encoding = _describe_encoding(receipt.digests, receipt.claims, common_recipes or receipt.digests.recipes)
            other_paths = set().union(*common_recipes.values())
            if fits or (
                common_recipes
                and (receipt.row == "RAIL-RCPT-06" or encoding is not None or len(other_paths) >= _DECISIVE_COUNT)
            ):
                where = {"operation": receipt.sale.operation.path}
                expectation = f"recipe {', '.join(common_recipes or fits)} of this call"
                finding = f"{_RECIPES[receipt.row]} is that of another call" if fits else encoding or receipt.reason
                self.case.expect(receipt.row, False, expectation, finding, exchange=receipt.sale.answer, where=where)
            else:
                other_findings = "; ".join(
                    f"{name} is found at {', '.join(sorted(paths))}" for name, paths in common_recipes.items()
                )
                remarks = "".join(f" ({text})" for text in (other_findings, encoding) if text)
                reason = f"unbound: {receipt.reason}{remarks}; bind {_KEYS[receipt.row]}"
                self.case.mark_inconclusive(receipt.row, reason, exchange=receipt.sale.answer)

    def _find_common_recipes(self, receipt: _UnmatchedReceipt) -> dict[str, set[str]]:
        """Return the recipes of other receipts that this one could contain, with the paths of their operations.

        A recipe over the service's id is left out if the challenge does not name the service. A recipe over the result
        is left out if the answer has no result at the usual place, which the interface does not prescribe.
        """
        recipes = {name for name, values in receipt.digests.recipes.items() if values}
        if receipt.row == "RAIL-RCPT-04" and service_id_of(receipt.sale.challenge.accepts) is None:
            recipes.discard("jcs-envelope")
        return {name: paths for name, paths in self.recipes.get(receipt.row, {}).items() if name in recipes}


def _describe_encoding(digests: _PossibleDigests, claims: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Describe the JSON encoding, mistaken for RFC 8785, with which a named recipe fits, or return None."""
    if digests.by_encoding is None:
        return None
    for description, encode in OTHER_ENCODINGS.items():
        for name, values in digests.by_encoding(encode).items():
            if name in names and hash_recipes.find_claim(claims, values) is not None:
                return f"recipe {name} over JSON that {description}"
    return None


async def _judge_operation(survey: _BindingSurvey, operation: Operation) -> None:
    case, where = survey.case, {"operation": operation.path}
    first = await _judge_receipt(survey, *await buy_receipt(case, operation))
    hashes = [first.value]
    for body in operation.other_bodies:
        try:
            other_sale = await buy_receipt(case, operation, body=body)
        except Inconclusive:
            if not operation.is_guess:
                raise
            continue
        hashes.append((await _judge_receipt(survey, *other_sale)).value)
        break
    # One operation with a query is enough: the recipe of the request is the same code for all of them.
    if operation == case.session.catalog.operations[0]:
        await _judge_with_query(survey, operation, first.recipe)
    await _judge_unusual_values(survey, operation)
    # A constant would pass RAIL-RCPT-04 if it happened to fit. Two different requests exclude that.
    if len(hashes) < 2:
        case.mark_inconclusive("RAIL-RCPT-07", "unbound: no second request is known; bind [rail.other_bodies]")
    elif None in hashes:
        case.mark_inconclusive(
            "RAIL-RCPT-07", "unbound: it is unknown which claim is the request's hash; bind [rail] request_hash"
        )
    else:
        case.expect("RAIL-RCPT-07", hashes[0] != hashes[1], "another hash for another request", hashes[0], where=where)


async def _judge_with_query(survey: _BindingSurvey, operation: Operation, recipe: str | None) -> None:
    """Judge the receipt of the same request with a query, if the service accepts one."""
    case = survey.case
    if recipe is None:
        return
    if recipe in hash_recipes.OF_THE_BODY:
        reason = f"recipe {recipe} hashes only the body, so the receipt of {operation.path} does not bind a query"
        case.mark_documented("RAIL-RCPT-04", reason)
    queried_operation = operation.with_query(_QUERY)
    # If the call is not served with a query, other checks judge that.
    with suppress(Inconclusive):
        if await probe_body(case.client, queried_operation) is None:
            await _judge_receipt(survey, *await buy_receipt(case, replace(queried_operation, is_accepted=True)))


async def _judge_unusual_values(survey: _BindingSurvey, operation: Operation) -> None:
    """Judge the receipt of a request whose JSON form encoders write differently, if the operation serves one."""
    case = survey.case
    if not any(survey.fitting_recipes.get((row, operation.path)) for row in ("RAIL-RCPT-04", "RAIL-RCPT-05")):
        return
    # Unpaid calls show which bodies an operation refuses. That does not depend on the lane, so it is found out once.
    session, name = case.session, f"unusual bodies of {operation.path}"
    sure = replace(operation, is_accepted=True)
    for body in await session.find_once(name, lambda: unusual_bodies(session.client, operation)):
        # The operation may refuse the body only after the payment.
        with suppress(Inconclusive):
            await _judge_receipt(survey, *await buy_receipt(case, sure, body=body))
            break
    # Most unusual texts are only in the request. The hash of a result shows its encoding if the result repeats such a
    # text.
    name = f"repeated body of {operation.path}"
    repeated_text_body = await session.find_once(name, lambda: repeated_body(session.client, operation))
    if repeated_text_body is not None:
        with suppress(Inconclusive):
            await _judge_receipt(survey, *await buy_receipt(case, sure, body=repeated_text_body))


@dataclass(frozen=True, slots=True)
class _RequestHash:
    """The hash of a request in a receipt, and the recipe that found it; None for each that is unknown."""

    value: str | None
    recipe: str | None


async def _judge_receipt(survey: _BindingSurvey, sale: Purchase, token: str) -> _RequestHash:
    """Judge the three bindings of one receipt and return its request hash."""
    case = survey.case
    claims, bindings = claims_of(token), case.profile.rail_bindings
    quote, result, raw = sale.challenge, result_of(case, sale.answer), sale.answer.body

    def hash_request(encode: Encoder) -> dict[str, set[str]]:
        return request_hashes(sale.operation, quote.body, quote.accepts, encode)

    def hash_response(encode: Encoder) -> dict[str, set[str]]:
        hashes = hash_recipes.response_hashes(raw, result, token, encode)
        # Without a result there is nothing that a claim could bind.
        if result is ABSENT:
            del hashes["jcs-result"]
        return hashes

    request_digests = _PossibleDigests(hash_request(hash_recipes.jcs_bytes), hash_request)
    name, place = _judge_binding(survey, "RAIL-RCPT-04", claims, request_digests, bindings.request_hash, sale)
    response_digests = _PossibleDigests({"jcs-result": set(), **hash_response(hash_recipes.jcs_bytes)}, hash_response)
    _judge_binding(survey, "RAIL-RCPT-05", claims, response_digests, bindings.response_hash, sale)
    await _judge_payment(survey, claims, sale)
    value = find_claim_at(claims, place or _REQUEST_HASH)
    return _RequestHash(value if isinstance(value, str) else None, name)


async def _judge_payment(survey: _BindingSurvey, claims: Mapping[str, Any], sale: Purchase) -> None:
    """Judge the reference of the payment in one receipt, and its other claims about the payment."""
    case, row, bound_recipe = survey.case, "RAIL-RCPT-06", survey.case.profile.rail_bindings.settled_payment_ref
    word, network = case.profile.service_word, getattr(survey.payer, "network_key", "")
    token, settlement = sale.challenge.reference(case.lane), await find_settlement(sale, survey.payer)
    references, other_tx_id = settlement.references(word, network, token), settlement.wrong_id
    recipe = (
        None
        if other_tx_id is None
        else find_wrong_recipe(claims, hash_recipes.settled_refs(word, other_tx_id, network, token))
    )
    # A receipt that names another transaction proves a payment that was never made for this call.
    if recipe is not None:
        expectation, finding = (
            f"a reference of {settlement.tx_id}, which used the authorization",
            f"{recipe} of {other_tx_id}",
        )
        where = {"operation": sale.operation.path}
        case.expect(row, False, expectation, finding, exchange=sale.answer, where=where)
    elif settlement.tx_id is None and (bound_recipe or "") not in {"", *references}:
        case.mark_inconclusive(row, "no transaction on the chain uses the authorization, and no header names one")
    else:
        _judge_binding(
            survey,
            row,
            claims,
            _PossibleDigests(references),
            bound_recipe,
            sale,
            {} if settlement.by_chain else {ON_WORD: HEADER_TRANSACTION},
        )
    survey.references.add(sale, settlement, claims)
    judge_header(case, sale, settlement)
    judge_claims(case, sale, survey.payer, claims)


def _judge_binding(
    survey: _BindingSurvey,
    row: str,
    claims: Mapping[str, Any],
    digests: _PossibleDigests,
    bound_recipe: str | None,
    sale: Purchase,
    marks: Mapping[str, str] = _NO_MARKS,
) -> tuple[str | None, str | None]:
    """Judge one binding and return the recipe and the place of the claim that contains it.

    A claim with the binding's usual name is that binding, and no other claim is. A recipe that fits the operation's
    receipts so far must fit this one.
    """
    case, path, recipes = survey.case, sale.operation.path, digests.recipes
    where = {"operation": path, **({"query": sale.operation.query} if sale.operation.query else {}), **marks}
    # A recipe of the profile that the suite cannot compute must not be replaced by a guess.
    if bound_recipe is not None and bound_recipe not in recipes:
        case.mark_inconclusive(row, f"unbound: the suite knows no recipe {bound_recipe}; it knows {', '.join(recipes)}")
        return None, None
    required_recipes = survey.fitting_recipes.get((row, path), set()).intersection(
        name for name, values in recipes.items() if values
    )
    candidates = {
        name: recipes[name]
        for name in recipes
        if (name in required_recipes if required_recipes else bound_recipe in {None, name})
    }
    survey.possible_digests.setdefault(row, []).append(recipes)
    usual_claims = {name: value for name, value in claims.items() if name == _RECIPES[row] and isinstance(value, str)}
    places = {name: hash_recipes.find_claim(usual_claims or claims, values) for name, values in candidates.items()}
    matches = {name: place for name, place in places.items() if place is not None}
    if matches:
        name, place = next(iter(matches.items()))
        survey.recipes.setdefault(row, {}).setdefault(name, set()).add(path)
        survey.fitting_recipes[row, path] = set(matches)
        case.expect(row, True, f"recipe {name} in claim {place}", None, exchange=sale.answer, where=where)
        return name, place
    if bound_recipe is None and not required_recipes:
        other_claim = hash_recipes.find_claim(claims, {value for values in recipes.values() for value in values})
        remark = f" in claim {_RECIPES[row]}, although {other_claim} contains one" if other_claim is not None else ""
        reason = f"none of the recipes {', '.join(candidates)} is found among the claims of {path}{remark}"
        unmatched_receipt = _UnmatchedReceipt(
            row, sale, digests, usual_claims or claims, usual_claims.get(_RECIPES[row]), reason
        )
        survey.unmatched_receipts.append(unmatched_receipt)
        return None, None
    _judge_unfitting(survey, row, usual_claims or claims, digests, candidates, sale, where)
    return None, None


def _judge_unfitting(
    survey: _BindingSurvey,
    row: str,
    claims: Mapping[str, Any],
    digests: _PossibleDigests,
    candidates: Mapping[str, set[str]],
    sale: Purchase,
    where: Mapping[str, str],
) -> None:
    """Judge a receipt that contains none of the recipes that the profile or the other receipts demand."""
    case, declared_recipe = survey.case, getattr(survey.case.profile.rail_bindings, _RECIPES[row])
    as_sent = {} if digests.by_encoding is None else digests.by_encoding(AS_SENT)
    if declared_recipe is None and any(
        hash_recipes.find_claim(claims, as_sent.get(name, set())) is not None for name in candidates
    ):
        reason = f"unbound: the claim fits JSON in the order that was sent, which is not a recipe; bind {_KEYS[row]}"
        case.mark_inconclusive(row, reason, exchange=sale.answer)
        return
    encoding = _describe_encoding(digests, claims, candidates)
    origin = "" if declared_recipe is not None else ", as for other requests of the operation"
    expectation = f"a claim that equals recipe {' or '.join(candidates)}{origin}"
    hint = _advise_binding(row, claims, digests.recipes)
    if encoding is not None:
        hint = f"The receipt has {encoding}. Hash the RFC 8785 form, which escapes quotes, backslashes and controls."
    finding = encoding or sorted(claims)
    case.expect(row, False, expectation, finding, exchange=sale.answer, where=where, hint=hint)


def _advise_binding(row: str, claims: Mapping[str, Any], recipes: Mapping[str, set[str]]) -> str | None:
    """Return which key to bind if another usual recipe fits. The profile is then more likely wrong than the hash."""
    recipe = next(
        (name for name, values in recipes.items() if hash_recipes.find_claim(claims, values) is not None), None
    )
    if recipe is None:
        return None
    key = f'[rail] {_RECIPES[row]} = "{recipe}"'
    return f"The receipt contains the recipe {recipe}. If you mean that recipe, bind {key}; else hash as you declare."


def find_claim_at(claims: Mapping[str, Any], place: str) -> Any:
    """Return the claim at a dotted place; `[n]` is the n-th element of a list."""
    value: Any = claims
    for name in place.replace("[", ".[").split("."):
        if name.startswith("["):
            value = value[int(name[1:-1])] if isinstance(value, list) else None
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value
