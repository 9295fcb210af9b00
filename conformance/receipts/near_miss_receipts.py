"""Receipts with a small fault: a name, a kid, a value or a hash that is only similar to the right one. Pure.

A verifier that compares without case, by a prefix or after trimming accepts them. The key set of a receipt with a
similar kid also contains the exact kid, so that the signing key is found without any interpretation of the similar one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from conformance.discovery.encoder_sensitive_bodies import NAMES, NUMBERS, TEXTS
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.json_encodings import OTHER_ENCODINGS
from conformance.oracles.receipt_kinds import MEMBERS, VALUES, Kind
from conformance.receipts.material import Material, Vector, keys
from conformance.vocabulary.lanes.registry import FACTS

_ROW: Final = "GW-RCPT-19"
# The largest integer that every JSON reader represents exactly (RFC 8259, section 6).
_SAFE: Final = 2**53 - 1
PAYMENT_REFERENCE: Final = "sha256:" + "cd" * 32
OTHER_REFERENCE: Final = "sha256:" + "ef" * 32
# Sound claims of the two kinds that name themselves. Each vector changes one thing of them.
PAYABLE: Final[dict[str, Any]] = {
    "kind": "acme/payable-svc-receipt/1",
    "canon_version": "jcs-rfc8785-v1",
    "service_id": "screening",
    "request_hash": "sha256:" + "ab" * 32,
    "response_hash": "sha256:" + "bc" * 32,
    "settled_payment_ref": PAYMENT_REFERENCE,
}
ATTESTATION: Final[dict[str, Any]] = {
    "canon_version": "jcs-rfc8785-v1",
    "jurisdiction_flags": ["UK", "EU"],
    "settled_payment_ref": PAYMENT_REFERENCE,
    "settlement_amount": {"amount_minor": "250000", "asset_id": "31566704"},
    "settlement_chain": next(iter(FACTS.values())).main.key,
    "settlement_provider_did": "did:web:localhost",
    "settlement_result": "SETTLED",
    "settlement_timestamp_ms": 1_790_000_000_000,
}
_KINDS: Final[tuple[tuple[str, Kind, dict[str, Any]], ...]] = (
    ("a payable receipt", "payable", PAYABLE),
    ("a settlement attestation", "settlement_attestation", ATTESTATION),
)
# Without the first two the payload has another kind or canonical form. The interface does not require the third.
_NOT_ASKED: Final = frozenset({"kind", "canon_version", "service_id"})


def vectors(material: Material) -> Iterator[Vector]:
    """Yield the vectors in a fixed order."""
    for part in (
        _algorithms,
        _kids,
        _key_sets,
        _alphabets,
        _members,
        _true_kinds,
        _values,
        _payments,
        _orders,
        _numbers,
        _encodings,
    ):
        yield from part(material)


def _algorithms(material: Material) -> Iterator[Vector]:
    """Names of algorithms are texts in which case counts (RFC 7515 section 4.1.1)."""
    signer = material.third[0]
    for name in ("eddsa", "EDDSA", "ed25519", " EdDSA", "EdDSA ", "Ed25519ph"):
        yield Vector(f"alg {name!r}, a true signature", "GW-RCPT-18", material.by(signer, alg=name), keys(signer))


def _kids(material: Material) -> Iterator[Vector]:
    """The key is the one of the very kid, a text in which case counts (RFC 7515 4.1.4, RFC 7517 4.5, P-RV-01)."""
    first, second, _ = material.third
    for description, kid, alike in (
        ("in small letters", "KEY-A", "key-a"),
        ("without its end", "key-10", "key-1"),
        ("and more behind it", "key-1", "key-10"),
        ("as a DID URL's fragment", "key-1", "did:web:issuer.example#key-1"),
        ("after a space", "key-1", " key-1"),
        ("but for its end", "did:web:issuer.example#key-1", "did:web:issuer.example#key-2"),
        ("but for its beginning", "2024-signing-key", "2025-signing-key"),
    ):
        document = {"keys": [{**second.jwk, "kid": alike}, {**first.jwk, "kid": kid}]}
        name = f"the kid names key 2, which signed; key 1 has it {description}"
        # A verifier may reject a key set that contains such a text.
        odd = alike != alike.strip()
        yield Vector(name, "GW-RCPT-09", material.by(first, kid), document, valid=True, pinned=odd)


def _key_sets(material: Material) -> Iterator[Vector]:
    """A key set is an object that lists its keys in `keys` (RFC 7517 section 5)."""
    signer = material.third[0]
    if material.platform is not None:
        yield Vector(
            "a third party's; key set: its bare key", "GW-RCPT-29", material.by(signer), signer.jwk, pinned=True
        )


def _alphabets(material: Material) -> Iterator[Vector]:
    """Segments are in the alphabet that is safe in URLs (RFC 7515 section 2), and signed as they stand here."""
    signer = material.third[0]
    for place, description in enumerate(("header", "payload", "signature")):
        token = _in_plain_base64(material, place)
        name = f"the {description} in the alphabet of plain base64"
        yield Vector(name, "GW-RCPT-24", token, keys(signer), pinned=True)


def _in_plain_base64(material: Material, place: int) -> str:
    """Return a receipt with one segment in plain base64, with a character that base64url spells differently."""
    signer, count = material.third[0], 0
    while True:
        # These characters encode to `-` or `_` at any offset. A signature contains one by chance.
        count += 1
        more = "~?" * count
        header = {**material.header, "kid": signer.kid} | ({"x-pad": more} if place != 1 else {})
        payload = jcs_bytes({**material.claims, "note": more}) if place == 1 else material.payload
        segments = signer.sign(header, payload).split(".")
        # Without one of these characters both alphabets give the same text.
        if {*segments[place]} & {*"-_"}:
            break
    segments[place] = segments[place].replace("-", "+").replace("_", "/")
    return ".".join(segments) if place == 2 else signer.sign_segments(segments[0], segments[1])


def _signed_vector(material: Material, description: str, claims: dict[str, Any]) -> Vector:
    signer = material.third[0]
    token = material.by(signer, payload=jcs_bytes(claims))
    return Vector(f"truly signed: {description}", _ROW, token, keys(signer), pinned=True)


def _members(material: Material) -> Iterator[Vector]:
    """Each required member of the other two kinds is there (step 8)."""
    for description, kind, claims in _KINDS:
        for name in (one for one in MEMBERS[kind] if one not in _NOT_ASKED):
            less = {one: value for one, value in claims.items() if one != name}
            yield _signed_vector(material, f"{description} without {name}", less)


def _true_kinds(material: Material) -> Iterator[Vector]:
    """Third parties' receipts of each kind pass with each word of their sets (2.3, step 8b).

    The names of two kinds are those of deployed services; a service with other codes need not know them.
    """
    signer = material.third[0]
    receipts = {"a payable receipt": PAYABLE}
    for word in VALUES["settlement_result"]:
        receipts[f"a settlement attestation of {word}"] = {**ATTESTATION, "settlement_result": word}
    for word in VALUES["screen_result"]:
        receipts[f"a compliance receipt of {word}"] = {**material.claims, "screen_result": word}
    for description, claims in receipts.items():
        token = material.by(signer, payload=jcs_bytes(claims))
        name = f"a third party's, its key set supplied: {description}"
        yield Vector(name, "GW-RCPT-06", token, keys(signer), valid=True, deployed=True)


def _values(material: Material) -> Iterator[Vector]:
    """Words and hash references are those of their sets, letter by letter (steps 6 and 8b)."""
    claims = material.claims
    upper_case_claims = {**claims, "canon_version": "JCS-RFC8785-V1"}
    yield _signed_vector(material, "canon_version in capitals", upper_case_claims)
    for word in ("allow", "ALLOWED", "ALLOW "):
        yield _signed_vector(material, f"screen_result {word!r}", {**claims, "screen_result": word})
    for word in ("settled", "SETTLED_SOON", "UNKNOWN"):
        yield _signed_vector(material, f"settlement_result {word!r}", {**ATTESTATION, "settlement_result": word})
    for name, description, text in (
        ("request_hash", "in capitals", "sha256:" + "AB" * 32),
        ("response_hash", "cut", "sha256:" + "bc" * 31),
        ("settled_payment_ref", "with a line end", PAYMENT_REFERENCE + "\n"),
        ("request_hash", "without its scheme", "ab" * 32),
    ):
        yield _signed_vector(material, f"{name} {description}", {**PAYABLE, name: text})


def _payments(material: Material) -> Iterator[Vector]:
    """The payment that is expected is compared as text, with the member of the receipt's kind (step 9, P-GR-01)."""
    signer = material.third[0]
    paid_claims = {**material.claims, "payment_hash": PAYMENT_REFERENCE}
    for description, expected_hash in (
        ("in capitals", "sha256:" + "CD" * 32),
        ("cut", PAYMENT_REFERENCE[:-2]),
        ("without its scheme", "cd" * 32),
        ("and spaces around it", f" {PAYMENT_REFERENCE} "),
        ("of no letter", ""),
    ):
        yield _payment_vector(
            f"the expected payment {description}",
            material.by(signer, payload=jcs_bytes(paid_claims)),
            material,
            expected_hash,
        )
    for description, _, claims in _KINDS:
        token = material.by(signer, payload=jcs_bytes(claims))
        yield _payment_vector(f"{description} of another payment", token, material, OTHER_REFERENCE)
        token = material.by(signer, payload=jcs_bytes({**claims, "payment_hash": OTHER_REFERENCE}))
        yield _payment_vector(
            f"{description} of another payment than its payment_hash", token, material, OTHER_REFERENCE
        )


