"""RAIL-402: the answer to an unpaid call, and the lifetime of its challenge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from conformance.checks.rail.keys import names_host
from conformance.discovery.openapi_paths import apply_server_paths
from conformance.discovery.rail import INDEX, Operation, catalog_urls, index_urls, is_paid, listing_urls, path_of
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.http.client import Answer
from conformance.oracles.addresses import is_address
from conformance.oracles.challenge_schema import atomic_amount, faults_of_challenge
from conformance.oracles.ed25519_keys import did_web_of
from conformance.outcome import Inconclusive, OpenPoint
from conformance.surfaces.rail.keys import DID, document
from conformance.surfaces.rail.paid_answers import find_goods
from conformance.surfaces.rail.purchase import challenge, lane_of, pay, redeem
from conformance.surfaces.rail.unpaid_answers import (
    FEWEST,
    cache_control,
    entries,
    example_of,
    find_leaks,
    is_shareable,
    objects,
    references,
)
from conformance.vocabulary.lanes.registry import FACTS

_JWS_DOTS = 2
# The shortest lifetime in seconds whose last twentieth is long enough to pay in.
_LONG_LIFETIME_SECONDS = 600
# The methods that an OpenAPI path may declare as paid. HEAD and OPTIONS never sell anything.
_METHODS = ("get", "post", "put", "patch", "delete")
_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_SPOOFED_LOOPBACK = "one that says to come from the machine itself"
# Bodies that no service accepts, by description. A rail that validates the body before it asks for payment answers 400
# or 422, and a client never learns the price.
_INVALID_BODIES: Mapping[str, bytes] = {
    "no body": b"",
    "an object without its end": b'{"a":',
    "an integer that RFC 8785 has no form for": b'{"a":9007199254740993}',
    "a did:key of 31 bytes": b'{"did_key":"did:key:z2DQUz8yxybcgY49o2TDENNPqPQBbVynuU6CcNCWtSMrwMx"}',
}


@check(
    "RAIL-402-01",
    "RAIL-402-02",
    "RAIL-402-03",
    "RAIL-402-04",
    "RAIL-402-05",
    "RAIL-402-06",
    "RAIL-402-07",
    "RAIL-402-08",
    "RAIL-402-09",
    "RAIL-402-10",
    "RAIL-402-11",
    "RAIL-402-12",
    "RAIL-402-17",
    "RAIL-402-18",
    "RAIL-402-21",
    surface="rail",
    fix="Answer a call without X-PAYMENT with 402, Cache-Control: no-store and a strict x402 v2 body. It has one "
    "accepts entry for each lane, with payTo, maxAmountRequired in atomic units and a fresh extra.payment_reference.",
)
async def unpaid_call_is_challenged(case: Case) -> None:
    """An unpaid call is answered 402 with a challenge that can be paid.

    Sends each paid operation twice without payment. Expects 402 and an x402 version 2 body with one accepts entry for
    each lane. Expects an address of the lane's chain in payTo, one price in atomic units on all lanes, and a fresh
    token each time. The answer must contain nothing of the service's result, and shared caches must not store it.
    """
    for operation in case.session.catalog.operations:
        first, second = [await case.client.call("POST", operation.url, json_body=operation.body) for _ in range(2)]
        where = {"operation": operation.path}
        case.expect(
            "RAIL-402-01", first.status == 402, "402 Payment Required", first.status, exchange=first, where=where
        )
        body = first.read_object()
        case.expect("RAIL-402-02", bool(body), "a JSON object", first.body[:80], exchange=first, where=where)
        version = body.get("x402Version")
        case.expect(
            "RAIL-402-03", version == 2 and version is not True, "x402Version 2", version, exchange=first, where=where
        )
        accepts = body.get("accepts")
        has_entries = isinstance(accepts, list) and len(accepts) > 0
        case.expect("RAIL-402-04", has_entries, "accepts is a non-empty array", accepts, exchange=first, where=where)
        _judge_entries(case, first, where)
        # A token that two challenges share lets two payers bind to one challenge, so one of them pays for nothing.
        is_fresh = not references(first) & references(second) and bool(references(second))
        expectation, finding = "other tokens in another challenge", "others" if is_fresh else "the same, or none"
        case.expect("RAIL-402-11", is_fresh, expectation, finding, exchange=second, where=where)
        _judge_secrecy(case, first, where)
        faults = faults_of_challenge(body)
        case.expect(
            "RAIL-402-21", not faults, "a body that keeps the schema", "; ".join(faults), exchange=first, where=where
        )


def _judge_entries(case: Case, answer: Answer, where: Mapping[str, str]) -> None:
    accepts = entries(answer)
    networks = [entry.get("network") for entry in accepts]
    # Duplicates are judged by the network's name, and missing lanes by the suite's own reading of it.
    lanes = [lane_of(entry) for entry in accepts]
    missing_lanes = [lane for lane in case.profile.claims.lanes if lane not in lanes]
    is_unique = len(set(map(str, networks))) == len(networks) and None not in networks
    case.expect(
        "RAIL-402-05",
        is_unique and not missing_lanes and bool(accepts),
        "one entry a lane",
        networks,
        exchange=answer,
        where=where,
    )
    amounts = []
    for entry in accepts:
        entry_where = {**where, "network": str(entry.get("network"))}
        pay_to, amount = entry.get("payTo"), entry.get("maxAmountRequired")
        has_payee = isinstance(pay_to, str) and pay_to != ""
        case.expect("RAIL-402-06", has_payee, "a non-empty payTo", pay_to, exchange=answer, where=entry_where)
        lane = lane_of(entry)
        if lane is not None:
            is_address_there = has_payee and is_address(FACTS[lane].namespace, str(pay_to))
            case.expect(
                "RAIL-402-07", is_address_there, f"an address on {lane}", pay_to, exchange=answer, where=entry_where
            )
        # A number in JSON may lose precision or gain a fraction, so x402 demands the atomic amount as a text of
        # digits.
        digits = atomic_amount(amount)
        amounts.append(amount if digits is None else digits)
        case.expect("RAIL-402-08", is_positive(amount), "a positive amount", amount, exchange=answer, where=entry_where)
        case.expect(
            "RAIL-402-09", digits is not None, "decimal digits in a string", amount, exchange=answer, where=entry_where
        )
        extra = entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        has_token = isinstance(token, str) and token != ""
        case.expect("RAIL-402-10", has_token, "extra.payment_reference", token, exchange=answer, where=entry_where)
    is_one_price = bool(amounts) and all(amount == amounts[0] for amount in amounts)
    case.expect("RAIL-402-12", is_one_price, "one price on all lanes", amounts, exchange=answer, where=where)


def is_positive(amount: Any) -> bool:
    """Return whether an amount is positive, as a number or as a text."""
    if isinstance(amount, str):
        digits = amount.replace(".", "", 1)
        return digits.isascii() and digits.isdecimal() and any(digit != "0" for digit in digits)
    return isinstance(amount, int | float) and not isinstance(amount, bool) and amount > 0


def _judge_secrecy(case: Case, answer: Answer, where: Mapping[str, str]) -> None:
    result_at = case.profile.rail_bindings.result_at
    leaked_places = find_leaks(answer, result_at)
    beyond = (
        None
        if is_goods(answer, leaked_places, result_at)
        else "it looks like what is paid for, and may be something else"
    )
    # A client that gets the result with the 402 has no reason to pay.
    expectation = "nothing of the service's result"
    case.expect(
        "RAIL-402-17", not leaked_places, expectation, leaked_places, exchange=answer, where=where, beyond=beyond
    )
    is_private = not is_shareable(answer)
    # A cached challenge hands one payer's token to another client.
    case.expect(
        "RAIL-402-18", is_private, "Cache-Control: no-store", cache_control(answer), exchange=answer, where=where
    )


def is_goods(answer: Answer, places: Sequence[str], result_at: str | None = None) -> bool:
    """Return whether the leaked places surely contain sold content: the bound place, a receipt, or a typical result."""
    body = answer.read_object()
    if (result_at or "").removeprefix("body:") in places:
        return True
    receipts = {"receipt", "payable_receipt"}.intersection(places)
    if any(isinstance(body[name], str) and body[name].count(".") == _JWS_DOTS for name in receipts):
        return True
    examples = [call for _, call in objects(example_of(answer), "") if len(call) >= FEWEST]
    return any(
        _is_like(call, example) for place, call in objects(body, "body") for example in examples if place in places
    )


def _is_like(value: Mapping[str, Any], example: Mapping[str, Any]) -> bool:
    """Return whether an object has an example's members with the same types, and is not the example itself."""
    has_same_types = all(type(value.get(name)) is type(member) for name, member in example.items())
    return has_same_types and dict(value) != dict(example)


