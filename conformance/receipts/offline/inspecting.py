"""Explanation of a receipt, member by member, in sentences. Pure; nothing is verified."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from conformance.oracles.ed25519_keys import KeyFault, decode_base64url
from conformance.oracles.jose import ALGORITHMS
from conformance.oracles.json_acceptance import parse_json
from conformance.oracles.receipt_kinds import CANON_VERSION, Kind, kind_of, member_outside_its_set, missing_member
from conformance.oracles.receipts import LONGEST, ReceiptFault, departure_from_jcs, read_envelope
from conformance.receipts.offline.claim_meanings import CLAIMS, claimed_dids, kind_words
from conformance.receipts.offline.header_meanings import HEADER
from conformance.receipts.offline.reading import Found
from conformance.receipts.offline.value_wording import value_text

NOTHING_VERIFIED: Final = (
    "NOTHING IS VERIFIED HERE: anyone can write such a text. `weldproof receipt verify` checks it."
)
_UNKNOWN: Final = "Unknown to this tool; verifiers let further members pass."
_UNKNOWN_HEADER: Final = "Unknown to this tool; verifiers do not look at it."
_SIGNATURE_BYTES: Final = 64

Table = Mapping[str, tuple[Callable[[Any, Mapping[str, Any]], str], str]]


@dataclass(frozen=True, slots=True)
class Line:
    """One member of the header or the payload.

    Attributes:
        name: Its name.
        value: Its value, as JSON.
        sentence: Its meaning and the meaning of its value.
        clause: The clause that defines it; None for a member that the profile does not know.
    """

    name: str
    value: Any
    sentence: str
    clause: str | None


@dataclass(frozen=True, slots=True)
class Inspection:
    """One receipt, as far as it can be read.

    Attributes:
        found: The receipt and its place.
        faults: Faults that no key can repair, each a sentence, in the order of the nine steps.
        kind: Its kind; None if the payload cannot be read.
        kind_words: The same in words.
        canonical: Whether the payload is its own RFC 8785 form; None if it is not JSON.
        sizes: Characters of the text, bytes of header, payload and signature as far as they can be decoded.
        header: The protected header's members.
        claims: The payload's members.
        dids: The DIDs it claims to come from, by the claim's name.
    """

    found: Found
    faults: tuple[str, ...]
    kind: Kind | None
    kind_words: str
    canonical: bool | None
    sizes: Mapping[str, int]
    header: tuple[Line, ...]
    claims: tuple[Line, ...]
    dids: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the inspection as JSON members."""
        return {
            "place": self.found.place,
            "well_formed": not self.faults,
            # Null and not false: nothing was verified, so nothing was refused either.
            "verified": None,
            "faults": list(self.faults),
            "kind": self.kind,
            "canonical": self.canonical,
            "sizes": dict(self.sizes),
            "header": [asdict(line) for line in self.header],
            "claims": [asdict(line) for line in self.claims],
        }


def inspect(found_receipt: Found) -> Inspection:
    """Explain a receipt; a damaged one as far as it can be read."""
    segments = _segments(found_receipt.token)
    header = _object(segments.get("header"))
    claims = _object(segments.get("payload"))
    sizes = {"characters": len(found_receipt.token)}
    sizes |= {f"{name}_bytes": len(data) for name, data in segments.items() if data is not None}
    payload = segments.get("payload")
    return Inspection(
        found=found_receipt,
        faults=tuple(_faults(found_receipt.token, segments, header, claims)),
        kind=None if claims is None else kind_of(claims),
        kind_words="a receipt that cannot be read" if claims is None else kind_words(claims),
        canonical=None if claims is None or payload is None else departure_from_jcs(payload) is None,
        sizes=sizes,
        header=_lines(header, HEADER, _UNKNOWN_HEADER),
        claims=_lines(claims, CLAIMS, _UNKNOWN),
        dids={} if claims is None else claimed_dids(claims),
    )