def _payment_vector(name: str, token: str, material: Material, expected_hash: str) -> Vector:
    return Vector(name, _ROW, token, keys(material.third[0]), pinned=True, expected_payment_hash=expected_hash)


def _orders(material: Material) -> Iterator[Vector]:
    """Members are in the order of their UTF-16 code units (RFC 8785 section 3.2.3), not of code points or bytes."""
    signer = material.third[0]
    payload = material.payload[:-1] + ',"\ufb33":1,"\U0001f600":2}'.encode()
    token = material.by(signer, payload=payload)
    yield Vector("truly signed: members in the order of their UTF-8 bytes", _ROW, token, keys(signer), pinned=True)


def _numbers(material: Material) -> Iterator[Vector]:
    """Numbers are written as ECMAScript writes those of binary64 (RFC 8785 section 3.2.2.3, P-CV-20)."""
    signer, member = material.third[0], b'"urn:example:count":'
    plain = jcs_bytes({**material.claims, "urn:example:count": 1})
    true = material.by(signer, payload=plain)
    yield Vector("truly signed: a further member that is 1", _ROW, true, keys(signer), valid=True, deployed=True)
    for description, digits, readers_differ in (
        ("1.0", b"1.0", False),
        ("an integer beyond 2^53", b"9007199254740993", True),
    ):
        token = material.by(signer, payload=plain.replace(member + b"1", member + digits))
        name = f"truly signed: a further member that is {description}"
        yield Vector(name, _ROW, token, keys(signer), pinned=True, deployed=readers_differ)


def _encodings(material: Material) -> Iterator[Vector]:
    """Texts, names and numbers are written as RFC 8785 does, and not as an encoder of some language (3.2.2, 3.2.3)."""
    signer = material.third[0]
    # Other numbers are integers beyond 2^53 - 1, which readers may reject.
    counts = [number for number in NUMBERS if not _SAFE < abs(number) < 1e21]
    members: dict[str, Any] = {
        "a further text that encoders escape": {"urn:example:note": TEXTS[0]},
        "further names beyond ASCII": dict.fromkeys(NAMES, 1),
        "further numbers at the edges": {"urn:example:counts": counts},
    }
    for description, more in members.items():
        token = material.by(signer, payload=jcs_bytes({**material.claims, **more}))
        yield Vector(f"truly signed: {description}", _ROW, token, keys(signer), valid=True, deployed=True)
    every = {**material.claims, **{name: value for more in members.values() for name, value in more.items()}}
    for description, encode in OTHER_ENCODINGS.items():
        token = material.by(signer, payload=encode(every))
        yield Vector(f"truly signed, in JSON that {description}", _ROW, token, keys(signer), pinned=True)