@check(
    "RAIL-402-01",
    "RAIL-402-02",
    "RAIL-402-04",
    surface="rail",
    fix="Check for a payment before anything else. Without one, answer 402 with the whole challenge, whatever the body "
    "and the Accept header.",
)
async def every_unpaid_call_is_challenged(case: Case) -> None:
    """Every client and every order without a payment is answered 402 with a challenge.

    Calls each paid operation without payment: as a browser, with an X-Forwarded-For of the machine itself, without a
    body, with half of one, with an integer that RFC 8785 cannot write, and with a key of the wrong length. Expects 402
    with accepts in a JSON object each time. Also calls other spellings of its path, which may answer anything but the
    result. The interface states this for paid calls in general, so any answer without the result only warns.
    """
    ours = case.profile.is_reference
    for operation in case.session.catalog.operations:
        calls: dict[str, dict[str, Any]] = {
            description: {"body": body, "headers": {"Content-Type": "application/json"}}
            for description, body in _INVALID_BODIES.items()
        }
        calls["a browser's"] = {"json_body": operation.body, "headers": {"Accept": _BROWSER}}
        # A server that trusts the header may exempt calls from its own machine, which any client can claim to be.
        calls[_SPOOFED_LOOPBACK] = {"json_body": operation.body, "headers": {"X-Forwarded-For": "127.0.0.1"}}
        for description, arguments in calls.items():
            answer = await case.client.call("POST", operation.url, **arguments)
            where = {"operation": operation.path, "call": description}
            # A free answer is a breach only if it contains the sold result. A landing page for a browser is not.
            is_served = answer.status < 300 and bool(find_goods(case, answer))
            beyond = None if ours or is_served else "the interface says nothing about such a call"
            is_challenged = answer.status == 402
            case.expect("RAIL-402-01", is_challenged, "402", answer.status, exchange=answer, where=where, beyond=beyond)
            if is_challenged:
                _judge_form(case, answer, where, beyond)
        await _judge_other_paths(case, operation)


