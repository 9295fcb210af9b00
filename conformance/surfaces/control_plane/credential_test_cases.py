"""Credentials to ask an addon about: the suite's vectors, and envelopes with faults in a chosen order (8.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from conformance import vectors
from conformance.oracles.credentials.envelope import DECODE, SHAPE
from conformance.oracles.credentials.judging import Judgement, Question, judge_credential
from conformance.oracles.credentials.payload_kinds import MEMBERS, Kind
from conformance.oracles.ed25519_keys import decode_base64url, encode_base64url

_FAMILY, _PREFIX = "falcon_envelopes", "falcon/"
# The vectors' time, at which their certificates hold.
VECTOR_TIME: Final = "2026-07-01T12:00:00Z"
_VECTOR_SECONDS: Final = 1_782_907_200
# Whether an empty text is a malformed request or a text that is no envelope is open.
_OPEN_VECTORS: Final = frozenset({"falcon/envelope_decode/length/nothing"})
_CERTIFICATE, _FAILED, _PASSPORT = "valid/certificate/plain", "valid/certificate/failed", "valid/passport/plain"
_EXPIRED: Final = "expired/long_ago/certificate"
_ANOTHER_ISSUER: Final = "did:web:another.example"
# Values of other types and outside the bounds; each of them is wrong for some member.
_WRONG_VALUES: Final[tuple[Any, ...]] = (None, True, 1, -1, 0.5, 1.5, "", "text", [], ["text"], [1], [""], {})
_ORDER: Final = ("unsupported_alg", "wrong_issuer", "no_public_key", "kid_mismatch", "timestamp_parse", "sig_invalid")


@dataclass(frozen=True, slots=True)
class Trial:
    """One question about a credential.

    Attributes:
        name: The credential and its faults, for the reader.
        text: The credential.
        conditions: Further members of the question.
        now: Unix seconds at which it must hold.
    """

    name: str
    text: str
    conditions: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    now: int = _VECTOR_SECONDS

    def judge(self, keys: Mapping[str, str]) -> Judgement:
        """Return the suite's judgement of it under trusted keys."""
        minimum = self.conditions.get("min_score")
        return judge_credential(self.text, Question(keys, self.now, self.conditions.get("expected_issuer"), minimum))


@cache
def list_vector_keys() -> Mapping[str, str]:
    """Return the keys of the vectors by DID: for each issuer those that its valid vectors use most."""
    keys: dict[str, str] = {}
    for name in (_CERTIFICATE, _PASSPORT, "valid/trust_set/among_others"):
        keys |= _vector(name).input["keys"]
    return keys


def list_whole_faults() -> list[Trial]:
    """Return the vectors whose answer the keys of `list_vector_keys` decide, and credentials with several faults."""
    return [*_list_vectors(), *_list_ordered_faults()]


def _vector(name: str) -> vectors.Vector:
    return next(one for one in vectors.of_family(_FAMILY) if one.id == _PREFIX + name)


def _list_vectors() -> Iterator[Trial]:
    keys = list_vector_keys()
    for vector in vectors.of_family(_FAMILY):
        question = vector.input
        if question["expect"] != "credential" or vector.id in _OPEN_VECTORS:
            continue
        conditions = {name: question[name] for name in ("expected_issuer", "min_score") if name in question}
        trial = Trial(vector.id, question["envelope"], conditions, question["now"])
        # A vector with its own trust set says the same under the keys of all only if its fault is not there.
        if trial.judge(keys).reason == vector.expected.stage:
            yield trial


def list_spellings(text: str) -> Mapping[str, tuple[str, str]]:
    """Return other spellings of an envelope, none of which is one, with the reason that each must get (P-AD-06)."""
    envelope = json.loads(decode_base64url(text))
    standard = text.replace("-", "+").replace("_", "/")
    spellings = {
        "with padding": (text + "=" * (-len(text) % 4 or 4), DECODE),
        "with a line feed": (text + "\n", DECODE),
        "with a space before it": (" " + text, DECODE),
        "as JSON": (json.dumps(envelope), DECODE),
        "with the padding of its signature": (_close({**envelope, "sig": envelope["sig"] + "=="}), SHAPE),
        **({} if standard == text else {"in standard base64": (standard, DECODE)}),
    }
    return MappingProxyType(spellings)