def _segments(token: str) -> dict[str, bytes | None]:
    """Return the decoded bytes of each segment, or None for one that cannot be decoded."""
    decoded_segments: dict[str, bytes | None] = {}
    # A verifier refuses a text longer than LONGEST. The cut bounds the work for a hostile one and leaves enough to
    # explain. A text with fewer or more segments is explained as far as it has some.
    for name, text in zip(("header", "payload", "signature"), token[: 4 * LONGEST].split("."), strict=False):
        try:
            # Padding is a fault, which `read_envelope` reports. The bytes are shown nonetheless.
            decoded_segments[name] = decode_base64url(text.rstrip("="))
        except KeyFault:
            decoded_segments[name] = None
    return decoded_segments


def _object(data: bytes | None) -> dict[str, Any] | None:
    try:
        # A repeated name is no reason to show nothing. The canonical form excludes it, and `_payload_faults` reports
        # that.
        value = None if data is None else parse_json(data, duplicates=True)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _lines(members: Mapping[str, Any] | None, table: Table, unknown: str) -> tuple[Line, ...]:
    member_lines: list[Line] = []
    for name, value in (members or {}).items():
        sentence, clause = table.get(name, (None, None))
        member_lines.append(Line(name, value, unknown if sentence is None else sentence(value, members or {}), clause))
    return tuple(member_lines)


def _faults(
    token: str,
    segments: Mapping[str, bytes | None],
    header: Mapping[str, Any] | None,
    claims: Mapping[str, Any] | None,
) -> list[str]:
    """Return the faults for which a verifier rejects the receipt under any key, in the order of its steps."""
    if not token:
        return ["There is no receipt (MISSING_ENVELOPE)."]
    faults: list[str] = []
    try:
        read_envelope(token)
    except ReceiptFault as fault:
        faults.append(
            f"It is not a compact JWS as receipts must be: {_format_fault(token, segments, str(fault))} ({fault.code})."
        )
    if header is not None and header.get("alg") not in ALGORITHMS:
        faults.append(f"Its algorithm is {value_text(header.get('alg'))}, not EdDSA or Ed25519 (UNSUPPORTED_ALG).")
    signature = segments.get("signature")
    if signature is not None and len(signature) != _SIGNATURE_BYTES:
        faults.append(f"Its signature has {len(signature)} bytes, not {_SIGNATURE_BYTES} (TAMPERED_SIGNATURE).")
    payload = segments.get("payload")
    if payload is not None:
        faults += _payload_faults(payload, claims)
    return faults


def _format_fault(token: str, segments: Mapping[str, bytes | None], reason: str) -> str:
    count = token.count(".") + 1
    if count != len(("header", "payload", "signature")):
        return f"it has {count} segment{'s' if count > 1 else ''} where a dot stands between three"
    empty = [name for name, text in zip(("header", "payload", "signature"), token.split("."), strict=True) if not text]
    if empty:
        return f"its {' and '.join(empty)} {'is' if len(empty) == 1 else 'are'} empty"
    damaged_names = [name for name, data in segments.items() if data is None]
    return f"its {' and '.join(damaged_names)} cannot be decoded: {reason}" if damaged_names else reason


def _payload_faults(payload: bytes, claims: Mapping[str, Any] | None) -> list[str]:
    if claims is None:
        return ["Its payload is not a JSON object (INVALID_PAYLOAD)."]
    faults: list[str] = []
    version = claims.get("canon_version")
    if version != CANON_VERSION:
        faults.append(f"Its canon_version is {json.dumps(version)}, not {CANON_VERSION} (UNSUPPORTED_CANON_VERSION).")
    why = departure_from_jcs(payload)
    if why is not None:
        faults.append(f"Its payload is not canonical: {why} (NON_CANONICAL_PAYLOAD).")
    absent_member, wrong = missing_member(claims), member_outside_its_set(claims)
    if absent_member is not None:
        faults.append(f"It lacks {absent_member}, which its kind must have (MISSING_FIELD).")
    # A verifier stops at the first of the two faults (2.4 step 8), so only that one is reported.
    elif wrong is not None:
        faults.append(f"Its {wrong} has a value outside its set (INVALID_PAYLOAD).")
    return faults
