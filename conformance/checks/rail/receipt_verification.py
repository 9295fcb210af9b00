"""RAIL-SVC-01 and RAIL-RCPT-09: what the rail's own paid verification says of receipts, changed ones among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.forging import Signer, compact, mac
from conformance.oracles.hashing import jcs_bytes
from conformance.oracles.jose import parse
from conformance.oracles.keys import Ed25519Key, encode_base64url
from conformance.surfaces.agent import answers
from conformance.surfaces.rail.described_members import described_members
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import brief, result_of
from conformance.surfaces.rail.purchase import challenge, pay, purchase, redeem
from conformance.surfaces.rail.receipts import claims_of, receipt_of

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SEGMENTS = 3
_BAD_REQUEST = frozenset({400, 422})
# What says nothing of the receipt: the payment was refused, is at work, or there were too many calls.
_NO_WORD = frozenset({402, 409, 429})
KEY_SET: Final = "jwks"
PAYMENT: Final = "expected_payment_hash"


@dataclass(frozen=True, slots=True)
class Trial:
    """One receipt to have verified.

    Attributes:
        row: The requirement that it judges.
        what: What was done to it.
        members: Members of the request, in place of those of the known one.
        sound: Whether it is sound.
        beyond: What the interface leaves open of it; then a breach warns.
    """

    row: str
    what: str
    members: Mapping[str, Any]
    sound: bool = False
    beyond: str | None = None


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


def forged(token: str, published: Sequence[Ed25519Key], stranger: Signer) -> Iterator[tuple[str, str]]:
    """Yield what was forged of a receipt, by what was done to it.

    Args:
        token: A receipt that the rail signed.
        published: The rail's keys.
        stranger: A key that nobody published.
    """
    first = parse(token)
    header, payload = dict(first.header), first.payload
    signature = token.rpartition(".")[2]
    claims = {**claims_of(token), "service_id": "another"}
    yield "another claim", f"{token.partition('.')[0]}.{encode_base64url(jcs_bytes(claims))}.{signature}"
    yield "the signature of a stranger", stranger.sign(header, payload)
    unknown = {**header, "kid": stranger.kid, "jwk": stranger.jwk}
    yield "a kid that nobody published and its key in the header", stranger.sign(unknown, payload)
    yield "alg none without a signature", compact({**header, "alg": "none"}, payload)
    yield "alg none with a signature of noughts", compact({**header, "alg": "none"}, payload, bytes(64))
    own = [key for key in published if key.kid == header.get("kid")] or published
    for key in own[:1]:
        yield "HS256 keyed with the public key", mac({**header, "alg": "HS256"}, payload, key.raw)


@check(
    "RAIL-SVC-01",
    "RAIL-RCPT-09",
    surface="rail",
    fix="Verify receipts with one strict reader: one spelling of base64url, only EdDSA, and the signature over the "
    "received bytes. Use the keys of the caller's set if one is given, or the rail's keys if not.",
    quick=sample("forged and changed receipts"),
)
async def receipts_are_verified(case: Case) -> None:
    """The paid verification of receipts finds the rail's own receipt sound, and no forged or changed one.

    Buys a receipt, and on one lane has it verified by the paid service: as it is; with another claim; signed by a
    stranger, under the rail's kid and under one of his own with his key in the header; with alg none, bare and with a
    signature; keyed by HS256 with the public key (2.4, steps 3 and 4: the signature is checked against an Ed25519 key);
    with the spare bits of its signature set, without its last character, padded, and with one character of the payload
    changed. Where the service is known to take a key set or the payment's hash, a stranger's receipt comes with his key
    set, and the rail's with that of the stranger (P-RV-01) and with another payment's hash (2.4, step 9). Expects that
    only the first, and the stranger's under his own keys, are verified. If no document states how the service accepts
    receipts, or if it verifies no receipt of the rail (only the reference must), the row is not judged.
    """
    operation = case.session.catalog.find_service("receipt-verify")
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
    if not sound and not case.profile.is_reference:
        _leave_open(case, "which receipts a rail's verification takes is left open, and this one's takes not its own")
        return
    told = "the rail's own receipt verified"
    case.expect("RAIL-SVC-01", sound, told, "verified" if sound else "not verified", exchange=answer)
    if sound:
        await _try_others(case, operation, member, token)


async def _try_others(case: Case, operation: Operation, member: str, token: str) -> None:
    """Judge what is made of receipts that differ from a sound one."""
    stranger = Signer(case.rng.randbytes(32), "stranger")
    keys = [key for listed in await published_keys(case) for key in listed]
    trials = [Trial("RAIL-SVC-01", what, {member: one}) for what, one in forged(token, keys, stranger)]
    trials += [Trial("RAIL-RCPT-09", what, {member: one}) for what, one in changed(token)]
    named = await _members(case, operation)
    ours = case.profile.is_reference
    if KEY_SET in named:
        first = parse(token)
        theirs = stranger.sign({**first.header, "kid": stranger.kid}, first.payload)
        key_set = {KEY_SET: {"keys": [stranger.jwk]}}
        beyond = None if ours else "which receipts besides its own a rail verifies is left open"
        what = "a stranger's with his key set"
        trials.append(Trial("RAIL-SVC-01", what, {member: theirs, **key_set}, sound=True, beyond=beyond))
        trials.append(Trial("RAIL-SVC-01", "the rail's with the key set of a stranger", {member: token, **key_set}))
    if PAYMENT in named:
        beyond = None if ours else "what a receipt is compared with beside its signature is left open"
        bound = {member: token, PAYMENT: "sha256:" + "dd" * 32}
        trials.append(Trial("RAIL-SVC-01", "bound to another payment", bound, beyond=beyond))
    for trial in trials:
        if trial.members[member] != token:
            name = re.sub(r"\W+", "_", f"RECEIPT {trial.what}").upper()
            case.client.names.name(trial.members[member], name)
    tried = case.sample(trials, lambda one: (one.row, one.sound), few=2)
    await run_concurrently(_judge(case, operation, trial) for trial in tried)


async def _members(case: Case, operation: Operation) -> frozenset[str]:
    """Return the members that the request is known to have: by the profile, by the target's document, or as ours."""
    ours = case.profile.is_reference
    return frozenset({*operation.body, *((KEY_SET, PAYMENT) if ours else await described_members(case, operation))})


def _leave_open(case: Case, reason: str) -> None:
    """Say that this trial does not apply, so that the rows stand as others judge them."""
    for row in ("RAIL-SVC-01", "RAIL-RCPT-09"):
        case.mark_not_applicable(row, reason)


async def _judge(case: Case, operation: Operation, trial: Trial) -> None:
    """Judge what is made of one receipt; an answer that is no word on the receipt decides nothing."""
    answer, verified = await _verified(case, operation, {**operation.body, **trial.members})
    if answer.status in _NO_WORD:
        case.mark_inconclusive(
            trial.row, f"{trial.what}: a paid verification was answered {brief(answer)}", exchange=answer
        )
        return
    if trial.sound and trial.beyond is not None and answer.status in _BAD_REQUEST:
        case.note(f"{operation.path} refuses {trial.what}: {brief(answer)}; {trial.beyond}")
        return
    holds = verified is True if trial.sound else verified is not True and answer.status < 500
    expected, found = "verified" if trial.sound else "not verified", "verified" if verified else brief(answer)
    where = {"receipt": trial.what}
    case.expect(trial.row, holds, expected, found, exchange=answer, where=where, beyond=trial.beyond)


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