def list_member_faults() -> Iterator[Trial]:
    """Yield certificates and passports without a member, and with each wrong value of one.

    Their signature does not hold. As the shape is checked before it, the reason shows which fault was found.
    """
    for kind, name in ((Kind.CERTIFICATE, _CERTIFICATE), (Kind.PASSPORT, _PASSPORT)):
        envelope = _open(name)
        for member, rule in MEMBERS[kind].items():
            remaining = {one: value for one, value in envelope["payload"].items() if one != member}
            yield Trial(f"{kind.value} without {member}", _close({**envelope, "payload": remaining}))
            for value in _WRONG_VALUES:
                if not rule(value):
                    payload = {**envelope["payload"], member: value}
                    yield Trial(
                        f"{kind.value} with {member} {json.dumps(value)}", _close({**envelope, "payload": payload})
                    )


def _list_ordered_faults() -> Iterator[Trial]:
    """Yield credentials with two faults and more, whose first fault is each reason in turn (8.2)."""
    for name in (_CERTIFICATE, _PASSPORT):
        for first, second in ((one, two) for place, one in enumerate(_ORDER) for two in _ORDER[place + 1 :]):
            yield _spoil(name, [first, second])
        for place in range(len(_ORDER)):
            yield _spoil(name, list(_ORDER[place:]))
    yield Trial(f"{SHAPE} and unsupported_alg", _close({**_open(_CERTIFICATE), "alg": "none", "payload": {}}))
    expired, failed, passport = (_vector(name) for name in (_EXPIRED, _FAILED, _PASSPORT))
    text = expired.input["envelope"]
    yield Trial("expired and score_too_low", text, {"min_score": 1}, expired.input["now"])
    envelope = _open(_EXPIRED)
    # The first letters of a signature are its header and its salt. Another salt makes another point.
    spoiled = {**envelope, "sig": envelope["sig"][:10] + _swap(envelope["sig"][10]) + envelope["sig"][11:]}
    yield Trial("sig_invalid and expired", _close(spoiled), {}, expired.input["now"])
    text = failed.input["envelope"]
    yield Trial("score_too_low and not_passed", text, {"min_score": 1}, failed.input["now"])
    for minimum in (0, 1):
        conditions = {"min_score": minimum, "expected_issuer": next(iter(passport.input["keys"]))}
        yield Trial(f"passport, min_score {minimum}", passport.input["envelope"], conditions, passport.input["now"])


def _spoil(name: str, faults: list[str]) -> Trial:
    envelope = _open(name)
    payload = dict(envelope["payload"])
    issuer = "bench_issuer" if "bench_issuer" in payload else "issuer_did"
    conditions: dict[str, Any] = {}
    if "unsupported_alg" in faults:
        envelope["alg"] = "ML-DSA-65"
    if "wrong_issuer" in faults:
        conditions["expected_issuer"] = _ANOTHER_ISSUER
    if "no_public_key" in faults:
        payload[issuer] = "did:web:stranger-to-all.example"
        # Without another issuer expected, this stranger is the expected one.
        conditions.setdefault("expected_issuer", payload[issuer])
    if "kid_mismatch" in faults:
        envelope["kid"] = "0" * 16
    if "timestamp_parse" in faults:
        payload["expires_at"] = "2027-01-01"
    if "sig_invalid" in faults:
        payload["note"] = "added after signing"
    return Trial(
        f"{name}: {' and '.join(faults)}", _close({**envelope, "payload": payload}), conditions, _VECTOR_SECONDS
    )


def _open(name: str) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(decode_base64url(_vector(name).input["envelope"]))
    return envelope


def _close(envelope: Mapping[str, Any]) -> str:
    return encode_base64url(json.dumps(envelope).encode())


def _swap(letter: str) -> str:
    return "A" if letter != "A" else "B"
