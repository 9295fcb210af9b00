"""RAIL-SVC-01 and RAIL-RCPT-09: what the rail's own paid verification says of receipts, changed ones among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick import sample
from conformance.http.client import Answer
from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.keys import encode_base64url
from conformance.surfaces.agent import answers
from conformance.surfaces.rail.paid_answers import brief, result_of
from conformance.surfaces.rail.purchase import challenge, pay, purchase, redeem
from conformance.surfaces.rail.receipts import claims_of, receipt_of

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SEGMENTS = 3
_BAD_REQUEST = frozenset({400, 422})


def changed(token: str) -> Iterator[tuple[str, str]]:
    """Yield a receipt with one character changed, added or left out, by what was done to it.

    The last character of an Ed25519 signature in base64url holds four bits that mean nothing: a reader that does not
    look at them takes sixteen texts for one receipt.
    """
    header, payload, signature = token.split(".")
    last = _ALPHABET.index(signature[-1])
    yield "spare bits set", f"{header}.{payload}.{signature[:-1]}{_ALPHABET[last ^ 1]}"
    yield "its last character left out", token[:-1]
    yield "padded", token + "="
    middle = len(payload) // 2
    other = _ALPHABET[_ALPHABET.index(payload[middle]) ^ 1]
    yield "a character of the payload changed", f"{header}.{payload[:middle]}{other}{payload[middle + 1 :]}.{signature}"


def forged(token: str) -> Iterator[tuple[str, str]]:
    """Yield what was forged of a receipt, by what was done to it: its signature, and a claim under its signature."""
    header, _, signature = token.split(".")
    other = ("A" if signature[0] != "A" else "B") + signature[1:]
    claims = {**claims_of(token), "service_id": "another"}
    yield "another signature", token.removesuffix(signature) + other
    yield "another claim", f"{header}.{encode_base64url(jcs_bytes(claims))}.{signature}"


@check(
    "RAIL-SVC-01",
    "RAIL-RCPT-09",
    surface="rail",
    fix="Verify receipts with one strict reader: one spelling of base64url, the signature over the bytes that came.",
    quick=sample("changed receipts"),
)
async def receipts_are_verified(case: Case) -> None:
    """The paid verification of receipts finds the rail's own receipt sound, and no forged or changed one.

    Buys a receipt, and on one lane has it verified by the paid service: as it is, with another signature, with another
    claim, with the spare bits of its signature set, without its last character, padded, and with one character of the
    payload changed. Expects that only the first is verified. Where the service takes receipts in a way that nobody
    tells, or verifies none of its own, which only the reference must, nothing is judged.
    """
    operation = case.session.service("receipt-verify")
    member = member_for(operation.body)
    if member is None or not operation.sure or not case.profile.claims.lanes:
        _leave_open(case, "how this service takes a receipt is not known, and so not what it verifies")
        return
    token = receipt_of(case, await purchase(case, operation, case.profile.claims.lanes[0]))[1]
    case.client.names.name(token, "RECEIPT")
    answer, sound = await _verified(case, operation, {**operation.body, member: token})
    if sound is None:
        _leave_open(case, f"what the paid verification says of a receipt is not known: {brief(answer)}")
        return
    if not sound and case.profile.target.defaults != "reference":
        _leave_open(case, "which receipts a rail's verification takes is left open, and this one's takes not its own")
        return
    told = "the rail's own receipt verified"
    case.expect("RAIL-SVC-01", sound, told, "verified" if sound else "not verified", exchange=answer)
    if sound:
        trials = [("RAIL-SVC-01", *forgery) for forgery in forged(token)]
        trials += [("RAIL-RCPT-09", *change) for change in case.sample(list(changed(token)))]
        await run_concurrently(_refused(case, operation, member, *trial) for trial in trials)


def _leave_open(case: Case, reason: str) -> None:
    """Say that this trial does not apply, so that the rows stand as others judge them."""
    for row in ("RAIL-SVC-01", "RAIL-RCPT-09"):
        case.not_applicable(row, reason)


async def _refused(case: Case, operation: Operation, member: str, row: str, what: str, token: str) -> None:
    case.client.names.name(token, "RECEIPT_WITH_" + what.upper().replace(" ", "_"))
    answer, sound = await _verified(case, operation, {**operation.body, member: token})
    holds = sound is not True and answer.status < 500
    found = "verified" if sound else brief(answer)
    case.expect(row, holds, "not verified", found, exchange=answer, where={"receipt": what})


async def _verified(case: Case, operation: Operation, body: Mapping[str, Any]) -> tuple[Answer, bool | None]:
    """Buy one verification; return the answer and what it says of the receipt, None where it says nothing."""
    unpaid = await case.client.call("POST", operation.url, json_body=body)
    if unpaid.status in _BAD_REQUEST:  # what can be seen to be no receipt needs nobody to pay for saying so
        return unpaid, None
    quote = await challenge(case, operation, body=body)
    answer = await redeem(case, operation, await pay(case, quote, case.profile.claims.lanes[0]), body=body)
    return answer, answers.validity(result_of(case, answer), None) if answer.status == 200 else None


def member_for(body: Any) -> str | None:
    """Return the member of a known request that holds a compact JWS; None where none does, or several."""
    if not isinstance(body, Mapping):
        return None
    found = [name for name, value in body.items() if isinstance(value, str) and value.count(".") == _SEGMENTS - 1]
    return found[0] if len(found) == 1 else None
