"""RAIL-402: what an unpaid call is answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance import clock
from conformance.check import Case, Inconclusive, check
from conformance.client import Answer
from conformance.oracles.addresses import is_address
from conformance.oracles.x402 import atomic_amount, faults_of_challenge
from conformance.purchase import challenge, lane_of, pay, present

_ACCOUNT_HEADERS: tuple[Mapping[str, str], ...] = (
    {"Authorization": "Bearer weld_0123456789012345678901234567890123456789012"},
    {"Authorization": "Basic dXNlcjpwYXNz"},
    {"Authorization": "Bearer x", "X-Tenant-Id": "3f2c1b9e-4a7d-4d6b-9f6e-2b1a0c9d8e7f"},
    {"X-Api-Key": "weld_0123456789012345678901234567890123456789012"},
    {"Cookie": "session=0123456789abcdef"},
)


def entries(answer: Answer) -> list[Mapping[str, Any]]:
    """Return the `accepts` entries of an answer that are objects."""
    accepts = answer.object().get("accepts")
    return [entry for entry in accepts if isinstance(entry, dict)] if isinstance(accepts, list) else []


def references(answer: Answer) -> set[str]:
    """Return the challenge tokens of an answer."""
    extras = [entry.get("extra") for entry in entries(answer)]
    tokens = [extra.get("payment_reference") for extra in extras if isinstance(extra, dict)]
    return {token for token in tokens if isinstance(token, str) and token}


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
    fix="Answer a call without X-PAYMENT with 402 and a strict x402 v2 body: one accepts entry a lane, each with "
    "payTo, maxAmountRequired in atomic digits and a fresh extra.payment_reference, and Cache-Control: no-store.",
)
async def unpaid_call_is_challenged(case: Case) -> None:
    """An unpaid call is answered 402 with a challenge that somebody can pay.

    Sends each paid operation twice without payment. Expects 402, an x402 version 2 body with one accepts entry a lane,
    an address of the lane's chain in payTo, one price in atomic units on all lanes, a token that is fresh each time,
    nothing of the service's result, and no leave for shared caches.
    """
    for operation in case.session.operations:
        first, second = [await case.client.call("POST", operation.url, json_body=operation.body) for _ in range(2)]
        where = {"operation": operation.path}
        case.expect(
            "RAIL-402-01", first.status == 402, "402 Payment Required", first.status, exchange=first, where=where
        )
        body = first.object()
        case.expect("RAIL-402-02", bool(body), "a JSON object", first.body[:80], exchange=first, where=where)
        version = body.get("x402Version")
        case.expect(
            "RAIL-402-03", version == 2 and version is not True, "x402Version 2", version, exchange=first, where=where
        )
        accepts = body.get("accepts")
        some = isinstance(accepts, list) and len(accepts) > 0
        case.expect("RAIL-402-04", some, "accepts is a non-empty array", accepts, exchange=first, where=where)
        _judge_entries(case, first, where)
        fresh = not references(first) & references(second) and bool(references(second))
        case.expect("RAIL-402-11", fresh, "other tokens in another challenge", "the same", exchange=second, where=where)
        _judge_secrecy(case, first, where)
        faults = faults_of_challenge(body)
        case.expect(
            "RAIL-402-21", not faults, "a body that keeps the schema", "; ".join(faults), exchange=first, where=where
        )


def _judge_entries(case: Case, answer: Answer, where: Mapping[str, str]) -> None:
    found = entries(answer)
    networks = [entry.get("network") for entry in found]
    lanes = [lane_of(entry) for entry in found]
    missing = [lane for lane in case.profile.claims.lanes if lane not in lanes]
    once = len(set(map(str, networks))) == len(networks) and None not in networks
    case.expect(
        "RAIL-402-05", once and not missing and bool(found), "one entry a lane", networks, exchange=answer, where=where
    )
    amounts = []
    for entry in found:
        here = {**where, "network": str(entry.get("network"))}
        pay_to, amount = entry.get("payTo"), entry.get("maxAmountRequired")
        named = isinstance(pay_to, str) and pay_to != ""
        case.expect("RAIL-402-06", named, "a non-empty payTo", pay_to, exchange=answer, where=here)
        lane = lane_of(entry)
        if lane is not None:
            sound = named and is_address(lane, str(pay_to))
            case.expect("RAIL-402-07", sound, f"an address on {lane}", pay_to, exchange=answer, where=here)
        amounts.append(atomic_amount(amount))
        case.expect("RAIL-402-08", is_positive(amount), "a positive amount", amount, exchange=answer, where=here)
        digits = amounts[-1] is not None
        case.expect("RAIL-402-09", digits, "decimal digits in a string", amount, exchange=answer, where=here)
        extra = entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        held = isinstance(token, str) and token != ""
        case.expect("RAIL-402-10", held, "extra.payment_reference", token, exchange=answer, where=here)
    case.expect("RAIL-402-12", len(set(amounts)) == 1, "one price on all lanes", amounts, exchange=answer, where=where)


def is_positive(amount: Any) -> bool:
    """Return whether an amount, in whatever form, is more than nothing."""
    if isinstance(amount, str):
        digits = amount.replace(".", "", 1)
        return digits.isascii() and digits.isdecimal() and any(digit != "0" for digit in digits)
    return isinstance(amount, int | float) and not isinstance(amount, bool) and amount > 0


def _judge_secrecy(case: Case, answer: Answer, where: Mapping[str, str]) -> None:
    body = answer.object()
    bound = case.profile.rail_bindings.result_at or "body:result"
    leaked = [name for name in ("result", "receipt", "payable_receipt", bound.removeprefix("body:")) if name in body]
    case.expect("RAIL-402-17", not leaked, "nothing of the service's result", leaked, exchange=answer, where=where)
    case.expect(
        "RAIL-402-18",
        not is_shareable(answer),
        "no leave for shared caches",
        cache(answer),
        exchange=answer,
        where=where,
    )


def cache(answer: Answer) -> str:
    """Return the Cache-Control of an answer."""
    return ", ".join(answer.headers.getall("Cache-Control", []))


def is_shareable(answer: Answer) -> bool:
    """Return whether a shared cache may keep the answer by its own word."""
    directives = {part.strip().lower().partition("=")[0] for part in cache(answer).split(",")}
    if directives & {"no-store", "private"}:
        return False
    return bool(directives & {"public", "s-maxage"}) or "max-age" in directives


@check(
    "RAIL-402-13",
    surface="rail",
    fix="Do not read account credentials on the rail at all: payment is the only one.",
)
async def account_credentials_change_nothing(case: Case) -> None:
    """An account credential turns 402 neither into 200 nor into 401 or 403.

    Sends unpaid calls with API keys, tenant ids, Bearer and Basic credentials and cookies. Expects 402 each time.
    """
    for operation in case.session.operations:
        for headers in _ACCOUNT_HEADERS:
            answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
            case.expect(
                "RAIL-402-13",
                answer.status == 402,
                "402 as without a credential",
                answer.status,
                exchange=answer,
                where={"operation": operation.path, "header": next(iter(headers))},
            )


@check(
    "RAIL-402-19",
    surface="rail",
    fix="List only operations that exist, and answer each with 402 when it is not paid for, whatever the method.",
)
async def every_listed_operation_costs_something(case: Case) -> None:
    """Every operation that a catalog lists answers 402 when it is not paid for.

    Sends an unpaid call to every address that the catalogs, the index and the OpenAPI document name. Expects 402.
    """
    for operation in case.session.operations:
        answer = await case.client.call("POST", operation.url, json_body=operation.body)
        case.expect(
            "RAIL-402-19",
            answer.status == 402,
            "402",
            answer.status,
            exchange=answer,
            where={"operation": operation.path},
        )


@check(
    "RAIL-402-20",
    surface="rail",
    lane="each",
    exclusive=True,
    fix="Refuse a token whose issue time lies further back than its lifetime.",
)
async def challenge_is_short_lived(case: Case) -> None:
    """A challenge stops being payable after its short lifetime.

    Buys one call in time, which must be served; then lets a challenge lapse, pays it, and presents the payment.
    Expects that the second buys nothing.
    """
    operation = case.session.operations[0]
    bindings = case.profile.rail_bindings
    kept = await challenge(case, operation)
    ttl = bindings.challenge_ttl or kept.entry(case.lane).get("maxTimeoutSeconds")
    if not isinstance(ttl, int):
        raise Inconclusive("unbound: [rail] challenge_ttl is not known")
    control = await present(case, operation, await pay(case, await challenge(case, operation), case.lane))
    if control.status != 200:
        raise Inconclusive(f"the control, a payment in time, was answered {control.status}, not 200")
    await clock.pass_time(case, ttl + 61)
    answer = await present(case, operation, await pay(case, kept, case.lane))
    case.expect("RAIL-402-20", answer.status != 200, "not served after its lifetime", answer.status, exchange=answer)
