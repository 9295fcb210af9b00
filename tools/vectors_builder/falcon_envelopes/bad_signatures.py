"""Envelopes whose signature does not hold: changed, in another coding, of another message or of another key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from conformance.oracles.credentials.judging import kid_of
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.falcon import DEGREE, MAX_SIGNATURE_BYTES, MODULUS, public_polynomial, signature_parts
from conformance.oracles.falcon_making import compress
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.making import (
    BENCH,
    DIDS,
    SIGNER,
    STRANGER,
    base64_text,
    certificate,
    draft_refused_envelope,
    envelope,
)

_VECTOR: Final = 41
_PADDED_BYTES: Final = 1280
_ONE_CODING: Final = "Falcon has one coding of it; another one would let anybody make a second signature of a first."


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _headers()
    yield from _changed_drafts()
    yield from _codings()
    yield from _lengths()
    yield from _ends()
    yield from _other_messages()
    yield from _other_keys()


def signature() -> bytes:
    """Return the signature of the usual certificate."""
    return SIGNER.sign(BENCH, jcs_bytes(certificate()))


def signed_with(data: bytes) -> str:
    """Return the usual certificate with other bytes for a signature."""
    return envelope(certificate(), sig=encode_base64url(data))


def flip_bit(data: bytes, bit: int) -> bytes:
    """Return data with one bit turned; bits are counted from the highest of the first byte."""
    at, place = divmod(bit, 8)
    return data[:at] + bytes([data[at] ^ 0x80 >> place]) + data[at + 1 :]


def _headers() -> Iterator[Draft]:
    tail = signature()[1:]
    whys = {
        0x5A: ("constant_time", "The header of the constant-time coding, which is another one and is not spoken here."),
        0x39: ("degree_512", "The header of Falcon-512."),
        0xBA: ("highest_bit", "The highest bit of a header is zero."),
    }
    for header, (variant, why) in whys.items():
        fault = f"The signature begins with {header:#04x} instead of 0x3a."
        yield draft_refused_envelope(
            "sig_invalid/header", variant, signed_with(bytes([header]) + tail), fault, why, pins=("P-KY-09",)
        )
    yield draft_refused_envelope(
        "sig_invalid/header_bit",
        "fixed_bit",
        signed_with(b"\x2a" + tail),
        "The signature begins with 0x2a instead of 0x3a: the bit between coding and degree is zero.",
        "Who looks at the coding and the degree alone takes it.",
        pins=("P-KY-09",),
    )


def _changed_drafts() -> Iterator[Draft]:
    original = signature()
    why = "The salt goes into the point that is signed: another salt is another message."
    changes = {
        "first_bit": (flip_bit(original, 8), "The first bit of the salt is turned."),
        "last_bit": (flip_bit(original, 8 * _VECTOR - 1), "The last bit of the salt is turned."),
        "zeros": (original[:1] + bytes(40) + original[_VECTOR:], "The salt is zeros."),
    }
    for variant, (data, fault) in changes.items():
        yield draft_refused_envelope("sig_invalid/salt", variant, signed_with(data), fault, why)
    salt, vector = signature_parts(original)
    first = next(at for at, value in enumerate(vector) if value)
    why = "The vector is coded rightly and is of a length that a signer's would have; the equation alone refutes it."
    negated_vector = [-value if at == first else value for at, value in enumerate(vector)]
    other_signatures = {
        "sign_of_one": (negated_vector, "One coefficient is negated."),
        "two_swapped": (swap_neighbours(vector), "The first two coefficients that differ have changed places."),
        "all_negated": ([-value for value in vector], "Every coefficient is negated."),
    }
    for variant, (signature_bytes, fault) in other_signatures.items():
        yield draft_refused_envelope(
            "sig_invalid/vector", variant, signed_with(encode_whole(salt, signature_bytes)), fault, why
        )
    yield draft_refused_envelope(
        "sig_invalid/zero_vector",
        "all",
        signed_with(encode_whole(salt, [0] * len(vector))),
        "Every coefficient is zero.",
        "Then the other half is the hashed message itself, which is far too long: only the bound refutes it.",
    )


def swap_neighbours(vector: list[int]) -> list[int]:
    """Return a vector whose first two neighbours that differ have changed places."""
    at = next(at for at in range(len(vector)) if vector[at] != vector[at + 1])
    return [*vector[:at], vector[at + 1], vector[at], *vector[at + 2 :]]


def encode_whole(salt: bytes, vector: list[int]) -> bytes:
    """Return a signature of a salt and a vector, whose coding is as long as it is."""
    return b"\x3a" + salt + compress(vector)


def _codings() -> Iterator[Draft]:
    original = signature()
    yield draft_refused_envelope(
        "sig_invalid/coding",
        "ones",
        signed_with(original[:_VECTOR] + b"\xff" * (len(original) - _VECTOR)),
        "The vector is ones throughout, more of them than 1024 coefficients of nine bits.",
        "A hundred bytes that nobody has read follow the last coefficient.",
    )
    payload, zero = _signed_where(lambda data: 0 in signature_parts(data)[1])
    yield draft_refused_envelope(
        "sig_invalid/coding",
        "minus_zero",
        envelope(payload, sig=encode_base64url(_with_minus_zero(zero))),
        "A coefficient of zero has the sign of less.",
        f"The vector is the one that was signed. {_ONE_CODING}",
    )
    payload, padded_signature = _signed_where(lambda data: not data[-1] & 1)
    yield draft_refused_envelope(
        "sig_invalid/padding_bit",
        "last",
        envelope(payload, sig=encode_base64url(flip_bit(padded_signature, 8 * len(padded_signature) - 1))),
        "The last bit after the last coefficient is one.",
        f"The vector is the one that was signed. {_ONE_CODING}",
    )


def _signed_where(condition: Callable[[bytes], bool]) -> tuple[dict[str, Any], bytes]:
    """Return the first of some payloads whose signature is as wanted, and the signature."""
    for tasks in range(481, 520):
        payload = certificate(tasks_run=tasks)
        original = SIGNER.sign(BENCH, jcs_bytes(payload))
        if condition(original):
            return payload, original
    raise AssertionError("no such signature among forty")


def _with_minus_zero(data: bytes) -> bytes:
    """Return a signature whose first coefficient of zero is coded with the other sign."""
    _, vector = signature_parts(data)
    before = sum(9 + (abs(value) >> 7) for value in vector[: vector.index(0)])
    return flip_bit(data, 8 * _VECTOR + before)


def _lengths() -> Iterator[Draft]:
    original = signature()
    short = {
        "empty": (b"", "The signature is no bytes at all."),
        "header_and_salt": (original[:_VECTOR], "The signature ends after the salt."),
        "last_byte_gone": (original[:-1], "The signature's last byte is missing."),
    }
    for variant, (data, fault) in short.items():
        why = "A reader that trusts the length reads beyond the end."
        yield draft_refused_envelope("sig_invalid/too_short", variant, signed_with(data), fault, why)
    yield draft_refused_envelope(
        "sig_invalid/too_long",
        "by_one",
        signed_with(original.ljust(MAX_SIGNATURE_BYTES + 1, b"\0")),
        f"The signature is {MAX_SIGNATURE_BYTES + 1} bytes, the rest of them zeros: one more than any is.",
        "A library with a buffer of the longest signature must not be handed more.",
        pins=("P-KY-09",),
    )
    yield draft_refused_envelope(
        "sig_invalid/too_long",
        "twice",
        signed_with(original + original),
        "The signature stands there twice.",
        "What follows a signature is not looked at by who reads until it has 1024 coefficients.",
        pins=("P-KY-09",),
    )


def _ends() -> Iterator[Draft]:
    original = signature()
    why = "Several libraries take zeros after the end, so that one signature has many texts: decoded for length first."
    zeros = {
        "one": (original + b"\0", "A zero byte follows the signature."),
        "padded_form": (
            original.ljust(_PADDED_BYTES, b"\0"),
            "The signature is filled up with zeros to 1280 bytes, as padded Falcon.",
        ),
        "longest": (original.ljust(MAX_SIGNATURE_BYTES, b"\0"), "The signature is filled up with zeros to 1462 bytes."),
    }
    for variant, (data, fault) in zeros.items():
        yield draft_refused_envelope(
            "sig_invalid/zeros_after_the_end", variant, signed_with(data), fault, why, pins=("P-KY-09",)
        )
    yield draft_refused_envelope(
        "sig_invalid/byte_after_the_end",
        "one",
        signed_with(original + b"\x01"),
        "A byte of one follows the signature.",
        "Whatever follows makes another text of the same signature.",
    )


def _other_messages() -> Iterator[Draft]:
    original = signature()
    why = "What the issuer has not signed is not the issuer's word."
    raised_payload = certificate(score=0.992)
    yield draft_refused_envelope(
        "sig_invalid/changed_payload",
        "score",
        envelope(raised_payload, sig=encode_base64url(original)),
        "The score was raised after the signature was made.",
        why,
    )
    yield draft_refused_envelope(
        "sig_invalid/changed_payload",
        "member_added",
        envelope(certificate(agent_did="did:web:agent.example"), sig=encode_base64url(original)),
        "A member was added after the signature was made.",
        "Every member is covered, also those that the profile does not name.",
    )
    yield draft_refused_envelope(
        "sig_invalid/changed_payload",
        "member_gone",
        envelope(certificate(tasks_run=None), sig=encode_base64url(original)),
        "A member that the profile does not name was taken out after the signature was made.",
        "Who checks only the members that it knows does not notice.",
    )
    payload = certificate()
    unsorted_text = json.dumps(payload, separators=(",", ":")).encode()
    over = {
        "text_as_written": (unsorted_text, "The signature is over the payload as it is written, not over its JCS."),
        "hash": (hashlib.sha256(jcs_bytes(payload)).digest(), "The signature is over SHA-256 of the payload's JCS."),
        "sorted_with_spaces": (
            json.dumps(payload, sort_keys=True).encode(),
            "The signature is over the payload sorted, with a space after each comma and colon.",
        ),
    }
    for variant, (message, fault) in over.items():
        text = envelope(payload, sig=encode_base64url(SIGNER.sign(BENCH, message)))
        why = "A signature of the right key over nearly the right bytes: what many a signer does by mistake."
        yield draft_refused_envelope(
            "sig_invalid/signed_otherwise", variant, text, fault, why, pins=("P-AD-06", "P-CV-07")
        )


def _other_keys() -> Iterator[Draft]:
    payload = certificate()
    theirs = SIGNER.sign(STRANGER, jcs_bytes(payload))
    yield draft_refused_envelope(
        "sig_invalid/another_key",
        "stranger",
        envelope(payload, sig=encode_base64url(theirs)),
        "Somebody else has signed, and the envelope names the issuer's key.",
        "A kid is a claim; the equation is what counts.",
    )
    key = SIGNER.public(BENCH)
    polynomial = public_polynomial(key)
    small = [place for place, value in enumerate(polynomial) if value + MODULUS < 1 << 14]
    for variant, place in (("first", small[0]), ("last", small[-1])):
        changed_key = _with_coefficient(key, place, polynomial[place] + MODULUS)
        kid = kid_of(changed_key)
        yield draft_refused_envelope(
            "sig_invalid/key_beyond_the_modulus",
            variant,
            envelope(certificate(bench_kid=kid), kid=kid),
            f"Coefficient {place} of the key has {MODULUS} added to it, which is the modulus.",
            "Who reduces it instead finds the issuer's own key, under which the signature holds, with another name.",
            trusted_keys={DIDS[BENCH]: base64_text(changed_key)},
        )


def _with_coefficient(key: bytes, place: int, value: int) -> bytes:
    """Return a public key with another coefficient, 14 bits each."""
    shift = 14 * (DEGREE - 1 - place)
    number = int.from_bytes(key[1:], "big")
    return key[:1] + (number & ~(0x3FFF << shift) | value << shift).to_bytes(len(key) - 1, "big")
