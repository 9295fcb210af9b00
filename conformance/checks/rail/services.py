"""RAIL-SVC: the paid services, their prices and verdicts, and access without an account."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.discovery.body_probe import probe_body
from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import CATALOG, INDEX, OPENAPI, RESOURCES, Operation, screen_other_addresses, texts
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.addresses import is_hexadecimal
from conformance.oracles.challenge_schema import atomic_amount
from conformance.outcome import Inconclusive
from conformance.surfaces import binding_hints
from conformance.surfaces.rail.keys import DID, JWKS
from conformance.surfaces.rail.paid_answers import ABSENT, receipts_in, result_of
from conformance.surfaces.rail.purchase import Purchase, purchase
from conformance.surfaces.rail.unpaid_answers import entries
from conformance.vocabulary.networks import EXAMPLE, HEXADECIMAL

# Clients branch on these texts, so another spelling such as `allow` or `BLOCK` is an unknown verdict to them.
VERDICTS = frozenset({"ALLOW", "REFER", "DENY"})
_VERDICT_NAMES = ("screen_result", "verdict")
# One address for each verdict of the reference's screening. The discovered bodies show two of the three.
_FLAGGED_BODY = {"recipient_address": "screen-flag", "network": EXAMPLE.key}
_FLAGGED_HEX_BODY = {"recipient_address": "0x000000000000000000000000000000000000f1a9", "network": HEXADECIMAL.key}
_DEPTH = 4
_SECOND_PAGE = RESOURCES.partition("?")[0] + "?limit=1&offset=1"
_MISSING_STATUSES = frozenset({404, 410})
_SIGN_IN_WORDS = ("login", "signin", "sign-in", "register", "signup", "sign-up", "oauth", "auth")


@check(
    "RAIL-SVC-01",
    "RAIL-SVC-05",
    surface="rail",
    fix="Offer receipt verification as a paid operation, at 0.01 USDC or at the price that the profile declares.",
)
async def receipt_verification_is_sold(case: Case) -> None:
    """A paid receipt-verification service is offered, at 0.01 USDC unless the operator declares another price.

    Calls the service's operation unpaid. Expects 402 with accepts, and the declared price on every lane.
    """
    operation = case.session.catalog.find_service("receipt-verify")
    answer = await case.client.call("POST", operation.url, json_body=operation.body)
    is_offered = answer.status == 402 and bool(entries(answer))
    case.expect("RAIL-SVC-01", is_offered, "402 with accepts", answer.status, exchange=answer)
    if not is_offered:
        return
    # The default is the interface's 0.01 USDC. An operator may declare another price in the profile.
    declared_price = atomic_amount(case.profile.rail_bindings.price_receipt_verify)
    prices = [entry.get("maxAmountRequired") for entry in entries(answer)]
    is_declared_price = all(atomic_amount(price) == declared_price for price in prices) and declared_price is not None
    hint = binding_hints.of_price("price_receipt_verify" in case.profile.rail.model_fields_set)
    case.expect(
        "RAIL-SVC-05",
        is_declared_price,
        f"{declared_price} atomic units on every lane",
        prices,
        exchange=answer,
        hint=hint,
    )


@check(
    "RAIL-SVC-02",
    surface="rail",
    lane="each",
    fix="Offer RFC 9421 verification as a paid operation whose answer contains a result and the payable receipt.",
)
async def message_verification_is_sold(case: Case) -> None:
    """A paid RFC 9421 verification service is offered, and its result comes with a receipt.

    Buys one verification. Expects a result and a signed token in the answer.
    """
    operation = case.session.catalog.find_service("rfc9421-verify")
    # A bound path that does not exist is the operator's error, and the hint says which key to correct.
    if not await _judge_offer(case, "RAIL-SVC-02", operation):
        return
    sale = await purchase(case, operation, case.lane)
    result = result_of(case, sale.answer)
    if result is ABSENT and case.profile.rail_bindings.result_at is None:
        raise Inconclusive("unbound: the place of the result in a paid answer is unknown; bind [rail] result_at")
    # The result alone could be produced without a sale. The receipt proves that this call was paid.
    places = [place for place, _ in receipts_in(sale.answer, case.profile.rail_bindings.receipt_at)]
    holds = result is not ABSENT and bool(result) and bool(places)
    finding = f"{'no result' if result is ABSENT else 'a result'}, tokens at {places or 'no place'}"
    case.expect("RAIL-SVC-02", holds, "a result and a receipt", finding, exchange=sale.answer)


@check(
    "RAIL-SVC-03",
    "RAIL-SVC-04",
    surface="rail",
    lane="each",
    fix="Answer a paid screening with a compliance receipt whose verdict is exactly ALLOW, REFER or DENY.",
)
async def screening_is_sold(case: Case) -> None:
    """A paid compliance service is offered whose receipt carries a verdict: ALLOW, REFER or DENY and nothing else.

    Buys a screening of every known request body. If the known body screens the allowed address of the specification's
    examples, also buys one of the flagged and of the blocked address, if the service accepts them. Expects a signed
    token with a verdict in each answer. Expects no verdict outside the set, in a token or in the result. At a target
    that claims the specification, expects in the receipt the reference of its payment as `payment_hash` (2.3).
    """
    operation = case.session.catalog.find_service("compliance-receipt")
    if not await _judge_offer(case, "RAIL-SVC-03", operation):
        return
    await run_concurrently(_judge_screening(case, operation, body) for body in list_screening_bodies(case, operation))
    if not case.profile.is_reference:
        outcomes = await run_concurrently(
            _screen_uncertain(case, operation, body) for body in screen_other_addresses(operation)
        )
        if operation.is_guess and not any(outcomes):
            reason = f"no address is known that {operation.path} flags or blocks, so its other verdicts were not seen"
            case.mark_documented("RAIL-SVC-04", f"{reason}; bind [rail.other_bodies] {operation.role}")


@check(
    "RAIL-SVC-03",
    surface="rail",
    fix="Look up a hexadecimal address by its 20 bytes. Its letters are digits, in either case.",
)
async def letters_of_an_address_change_no_verdict(case: Case) -> None:
    """A hexadecimal address is screened by its bytes: in lower and in upper case it gets one verdict (P-NW-04).

    Buys on one lane a screening of an address from the profile's bodies, once in lower case and once in upper case.
    Neither spelling is a checksum. On the reference it is an address that it flags. Expects one verdict. Without such
    an address nothing is judged. On another target than the reference a difference only warns.
    """
    operation, lanes = case.session.catalog.find_service("compliance-receipt"), case.profile.claims.lanes
    ours = case.profile.is_reference
    known_bodies = [
        operation.body,
        *(() if operation.is_guess else operation.other_bodies),
        *((_FLAGGED_HEX_BODY,) if ours else ()),
    ]
    body = next(
        (one for one in known_bodies if respell_addresses(one, str.lower) != respell_addresses(one, str.upper)), None
    )
    if body is None or not operation.is_accepted or not lanes:
        case.mark_not_applicable("RAIL-SVC-03", "no known request of the screening contains a hexadecimal address")
        return
    # A sanctions list compared as text misses an address in the other case, and a listed party passes.
    bodies = [respell_addresses(body, str.lower), respell_addresses(body, str.upper)]
    try:
        sales = await run_concurrently(purchase(case, operation, lanes[0], body=one) for one in bodies)
    except Inconclusive as refusal:
        case.mark_not_applicable("RAIL-SVC-03", f"not every spelling of an address is screened: {refusal}")
        return
    verdicts = [list_verdicts(one.answer, result_of(case, one.answer))[1] for one in sales]
    beyond = None if ours else "that addresses are compared by their bytes is this suite's default"
    is_same, finding = verdicts[0] == verdicts[1], " and ".join(map(str, verdicts))
    case.expect("RAIL-SVC-03", is_same, "one verdict", finding, exchange=sales[1].answer, beyond=beyond)


def respell_addresses(body: Any, spell: Callable[[str], str]) -> Any:
    """Return a request with the digits of every hexadecimal address in it respelled."""
    if not isinstance(body, Mapping):
        return body
    addresses = {name: text for name, text in body.items() if isinstance(text, str) and is_hexadecimal(text)}
    return {**body, **{name: "0x" + spell(text[2:]) for name, text in addresses.items()}}


async def _judge_offer(case: Case, row: str, operation: Operation) -> bool:
    """Judge that a service exists at the path that the profile binds for it, if any; return whether it does."""
    # An operation that discovery found exists. Only a path that the profile binds may be wrong.
    # Discovery found the operation by its price, so it exists. Only a path from the profile may be wrong.
    if operation.role not in (case.profile.rail_bindings.services or {}):
        return True
    answer = await case.client.call("POST", operation.url, json_body=operation.body)
    if answer.status not in _MISSING_STATUSES:
        return True
    hint = f"Offer it there, or bind [rail.services] {operation.role} to where you do."
    where = {"operation": operation.path}
    return case.expect(row, False, "402 with accepts", answer.status, exchange=answer, where=where, hint=hint)


def list_screening_bodies(case: Case, operation: Operation) -> list[Any]:
    """Return the bodies to screen: those that the service is known to accept, and on the reference one per verdict."""
    bodies = [operation.body, *(() if operation.is_guess else operation.other_bodies)]
    if case.profile.is_reference and not case.profile.rail_bindings.bodies:
        bodies.append(_FLAGGED_BODY)
    return bodies


async def _screen_uncertain(case: Case, operation: Operation, body: Any) -> bool:
    """Screen an address that the service may refuse; return whether it was screened."""
    if await probe_body(case.client, replace(operation, body=body)) is not None:
        return False
    try:
        await _judge_screening(case, replace(operation, is_accepted=True), body)
    except Inconclusive:
        return False
    return True


async def _judge_screening(case: Case, operation: Operation, body: Any) -> None:
    sale = await purchase(case, operation, case.lane, body=body)
    token_verdicts, all_verdicts = list_verdicts(sale.answer, result_of(case, sale.answer))
    case.expect(
        "RAIL-SVC-03", bool(token_verdicts), "a signed token with a verdict", all_verdicts, exchange=sale.answer
    )
    if all_verdicts:
        is_known = all(isinstance(verdict, str) and verdict in VERDICTS for verdict in all_verdicts)
        case.expect("RAIL-SVC-04", is_known, "ALLOW, REFER or DENY", all_verdicts, exchange=sale.answer)
    if case.profile.claims.specification is not None:
        _judge_payment_hash(case, sale)


def _judge_payment_hash(case: Case, sale: Purchase) -> None:
    """Judge that the sold compliance receipt is bound to the payment for it (2.3)."""
    result = result_of(case, sale.answer)
    token = result.get("compliance_receipt_jws") if isinstance(result, Mapping) else None
    try:
        payment_hash = jose.parse(str(token)).claims().get("payment_hash")
    except jose.JwsFault:
        payment_hash = None
    reference = sale.answer.read_object().get("settled_payment_ref")
    holds = reference is not None and payment_hash == reference
    case.expect("RAIL-SVC-03", holds, f"payment_hash {reference}", payment_hash, exchange=sale.answer)


def list_verdicts(answer: Answer, result: Any) -> tuple[list[Any], list[Any]]:
    """Return the verdicts in an answer's signed tokens, and all its verdicts including those of the result.

    A claim is a verdict by its name. If no claim has such a name, it is one by its value.
    """
    token_verdicts: list[Any] = []
    for _, token in jose.tokens_in(answer.read_object(), dict(answer.headers)):
        try:
            claims = jose.parse(token).claims()
        except jose.JwsFault:
            continue
        # A claim with a verdict's name may have a wrong value, which RAIL-SVC-04 must see. Any other claim counts by
        # its value.
        named_verdicts = [claims[name] for name in _VERDICT_NAMES if name in claims]
        token_verdicts += named_verdicts or [value for value in texts(claims, _DEPTH) if value in VERDICTS]
    result_verdicts = [result[name] for name in _VERDICT_NAMES if name in result] if isinstance(result, Mapping) else []
    return token_verdicts, token_verdicts + result_verdicts


@check(
    "RAIL-SVC-06",
    surface="rail",
    fix="Require no registration and no sign-in on the rail: the payment is the only credential.",
)
async def nobody_signs_in(case: Case) -> None:
    """No endpoint of the rail requires registration, login or a tenant record.

    Calls every published document, a second page of the catalog, every paid operation and every other path of the
    OpenAPI document without a credential. Expects neither 401 nor 403, no redirect to a sign-in page, and no security
    requirement in that document.
    """
    rail = case.session.rail
    openapi = apply_server_paths((await case.client.call("GET", rail + OPENAPI)).read_object(), rail)
    bodies = {operation.path: operation.body for operation in case.session.catalog.operations}
    calls = {("GET", path) for path in (CATALOG, RESOURCES, _SECOND_PAGE, INDEX, OPENAPI, DID, JWKS)}
    calls |= {("POST", path) for path in bodies}
    # A sign-in may hide behind any page of the catalog or undocumented default, so every known call is made.
    calls |= {(method, path) for path, method in list_open_calls(openapi)}
    for method, path in sorted(calls):
        body = None if method == "GET" else bodies.get(path, {})
        answer = await case.client.call(method, rail + path, json_body=body)
        where = {"operation": path, "method": method}
        case.expect(
            "RAIL-SVC-06", not asks_to_sign_in(answer), "no sign-in", answer.status, exchange=answer, where=where
        )
    if not openapi:
        raise Inconclusive("the rail publishes no OpenAPI document with security requirements")
    requirements = list_security_requirements(openapi)
    case.expect("RAIL-SVC-06", not requirements, "no security requirement", requirements)


def asks_to_sign_in(answer: Answer) -> bool:
    """Return whether an answer demands an account, by its status or by a redirect to a sign-in page."""
    if 300 <= answer.status < 400:
        # A redirect to another spelling of the same path is not a sign-in, so only typical words count.
        return any(word in answer.headers.get("Location", "").lower() for word in _SIGN_IN_WORDS)
    return answer.status in {401, 403, 407, 511}


def list_open_calls(openapi: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, method) of every GET and POST of an OpenAPI document whose path has no parameter."""
    paths = openapi.get("paths")
    for path, path_object in paths.items() if isinstance(paths, dict) else ():
        for method in ("get", "post"):
            if isinstance(path_object, dict) and method in path_object and "{" not in path:
                yield path, method.upper()


def list_security_requirements(openapi: Mapping[str, Any]) -> list[str]:
    """Return the operations that demand a credential, by their own `security` or that of the OpenAPI document."""
    paths = openapi.get("paths")
    operations = []
    for path, path_object in paths.items() if isinstance(paths, dict) else ():
        for method, operation in path_object.items() if isinstance(path_object, dict) else ():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            requirements = operation.get("security", openapi.get("security"))
            # One empty requirement among them makes all the others optional.
            if isinstance(requirements, list) and requirements and all(requirements):
                operations.append(f"{method.upper()} {path}")
    return operations