async def _judge_other_paths(case: Case, operation: Operation) -> None:
    """Judge that no result is returned at paths that a careless router takes for a paid one."""
    head, _, last = operation.path.rpartition("/")
    # Spellings that a proxy or a router commonly treats as the same path, while a guard in front compares texts.
    for path in (f"{operation.path}/", f"{head}//{last}", f"{head}/{last.upper()}", f"{head}/./{last}"):
        answer = await case.client.call("POST", case.session.rail + path, json_body=operation.body)
        results = find_goods(case, answer) if answer.status < 300 else []
        expectation, where = "402, or no result", {"operation": path}
        case.expect("RAIL-402-01", not results, expectation, results or answer.status, exchange=answer, where=where)


def _judge_form(case: Case, answer: Answer, where: Mapping[str, str], beyond: str | None) -> None:
    body = answer.read_object()
    expectation = "a JSON object"
    case.expect("RAIL-402-02", bool(body), expectation, answer.body[:80], exchange=answer, where=where, beyond=beyond)
    expectation = "accepts is a non-empty array"
    if body:
        case.expect(
            "RAIL-402-04", bool(entries(answer)), expectation, body, exchange=answer, where=where, beyond=beyond
        )


@check(
    "RAIL-402-19",
    surface="rail",
    fix="List only operations that exist, and answer each with 402 when it is not paid for, whatever the method.",
)
async def every_listed_operation_costs_something(case: Case) -> None:
    """Every operation that a catalog lists answers 402 when it is not paid for.

    Reads the addresses in both catalogs, the index and the OpenAPI document. Sends an unpaid call to each, by every
    method that the OpenAPI document declares as paid there, or by POST. Expects 402. If the rail's DID names the
    address under test, listed addresses of another host warn.
    """
    rail = case.session.rail
    openapi = apply_server_paths((await case.client.call("GET", rail + "/openapi.json")).read_object(), rail)
    catalog = (await case.client.call("GET", rail + "/.well-known/x402")).read_object()
    resource_page = (await case.client.call("GET", rail + "/discovery/resources?limit=100")).read_object()
    index = (await case.client.call("GET", rail + INDEX)).read_object()
    urls = [*catalog_urls(catalog), *listing_urls(resource_page), *index_urls(index)]
    await _judge_hosts(case, urls)
    calls = {(path, method) for path, method in list_paid_methods(openapi) if "{" not in path}
    declared_paths = {path for path, _ in calls}
    # The catalogs name no methods. The interface sells by POST, so that is tried where OpenAPI declares nothing.
    calls |= {(path, "POST") for url in urls if (path := path_of(rail, url)) not in declared_paths}
    if not calls:
        raise Inconclusive("no address of a paid operation was found in the catalogs, the index or OpenAPI")
    bodies = {operation.path: operation.body for operation in case.session.catalog.listed_operations}
    for path, method in sorted(calls):
        body = None if method == "GET" else bodies.get(path, {})
        answer = await case.client.call(method, rail + path, json_body=body)
        where = {"operation": path, "method": method}
        if (body_doubt := case.session.catalog.find_refusal(path)) is not None and answer.status in {400, 422}:
            # The suite knows no body that this service accepts. Its refusal of an empty body may precede the payment.
            case.mark_inconclusive("RAIL-402-19", body_doubt, exchange=answer)
            continue
        case.expect("RAIL-402-19", answer.status == 402, "402", answer.status, exchange=answer, where=where)


