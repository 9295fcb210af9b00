"""RAIL-PAY: payments that buy a call, and what a paid answer holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.checks.rail.challenges import EXAMPLES, cache, is_shareable
from conformance.checks.rail.keys import published_keys
from conformance.checks.rail.malformed import encoded
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick import sample
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.keys import Ed25519Key
from conformance.surfaces.rail.discovery import Operation
from conformance.surfaces.rail.purchase import challenge, pay, redeem

ABSENT = object()
SPELLINGS = ("other order", "white space", "escapes", "header in lower case")


def receipts_in(answer: Answer, at: str | None) -> list[tuple[str, str]]:
    """Return the tokens of an answer that may be the payable receipt: the one at the bound place, else all."""
    found = jose.tokens_in(answer.object(), dict(answer.headers))
    if at is None:
        return found
    wanted = at.lower() if at.startswith("header:") else at
    return [(place, token) for place, token in found if (place.lower() if "header:" in place else place) == wanted]


def result_of(case: Case, answer: Answer) -> Any:
    """Return the service's result in a paid answer: at the bound place, else `result`; `ABSENT` without one."""
    place = (case.profile.rail_bindings.result_at or "body:result").removeprefix("body:")
    value: Any = answer.object()
    for name in place.split(".") if place else ():
        value = value.get(name, ABSENT) if isinstance(value, Mapping) else ABSENT
    return value


def looks_payable(token: str) -> bool:
    """Return whether a token says by its claims that it is a payable receipt."""
    try:
        claims = jose.parse(token).claims()
    except jose.JwsFault:
        return False
    return "payable" in str(claims.get("kind", "")) or {"request_hash", "response_hash"} <= claims.keys()


def goods(case: Case, answer: Answer) -> list[str]:
    """Return the places of an answer that hold what only a payment buys: a payable receipt or the service's result."""
    body = {name: member for name, member in answer.object().items() if name not in EXAMPLES}
    headers = {name: value for name, value in answer.headers.items() if name.lower() != "payment-required"}
    bound = case.profile.rail_bindings.receipt_at
    found = [place for place, token in jose.tokens_in(body, headers) if place == bound or looks_payable(token)]
    result = result_of(case, answer)
    return found if result is ABSENT or result is None else [*found, "the result"]


def told(answer: Answer) -> str:
    """Return a status with the error an answer names."""
    error = answer.object().get("error")
    return f"{answer.status} {error}" if isinstance(error, str) else str(answer.status)


@check(
    "RAIL-PAY-01",
    "RAIL-PAY-02",
    "RAIL-PAY-05",
    "RAIL-PAY-16",
    surface="rail",
    lane="algorand",
    fix="Read X-PAYMENT as base64 of {tx_id, payment_reference}, find the transaction on the chain, and answer a "
    "welded one with 200, the result and the signed payable receipt, Cache-Control: private, no-store.",
    quick=sample("operations"),
)
async def welded_algorand_payment_is_served(case: Case) -> None:
    """On Algorand the proof is tx_id plus payment_reference, and a valid one is served 200 with the payable receipt.

    Pays each operation once, welded by the note, waits for the block, and presents the proof as base64 JSON. Expects
    200, a signed compact JWS in the answer, and no leave for shared caches.
    """
    keys = [key for published in await published_keys(case) for key in published]
    rows = ("RAIL-PAY-01", "RAIL-PAY-02")
    await run_concurrently(served(case, operation, keys, rows) for operation in case.sample(case.session.operations))


async def served(case: Case, operation: Operation, keys: list[Ed25519Key], rows: tuple[str, ...]) -> None:
    """Pay one call on the check's lane and judge the answer: `rows` by its status, RAIL-PAY-05 and -16 by the rest."""
    where = {"operation": operation.path}
    quote = await challenge(case, operation)
    proof: dict[str, Any] = await pay(case, quote, case.lane)
    answer = await redeem(case, operation, proof)
    for row in rows:
        case.expect(row, answer.status == 200, "200 for a welded payment", told(answer), exchange=answer, where=where)
    if answer.status != 200:
        return
    at = case.profile.rail_bindings.receipt_at
    found = [place for place, token in receipts_in(answer, at) if at is not None or _is_signed(token, keys)]
    expected = f"a compact JWS at {at}" if at else "a compact JWS that the rail signed"
    case.expect("RAIL-PAY-05", bool(found), expected, found or "none", exchange=answer, where=where)
    case.expect(
        "RAIL-PAY-16", not is_shareable(answer), "private or no-store", cache(answer), exchange=answer, where=where
    )


def _is_signed(token: str, keys: list[Ed25519Key]) -> bool:
    try:
        jose.verify(token, keys)
    except jose.JwsFault:
        return False
    return True


@check(
    "RAIL-PAY-01",
    surface="rail",
    lane="algorand",
    fix="Parse the decoded proof with a JSON reader, and find the header whatever its case.",
)
async def proof_is_read_as_json(case: Case) -> None:
    """X-PAYMENT is read as base64-encoded JSON, however a JSON writer spells it.

    Pays one call for each spelling: members in the other order, white space between them, letters as escapes, the
    header's name in lower case. Expects 200 each time.
    """
    operation = case.session.operations[0]

    async def one(what: str) -> None:
        quote = await challenge(case, operation)
        proof: dict[str, Any] = await pay(case, quote, "algorand")
        value = encoded(spelled(proof, what).encode())
        case.client.names.name(value, "X_PAYMENT")
        name = "x-payment" if what == "header in lower case" else "X-PAYMENT"
        answer = await case.client.call("POST", operation.url, json_body=operation.body, headers={name: value})
        where = {"operation": operation.path, "spelling": what}
        case.expect("RAIL-PAY-01", answer.status == 200, "200", told(answer), exchange=answer, where=where)

    await run_concurrently(map(one, SPELLINGS))


def spelled(proof: Mapping[str, Any], what: str) -> str:
    """Return a proof's JSON text in one of `SPELLINGS`."""
    if what == "other order":
        return json.dumps(dict(reversed(list(proof.items()))))
    if what == "white space":
        return json.dumps(proof, indent=2) + "\n"
    text = json.dumps(proof, separators=(",", ":"))
    return text.replace("tx_id", "\\u0074x_id") if what == "escapes" else text
