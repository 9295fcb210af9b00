"""RAIL-SVC-01 and RAIL-RCPT-09: the rail's paid verification accepts its receipt, and no changed or forged one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.ed25519_keys import Ed25519Key, encode_base64url
from conformance.oracles.forging import Signer, compact, mac
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.jose import parse
from conformance.surfaces.agent import answer_reader
from conformance.surfaces.rail.documented_request_members import described_members
from conformance.surfaces.rail.keys import published_keys
from conformance.surfaces.rail.paid_answers import brief, result_of
from conformance.surfaces.rail.purchase import challenge, pay, purchase, redeem
from conformance.surfaces.rail.receipts import claims_of, receipt_of

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_SEGMENTS = 3
_BAD_REQUEST = frozenset({400, 422})
# Statuses that say nothing about the receipt: the payment was refused or is in progress, or there were too many calls.
_UNRELATED_STATUSES = frozenset({402, 409, 429})
KEY_SET: Final = "jwks"
PAYMENT: Final = "expected_payment_hash"


@dataclass(frozen=True, slots=True)
class Trial:
    """One receipt for the service to verify.

    Attributes:
        row: The requirement that it judges.
        description: How it was changed.
        members: Members of the request, in place of those of the known one.
        is_sound: Whether it is sound.
        beyond: What the interface leaves open about it; a breach then warns.
    """

    row: str
    description: str
    members: Mapping[str, Any]
    is_sound: bool = False
    beyond: str | None = None


def list_changes(token: str) -> Iterator[tuple[str, str]]:
    """Yield a receipt with one character changed, added or removed, with a description of the change."""
    # The last character of an Ed25519 signature in base64url has four spare bits (RFC 4648, 3.5). A reader that
    # ignores them takes sixteen different texts for one receipt.
    header, payload, signature = token.split(".")
    last = _ALPHABET.index(signature[-1])
    yield "spare bits set", f"{header}.{payload}.{signature[:-1]}{_ALPHABET[last ^ 1]}"
    yield "its last character left out", token[:-1]
    yield "padded", token + "="
    middle = len(payload) // 2
    other_character = _ALPHABET[_ALPHABET.index(payload[middle]) ^ 1]
    yield (
        "a character of the payload changed",
        f"{header}.{payload[:middle]}{other_character}{payload[middle + 1 :]}.{signature}",
    )


def list_forgeries(token: str, rail_keys: Sequence[Ed25519Key], stranger: Signer) -> Iterator[tuple[str, str]]:
    """Yield forgeries of a receipt, with a description of each.

    Args:
        token: A receipt that the rail signed.
        rail_keys: The rail's keys.
        stranger: A key that the rail does not publish.
    """
    first = parse(token)
    header, payload = dict(first.header), first.payload
    signature = token.rpartition(".")[2]
    claims = {**claims_of(token), "service_id": "another"}
    yield "another claim", f"{token.partition('.')[0]}.{encode_base64url(jcs_bytes(claims))}.{signature}"
    yield "the signature of a stranger", stranger.sign(header, payload)
    header_with_key = {**header, "kid": stranger.kid, "jwk": stranger.jwk}
    # The attack on a verifier that takes the key from the header of the token itself (RFC 7515, 4.1.3).
    yield "a kid that is not published and its key in the header", stranger.sign(header_with_key, payload)
    yield "alg none without a signature", compact({**header, "alg": "none"}, payload)
    yield "alg none with a signature of noughts", compact({**header, "alg": "none"}, payload, bytes(64))
    own_keys = [key for key in rail_keys if key.kid == header.get("kid")] or rail_keys
    # The attack on a verifier that takes the algorithm from the token: the public key becomes an HMAC secret.
    for key in own_keys[:1]:
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

    Buys a receipt, and has it verified by the paid service on one lane. Then has forged receipts verified: with another
    claim; signed by another key, with the rail's kid and with a separate kid and the key in the header; with alg none,
    without and with a signature; and with HS256 under the public key (2.4, steps 3 and 4). Then changed ones: with the
    spare bits of the signature set, without the last character, padded, and with one character of the payload changed.

    If the service is known to accept a key set or the payment's hash, sends another signer's receipt with the signer's
    key set, and the rail's receipt with that key set (P-RV-01) and with another payment's hash (2.4, step 9).

    Expects that only the first receipt, and the other signer's with the fitting key set, are verified. The row is not
    judged if no document states how the service accepts receipts, or if it verifies no receipt of the rail. Only the
    reference must verify its receipts.
    """
    operation = case.session.catalog.find_service("receipt-verify")
    member = find_receipt_member(operation.body)
    if member is None or not operation.is_accepted or not case.profile.claims.lanes:
        _leave_open(case, "it is unknown how this service accepts a receipt, and so what it verifies")
        return
    token = receipt_of(case, await purchase(case, operation, case.profile.claims.lanes[0]))[1]
    case.client.names.name(token, "RECEIPT")
    answer, is_verified = await _buy_verification(case, operation, {**operation.body, member: token})
    if is_verified is None:
        _leave_open(case, f"it is unknown what the paid verification says about a receipt: {brief(answer)}")
        return
    if not is_verified and not case.profile.is_reference:
        _leave_open(case, "the interface leaves open which receipts a rail verifies, and this one rejects its own")
        return
    expectation = "the rail's own receipt verified"
    case.expect("RAIL-SVC-01", is_verified, expectation, "verified" if is_verified else "not verified", exchange=answer)
    if is_verified:
        await _judge_other_receipts(case, operation, member, token)