async def _judge_hosts(case: Case, urls: Sequence[str]) -> None:
    """Judge that listed addresses have the host that the rail's DID names, if that host is under test.

    The operator chooses the rail's public address. A rail that is tested at another address is not judged.
    """
    _, did = await document(case, DID)
    identifier = did.get("id") if isinstance(did, dict) else None
    if not names_host(identifier, did_web_of(case.session.rail)):
        return
    own_host = find_host(case.session.rail)
    other_hosts = sorted({host for url in urls if (host := find_host(url)) is not None and host != own_host})
    expectation = f"addresses at {own_host}"
    beyond = OpenPoint("the interface says nothing about the host that a catalog names", "5.10")
    case.expect("RAIL-402-19", not other_hosts, expectation, other_hosts or expectation, beyond=beyond)


def find_host(url: str) -> str | None:
    """Return host and port of an absolute http address, or None. A loopback address becomes `localhost`."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    # A bracket without an IPv6 address, or a port that is not a number.
    except ValueError:
        return None
    if not parts.hostname or port is None:
        return None
    host = "localhost" if parts.hostname in {"127.0.0.1", "::1"} else parts.hostname
    return f"{host}:{port}"


def list_paid_methods(openapi: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, method) of every operation that an OpenAPI document declares as paid."""
    paths = openapi.get("paths")
    for path, path_object in paths.items() if isinstance(paths, dict) else ():
        for method in _METHODS:
            operation = path_object.get(method) if isinstance(path_object, dict) else None
            if isinstance(operation, dict) and is_paid(operation):
                yield path, method.upper()


@check(
    "RAIL-402-20",
    surface="rail",
    lane="each",
    exclusive=Exclusive.CLOCK,
    fix="Refuse a token that is older than its lifetime, but serve a payer who paid before its end.",
)
async def challenge_is_short_lived(case: Case) -> None:
    """A challenge stops being payable after its short lifetime.

    Pays one challenge in time, and expects that it is served. If the clock can be moved, only a twentieth of its
    lifetime is left then. Lets another challenge lapse, pays it, and presents the payment. Expects that it is not
    served. The lifetime is the bound one, or else maxTimeoutSeconds. The interface does not forbid a longer one than
    that.
    """
    operation = case.session.catalog.operations[0]
    bound_lifetime = case.profile.rail_bindings.challenge_ttl
    late_quote = await challenge(case, operation)
    lifetime = bound_lifetime or late_quote.entry(case.lane).get("maxTimeoutSeconds")
    if not isinstance(lifetime, int) or isinstance(lifetime, bool):
        raise Inconclusive("unbound: [rail] challenge_ttl is not known")
    timely_quote = await challenge(case, operation)
    waited_seconds = 0
    # A payment near the end of the lifetime finds a rail that shortens it or measures it from another moment.
    if case.profile.clock.offset_file is not None and lifetime >= _LONG_LIFETIME_SECONDS:
        waited_seconds = lifetime - lifetime // 20
        await clock.pass_time(case, waited_seconds)
    control = await redeem(case, operation, await pay(case, timely_quote, case.lane))
    if control.status != 200:
        if waited_seconds and bound_lifetime is not None:
            await _judge_late(case, control, f"{waited_seconds} of {lifetime} s after its challenge")
        when = f"{waited_seconds} of its {lifetime} s old" if waited_seconds else "in time"
        raise Inconclusive(f"the control, a payment of a challenge {when}, was answered {control.status}, not 200")
    # One second more than the 60 s by which the clocks of payer and rail may differ.
    await clock.pass_time(case, lifetime + 61 - waited_seconds)
    answer = await redeem(case, operation, await pay(case, late_quote, case.lane))
    if answer.status >= 500 and answer.status != 503:
        raise Inconclusive(f"the lapsed challenge was answered {answer.status}: a server error is not a refusal")
    if answer.status < 300 and bound_lifetime is None:
        raise Inconclusive(f"unbound: served after {lifetime} s; bind [rail] challenge_ttl")
    case.expect("RAIL-402-20", answer.status >= 300, "not served after its lifetime", answer.status, exchange=answer)


async def _judge_late(case: Case, answer: Answer, when: str) -> None:
    """Judge a payment late in the lifetime that was not served. It is a breach if an immediate payment is served."""
    operation = case.session.catalog.operations[0]
    immediate_answer = await redeem(case, operation, await pay(case, await challenge(case, operation), case.lane))
    if immediate_answer.status == 200:
        expectation = f"a payment {when} served, as an immediate one is"
        case.expect("RAIL-402-20", False, expectation, answer.status, exchange=answer)
