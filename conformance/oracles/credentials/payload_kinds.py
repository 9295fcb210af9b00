"""Which members a payload has, and so what it is: certificate, passport, token or ZK receipt (8.2 to 8.4)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

Rule: TypeAlias = Callable[[Any], bool]

# A proof has 672 bytes. The limit keeps longer texts from being decoded.
LONGEST_PROOF_TEXT: Final = 16_384
_METHODOLOGY = re.compile(r"\S+-v[0-9]+\.[0-9]+")
_HASH_REFERENCE = re.compile(r"sha256:[0-9a-f]{64}")


class Kind(StrEnum):
    """What a payload is."""

    CERTIFICATE = "atb_certificate"
    PASSPORT = "agent_passport"
    TOKEN = "federation_token"  # noqa: S105 - a kind's name
    RECEIPT = "zkp_receipt"


def credential_kind(payload: Mapping[str, Any]) -> Kind | None:
    """Return whether a payload is a certificate or a passport; None when it is neither, or could be both (P-AD-08)."""
    kinds = [kind for kind, mark in _MARKS.items() if mark in payload]
    # P-AD-08: a payload that could be read as two kinds is refused. Otherwise a passport could
    # be presented as a certificate.
    if "type" in payload or len(kinds) != 1:
        return None
    return kinds[0] if _has(payload, MEMBERS[kinds[0]]) else None


def typed_kind(payload: Mapping[str, Any], expected_kind: Kind) -> Kind | None:
    """Return `expected_kind` when a payload says that it is that, and has its members; else None (P-AD-08)."""
    return (
        expected_kind if payload.get("type") == expected_kind.value and _has(payload, MEMBERS[expected_kind]) else None
    )


def issuer_of(payload: Mapping[str, Any], kind: Kind) -> str:
    """Return the DID whose word a payload is."""
    return str(payload["bench_issuer" if kind in {Kind.CERTIFICATE, Kind.RECEIPT} else "issuer_did"])


def decode_base64(text: Any) -> bytes | None:
    """Return the bytes of standard base64 with padding in its one spelling (P-CV-06), None where it is not base64."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return None
    # Base64 that encodes back to another text has spare bits or lacks padding.
    return data if base64.b64encode(data).decode() == text else None


def _has(payload: Mapping[str, Any], members: Mapping[str, Rule]) -> bool:
    return all(name in payload and rule(payload[name]) for name, rule in members.items())


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(UUID(value)) == value
    except ValueError:
        return False


def _matches(pattern: re.Pattern[str]) -> Rule:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _commitment(value: Any) -> bool:
    return len(decode_base64(value) or b"") == 32


def _proof(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_PROOF_TEXT and decode_base64(value) is not None


_MARKS: Final[Mapping[Kind, str]] = {Kind.CERTIFICATE: "atb_cert_version", Kind.PASSPORT: "passport_id"}
_TIMES: Final[Mapping[str, Rule]] = {"issued_at": _text, "expires_at": _text}
# The members that each kind must have, each with its rule (8.1).
MEMBERS: Final[Mapping[Kind, Mapping[str, Rule]]] = {
    Kind.CERTIFICATE: {
        "atb_cert_version": _text,
        "bench_issuer": _text,
        "bench_kid": _text,
        "score": _share,
        "passed": lambda value: isinstance(value, bool),
        "methodology_version": _matches(_METHODOLOGY),
        **_TIMES,
    },
    Kind.PASSPORT: {
        "passport_id": _text,
        "agent_did": _text,
        "issuer_did": _text,
        "scopes": _texts,
        "spend_limit_microusd": _whole,
        "spend_window": _text,
        **_TIMES,
    },
    Kind.TOKEN: {
        "version": lambda value: value == "1",
        "issuer_did": _text,
        "subject_dids": _texts,
        "audience": lambda value: value is None or _text(value),
        "credential_hashes": lambda value: isinstance(value, list) and all(map(_matches(_HASH_REFERENCE), value)),
        "jti": _uuid,
        **_TIMES,
    },
    Kind.RECEIPT: {
        "version": lambda value: value == "1",
        "payment_id": _text,
        "chain": _text,
        "amount_microusd": _whole,
        "recipient": _text,
        "tx_id": _text,
        "settled_at": _text,
        "atb_cert_version": lambda value: value == "2",
        "bench_issuer": _text,
        "commitment_b64": _commitment,
        "proof_b64": _proof,
        "threshold_milliunits": lambda value: _whole(value) and value <= 1000,
        **_TIMES,
    },
}
