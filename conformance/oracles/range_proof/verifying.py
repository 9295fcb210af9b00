"""Whether a proof shows its statement, and else at which stage it is refused."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import L, Point
from conformance.oracles.range_proof.system import (
    BITS,
    LAYOUT,
    POINTS,
    POINTS_FIRST,
    PROOF_BYTES,
    ROUNDS,
    SCALARS_FIRST,
    Transcript,
    ZeroChallenge,
    generator,
    vectors,
)


class Refusal(StrEnum):
    """Stages at which a proof is refused, in their order."""

    LENGTH = "length"
    COMMITMENT = "commitment"
    POINT = "point"
    SCALAR = "scalar"
    CHALLENGE = "challenge"
    POLYNOMIAL = "polynomial"
    INNER_PRODUCT = "inner_product"


def refusal_of(payload: Mapping[str, Any], proof: bytes) -> Refusal | None:
    """Return where a proof of a receipt's payload is refused, None where it shows its statement.

    Raises:
        ValueError: The payload has no commitment of 32 bytes in base64.
    """
    if len(proof) != PROOF_BYTES:
        return Refusal.LENGTH
    commitment = _element(_commitment(payload))
    if commitment is None:
        return Refusal.COMMITMENT
    parts = {name: proof[32 * n : 32 * n + 32] for n, name in enumerate(LAYOUT)}
    read = {name: _element(part) for name, part in parts.items() if name in POINTS}
    points = {name: point for name, point in read.items() if point is not None}
    # Every point must be in the prime subgroup. Otherwise a part of small order could vanish in
    # an equation and hide a wrong value.
    if len(points) != len(POINTS):
        return Refusal.POINT
    scalars = {name: int.from_bytes(part, "little") for name, part in parts.items() if name not in POINTS}
    # A scalar has one encoding, below the order.
    if any(scalar >= L for scalar in scalars.values()):
        return Refusal.SCALAR
    try:
        challenges = _challenges(payload, parts)
    except ZeroChallenge:
        return Refusal.CHALLENGE
    if not _polynomial(commitment, int(payload["threshold_milliunits"]), points, scalars, challenges):
        return Refusal.POLYNOMIAL
    return None if _inner_product(points, scalars, challenges) else Refusal.INNER_PRODUCT


def _commitment(payload: Mapping[str, Any]) -> bytes:
    try:
        commitment = base64.b64decode(str(payload["commitment_b64"]), validate=True)
    except (KeyError, binascii.Error) as fault:
        raise ValueError("the payload has no commitment") from fault
    if len(commitment) != 32:
        raise ValueError("a commitment is 32 bytes")
    return commitment


@lru_cache(maxsize=1024)
def _element(data: bytes) -> Point | None:
    """Return an element of the group, None where bytes are not one; the same points are asked about again and again."""
    try:
        point = curve.decode(data)
    except curve.NoPoint:
        return None
    return point if curve.is_in_subgroup(point) else None


def _challenges(payload: Mapping[str, Any], parts: Mapping[str, bytes]) -> dict[str, int]:
    transcript, challenges = Transcript(payload), {}
    steps = [
        (POINTS_FIRST[:2], ("y", "z")),
        (POINTS_FIRST[2:], ("x",)),
        (SCALARS_FIRST, ("w",)),
        *(((f"L_{n}", f"R_{n}"), (f"u_{n}",)) for n in range(1, ROUNDS + 1)),
    ]
    for item_names, challenge_names in steps:
        for name in item_names:
            transcript.item(name, parts[name])
        for name in challenge_names:
            challenges[name] = transcript.challenge(name)
    return challenges


def _polynomial(
    commitment: Point,
    threshold: int,
    points: Mapping[str, Point],
    scalars: Mapping[str, int],
    challenges: Mapping[str, int],
) -> bool:
    """t*G + tau_x*H against z^2*V + delta*G + x*T1 + x^2*T2, where V is the commitment less the threshold."""
    x, y, z = challenges["x"], challenges["y"], challenges["z"]
    # The sum of y^n, as a geometric series, has no quotient for y = 1.
    series = (pow(y, BITS, L) - 1) * pow(y - 1, -1, L) if y != 1 else BITS
    delta = (z - z * z) * series - pow(z, 3, L) * (2**BITS - 1)
    # The commitment less the threshold is a commitment to the difference. The proof shows that
    # the difference is in the range, so the score is at least the threshold.
    value = curve.add(commitment, curve.negate(curve.multiply(threshold, curve.BASE)))
    right_terms = [(z * z, value), (delta, curve.BASE), (x, points["T1"]), (x * x, points["T2"])]
    left_terms = [(-scalars["t"], curve.BASE), (-scalars["tau_x"], generator("H"))]
    return _vanishes(right_terms + left_terms)


def _inner_product(points: Mapping[str, Point], scalars: Mapping[str, int], challenges: Mapping[str, int]) -> bool:
    """Fold the vectors of generators by the challenges, in numbers only, and compare with what was folded."""
    x, y, z, w = (challenges[name] for name in ("x", "y", "z", "w"))
    a, b = scalars["a"], scalars["b"]
    lefts, rights = vectors()
    left_weights, right_weights = [1] * BITS, [1] * BITS
    half = BITS // 2
    terms = [(1, points["A"]), (x, points["S"]), (-scalars["mu"], generator("H"))]
    terms.append((w * (scalars["t"] - a * b), generator("U")))
    for number in range(1, ROUNDS + 1):
        u = challenges[f"u_{number}"]
        back = pow(u, -1, L)
        for place in range(BITS):
            upper = place & half
            left_weights[place] = left_weights[place] * (u if upper else back) % L
            right_weights[place] = right_weights[place] * (back if upper else u) % L
        terms += [(u * u, points[f"L_{number}"]), (back * back, points[f"R_{number}"])]
        half //= 2
    down = pow(y, -1, L)
    for place in range(BITS):
        shrunk = pow(down, place, L)
        terms.append((-z - a * left_weights[place], lefts[place]))
        terms.append((z + shrunk * (z * z * 2**place - b * right_weights[place]), rights[place]))
    return _vanishes(terms)


def _vanishes(terms: list[tuple[int, Point]]) -> bool:
    """Return whether a sum of multiples of elements is neutral."""
    return curve.is_same(curve.combine([n % L for n, _ in terms], [point for _, point in terms]), curve.NEUTRAL)