async def _judge_other_receipts(case: Case, operation: Operation, member: str, token: str) -> None:
    """Judge the verification of receipts that differ from a sound one."""
    stranger = Signer(case.rng.randbytes(32), "stranger")
    keys = [key for listed in await published_keys(case) for key in listed]
    trials = [
        Trial("RAIL-SVC-01", description, {member: one}) for description, one in list_forgeries(token, keys, stranger)
    ]
    trials += [Trial("RAIL-RCPT-09", description, {member: one}) for description, one in list_changes(token)]
    member_names = await _list_members(case, operation)
    ours = case.profile.is_reference
    if KEY_SET in member_names:
        first = parse(token)
        stranger_token = stranger.sign({**first.header, "kid": stranger.kid}, first.payload)
        key_set = {KEY_SET: {"keys": [stranger.jwk]}}
        beyond = None if ours else "the interface leaves open which other receipts a rail verifies"
        description = "a stranger's with its key set"
        trials.append(
            Trial("RAIL-SVC-01", description, {member: stranger_token, **key_set}, is_sound=True, beyond=beyond)
        )
        trials.append(Trial("RAIL-SVC-01", "the rail's with the key set of a stranger", {member: token, **key_set}))
    if PAYMENT in member_names:
        beyond = None if ours else "the interface leaves open what a receipt is compared with besides its signature"
        bound_members = {member: token, PAYMENT: "sha256:" + "dd" * 32}
        trials.append(Trial("RAIL-SVC-01", "bound to another payment", bound_members, beyond=beyond))
    # Each forged token gets a name in the log, so that a reader can tell the receipts apart.
    for trial in trials:
        if trial.members[member] != token:
            name = re.sub(r"\W+", "_", f"RECEIPT {trial.description}").upper()
            case.client.names.name(trial.members[member], name)
    trial_sample = case.sample(trials, lambda one: (one.row, one.is_sound), few=2)
    await run_concurrently(_judge(case, operation, trial) for trial in trial_sample)


async def _list_members(case: Case, operation: Operation) -> frozenset[str]:
    """Return the known members of the request: by the profile, the target's document or the reference."""
    ours = case.profile.is_reference
    return frozenset({*operation.body, *((KEY_SET, PAYMENT) if ours else await described_members(case, operation))})


def _leave_open(case: Case, reason: str) -> None:
    """Report that this trial does not apply, so that other checks decide the rows."""
    for row in ("RAIL-SVC-01", "RAIL-RCPT-09"):
        case.mark_not_applicable(row, reason)


async def _judge(case: Case, operation: Operation, trial: Trial) -> None:
    """Judge the verification of one receipt. An answer that says nothing about the receipt decides nothing."""
    answer, is_verified = await _buy_verification(case, operation, {**operation.body, **trial.members})
    if answer.status in _UNRELATED_STATUSES:
        case.mark_inconclusive(
            trial.row, f"{trial.description}: a paid verification was answered {brief(answer)}", exchange=answer
        )
        return
    # A service that accepts no key set of another signer refuses the request. That is a choice, not a wrong verdict.
    if trial.is_sound and trial.beyond is not None and answer.status in _BAD_REQUEST:
        case.note(f"{operation.path} refuses {trial.description}: {brief(answer)}; {trial.beyond}")
        return
    holds = is_verified is True if trial.is_sound else is_verified is not True and answer.status < 500
    expectation, finding = (
        "verified" if trial.is_sound else "not verified",
        "verified" if is_verified else brief(answer),
    )
    where = {"receipt": trial.description}
    case.expect(trial.row, holds, expectation, finding, exchange=answer, where=where, beyond=trial.beyond)


async def _buy_verification(case: Case, operation: Operation, body: Mapping[str, Any]) -> tuple[Answer, bool | None]:
    """Buy one verification; return the answer and the validity that it states, or None."""
    unpaid = await case.client.call("POST", operation.url, json_body=body)
    # A service may reject a malformed receipt before it asks for a payment.
    if unpaid.status in _BAD_REQUEST:
        return unpaid, None
    # The token binds the body, so each receipt needs a separate challenge and payment.
    quote = await challenge(case, operation, body=body)
    answer = await redeem(case, operation, await pay(case, quote, case.profile.claims.lanes[0]), body=body)
    return answer, answer_reader.validity(result_of(case, answer), None) if answer.status == 200 else None


def find_receipt_member(body: Any) -> str | None:
    """Return the only member of a known request that is a compact JWS; else None."""
    if not isinstance(body, Mapping):
        return None
    names = [name for name, value in body.items() if isinstance(value, str) and value.count(".") == _SEGMENTS - 1]
    return names[0] if len(names) == 1 else None
