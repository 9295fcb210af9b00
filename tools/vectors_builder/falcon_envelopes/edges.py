"""Signatures at the edges of what Falcon takes: the longest vector, the largest coefficient, short and long codings.

A signer never makes them. Their keys are made for them (`conformance.oracles.falcon_making`) and verify like any other.
Both are drawn once and kept, because how a platform rounds decides the draw.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Final

from conformance.oracles.credentials.judging import kid_of
from conformance.oracles.ed25519_keys import encode_base64url
from conformance.oracles.falcon import DEGREE, LENGTH_BOUND, SALT_BYTES
from conformance.oracles.falcon_making import OneSignature, sign_with_vector
from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft, seed
from tools.vectors_builder.falcon_envelopes.making import (
    DIDS,
    REGISTRY,
    base64_text,
    draft_refused_envelope,
    encode_value,
    holds,
    passport,
)
from tools.vectors_builder.falcon_envelopes.recordings import Entry, Recorded

EDGES: Final = Recorded(
    Path(__file__).parent / "recorded" / "edges.json", "Signatures that no signer makes, each with the key made for it."
)
# The spread of a signer's own vectors.
_SIGMA: Final = 168.0
_FEW: Final = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """What vector a signature has.

    Attributes:
        second: Draws the half that the signature has.
        spread: Of the other half.
        squared_length: Squared length that both must have together; None leaves it as it comes.
    """

    second: Callable[[random.Random], list[int]]
    spread: float = _SIGMA
    squared_length: int | None = None


def valid_drafts() -> Iterator[Draft]:
    """Yield those that hold."""
    shapes = {
        "norm at_the_bound": (
            Shape(_usual, squared_length=LENGTH_BOUND),
            "The squared length may be the bound itself: too long is what is longer.",
        ),
        "norm just_below": (
            Shape(_usual, squared_length=LENGTH_BOUND - 1),
            "One less than the bound, under another key.",
        ),
        "signature_length shortest": (
            Shape(lambda rng: [rng.choice((-1, 1)) * rng.randint(1, 127) for _ in range(DEGREE)]),
            "No coefficient needs more than nine bits: 1193 bytes, far fewer than a signer's usual 1270.",
        ),
        "signature_length long": (
            Shape(lambda rng: [rng.choice((-256, 256)) for _ in range(DEGREE)], 40),
            "Coefficients of 256 need eleven bits each: 1449 bytes, which the padded form of 1280 has no room for.",
        ),
        "coefficient highest": (_with_first(2047), "No coefficient is larger than 2047."),
        "coefficient lowest": (_with_first(-2047), "None is less than -2047."),
    }
    for name, (shape, why) in shapes.items():
        text, keys = _envelope(name, shape)
        yield holds(*_two(name), text, why, trusted_keys=keys)


def refused_drafts() -> Iterator[Draft]:
    """Yield those that do not."""
    why = "The equation holds and the coding is right: only the length of the vector tells that nobody signed this."
    for variant, squared_length in (("by_one", LENGTH_BOUND + 1), ("twice", 2 * LENGTH_BOUND)):
        text, keys = _envelope(f"norm {variant}", Shape(_usual, squared_length=squared_length))
        fault = f"The squared length of the signature's vector is {squared_length}, and {LENGTH_BOUND} is the most."
        yield draft_refused_envelope("sig_invalid/norm", variant, text, fault, why, trusted_keys=keys)
    for variant, value in (("highest", 2048), ("lowest", -2048)):
        text, keys = _envelope(f"beyond {variant}", _with_first(value))
        fault = f"The first coefficient is {value}, one beyond what a coefficient may be."
        why = "The equation would hold and the vector is short: who reads the unary part without an end takes it."
        yield draft_refused_envelope("sig_invalid/coefficient", variant, text, fault, why, trusted_keys=keys)


def _usual(rng: random.Random) -> list[int]:
    return [round(rng.gauss(0, 160)) for _ in range(DEGREE)]


def _with_first(value: int) -> Shape:
    return Shape(lambda rng: [value, *_usual(rng)[1:]])


def _two(name: str) -> tuple[str, str]:
    property_name, variant = name.split(" ")
    return property_name, variant


def _envelope(name: str, shape: Shape) -> tuple[str, dict[str, str]]:
    """Return an envelope and the trust set under which a vector of a shape signs it."""
    payload = passport(passport_id=f"passport-of-{name.replace(' ', '-').replace('_', '-')}")
    one_signature = _make_signature(name, jcs_bytes(payload), shape)
    kid, sig = kid_of(one_signature.public_key), encode_base64url(one_signature.signature)
    text = encode_value({"payload": payload, "alg": "Falcon-1024", "kid": kid, "sig": sig})
    return text, {DIDS[REGISTRY]: base64_text(one_signature.public_key)}


def _make_signature(name: str, message: bytes, shape: Shape) -> OneSignature:
    def draw() -> Entry:
        one_signature = _draw_signature(random.Random(seed("falcon_envelopes", name)), message, shape)  # noqa: S311 - no secret
        return {
            "public_key_b64": base64_text(one_signature.public_key),
            "signature_b64": base64_text(one_signature.signature),
        }

    stored_parts = EDGES.of(f"{name} {hashlib.sha256(message).hexdigest()}", draw)
    return OneSignature(*(base64.b64decode(stored_parts[part]) for part in ("public_key_b64", "signature_b64")))


def _draw_signature(rng: random.Random, message: bytes, shape: Shape) -> OneSignature:
    while True:
        second = shape.second(rng)
        first = [round(rng.gauss(0, shape.spread)) for _ in range(DEGREE)]
        if shape.squared_length is not None:
            first = lengthen_vector(first, shape.squared_length - sum(one * one for one in second))
        one_signature = sign_with_vector(message, rng.randbytes(SALT_BYTES), first, second)
        if one_signature is not None:
            return one_signature


def lengthen_vector(vector: Sequence[int], squared_length: int) -> list[int]:
    """Return a vector stretched so that its squared length is exactly `squared_length`.

    All coefficients but the last few are stretched alike, and what is then left goes to those, largest squares first.

    Raises:
        ValueError: That many squares do not come out even.
    """
    stretch = isqrt(10**12 * (squared_length * 998 // 1000) // sum(one * one for one in vector))
    stretched_vector = [one * stretch // 10**6 for one in vector[:-_FEW]]
    missing_length = squared_length - sum(one * one for one in stretched_vector)
    for _ in range(_FEW):
        stretched_vector.append(isqrt(missing_length))
        missing_length -= stretched_vector[-1] ** 2
    if missing_length:
        raise ValueError("no such vector")
    return stretched_vector
