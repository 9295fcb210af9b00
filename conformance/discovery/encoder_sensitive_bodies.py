"""Unusual bodies: requests with texts, member names and numbers that encoders of JSON write differently.

A signer that hashes the output of its own encoder, and not the RFC 8785 form, agrees with a verifier only on plain
text. Each place of a body is tried separately, because the operation may refuse any of them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from conformance.discovery.openapi_bodies import properties
from conformance.discovery.openapi_paths import resolve_reference

# In lower case, composed (NFC) and without space at an end, so that a service that normalises texts leaves them as they
# are. Each is milder than the one before it: control characters first, then all that is not ASCII.
TEXTS: Final = (
    "a&b <c>\u2028/\u00e9\U0001f600\u0008\u000c+'`",
    "a&b <c>\u2028/\u00e9\U0001f600",
    "a&b <shop>/+",
)
MILDEST: Final = TEXTS[-1]
# Sorted by UTF-16 code units (RFC 8785, 3.2.3), the second comes before the first. Sorted by code points, after it.
NAMES: Final = ("\ufb33", "\U0001f600", "\u00e9", "a&b", "a/b")
# Numbers that RFC 8785 writes as ECMAScript does (3.2.2.3) and other encoders in other ways.
NUMBERS: Final = (1e21, 1e20, 1e-7, -0.0, 2.0**53, 0.1 + 0.2, 5.0, 5e-324, 333333333.33333329)
_FREE_FORM: Final = {**dict.fromkeys(NAMES, TEXTS[0]), "numbers": list(NUMBERS)}
_WHOLE: Final = 1000000.0
_MAX_PLACES: Final = 10
_MAX_DEPTH: Final = 4
_COMBINATIONS: Final = ("anyOf", "oneOf", "allOf")
_FIXING_KEYWORDS: Final = frozenset({"enum", "const", "pattern", "format"})
_TYPE_KEYWORDS: Final = frozenset({"type", "properties", *_COMBINATIONS, *_FIXING_KEYWORDS})


@dataclass(frozen=True, slots=True)
class UnusualPlace:
    """A member of a body and unusual values for it, the most unusual first; the operation may refuse each."""

    member: str
    values: tuple[Any, ...]


def unusual_places(document: Mapping[str, Any], path: str, method: str, body: Any) -> tuple[UnusualPlace, ...]:
    """Return the members of an operation's body that may take an unusual value.

    Texts of the body are extended, even if a schema does not allow that. Members are added only if the document
    describes them or leaves an object open.
    """
    if not isinstance(body, dict):
        return ()
    # A service that ignores an unknown member need not hash it, so an invented member would prove nothing.
    schemas = properties(document, path, method)
    texts = (
        UnusualPlace(name, tuple(value + text for text in TEXTS))
        for name, value in body.items()
        if isinstance(value, str)
    )
    other_places = (
        UnusualPlace(name, values)
        for name, schema in schemas.items()
        if not isinstance(body.get(name), str)
        and (values := tuple(_values(document, schema, body.get(name), _MAX_DEPTH)))
    )
    return (*islice(texts, _MAX_PLACES), *islice(other_places, _MAX_PLACES))


def repeated_bodies(body: Any) -> Iterator[dict[str, Any]]:
    """Yield bodies with unusual texts that the paid verifiers repeat in their results, the most unusual first.

    The report of a receipt contains the `kid` of its header (2.4), even if the receipt is invalid. The result for a
    message contains its parameters and, among its errors, the required components that are not covered (6.3).
    """
    if not isinstance(body, dict):
        return
    for text in TEXTS:
        if isinstance(body.get("jws"), str):
            yield {**body, "jws": _receipt_of(text)}
        if isinstance(body.get("headers"), dict):
            yield {**body, "headers": _SIGNATURE_FIELDS, "required_components": [text]}


# A well-formed signature that verifies under no key.
_SIGNATURE_FIELDS: Final = {
    "signature-input": f'sig1=("@method");created=1700000000;keyid="{MILDEST}"',
    "signature": f"sig1=:{base64.b64encode(bytes(64)).decode()}:",
}


def _receipt_of(kid: str) -> str:
    """Return an invalid receipt whose `kid` is in no key set."""
    # Not ASCII-escaped, so that the key id arrives with its unusual characters.
    header = json.dumps({"alg": "EdDSA", "kid": kid}, ensure_ascii=False, separators=(",", ":"))
    parts = (header.encode(), b"{}", bytes(64))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def _values(document: Mapping[str, Any], schema: Any, original: Any, depth: int) -> Iterator[Any]:
    """Yield unusual values that a schema allows; further members are added to an original object."""
    described_schema = resolve_reference(document, schema)
    if not _TYPE_KEYWORDS & described_schema.keys():
        yield _FREE_FORM
    if not depth or _FIXING_KEYWORDS & described_schema.keys():
        return
    for name in _COMBINATIONS:
        for alternative in described_schema[name] if isinstance(described_schema.get(name), list) else ():
            yield from _values(document, alternative, original, depth - 1)
    kinds = described_schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind == "string":
            yield from TEXTS
        elif kind in {"integer", "number"}:
            yield from _numbers(described_schema, kind)
        elif kind == "object" and (members := _further_members(described_schema)) is not False:
            members_before = original if isinstance(original, dict) else {}
            values = _values(document, {} if members is True else members, None, depth - 1)
            yield from ({**members_before, **dict.fromkeys(NAMES, value)} for value in values)
        elif kind == "array" and isinstance(described_schema.get("items"), dict) and not original:
            yield from ([value] for value in _values(document, described_schema["items"], None, depth - 1))


def _further_members(schema: Mapping[str, Any]) -> Any:
    """Return the schema of members that an object's schema does not name, or False if a service may drop them."""
    # Frameworks drop unknown members of a model without stating `additionalProperties` in its schema.
    return schema.get("additionalProperties", not schema.get("properties"))


def _numbers(schema: Mapping[str, Any], kind: str) -> Iterator[float]:
    low, high = (schema.get(name) for name in ("minimum", "maximum"))
    for value in (*((1e-7, 1e21) if kind == "number" else ()), _WHOLE, 5.0):
        above = not isinstance(low, int | float) or value >= low
        if above and (not isinstance(high, int | float) or value <= high):
            yield value
