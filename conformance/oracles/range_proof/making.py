"""Proofs made: honestly, or so that a verifier which leaves one thing out accepts what is not so."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import L, Point
from conformance.oracles.range_proof.multiples import BASE, combine_generators
from conformance.oracles.range_proof.system import BITS, LEFTS, RIGHTS, Transcript, generator

# A point of order eight: twice doubled it is (0, -1).
_SMALL: Final = curve.decode(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"))
_HALF: Final = curve.double(curve.double(_SMALL))


class Forgery(StrEnum):
    """What a verifier must leave out to take a forged proof."""

    W = "w"
    POLYNOMIAL = "the polynomial's equation"
    INNER_PRODUCT = "the inner product's equation"
    SUBGROUP = "the subgroup check"
    SUBGROUP_OTHER_SIDE = "the subgroup check, the commitment on the equation's other side"
    POINTS = "the subgroup check of the proof's points"
    VALUES = "the subgroup check of T1 and T2"
    ROUNDS = "the subgroup check of the rounds' points"


POINT_FORGERIES: Final = frozenset(
    {Forgery.SUBGROUP, Forgery.SUBGROUP_OTHER_SIDE, Forgery.POINTS, Forgery.VALUES, Forgery.ROUNDS}
)
"""Forgeries for a score that reaches its threshold: what is wrong is a point outside the subgroup.

A verifier multiplies it by a scalar below L, and a point of small order vanishes where that scalar is a multiple of the
order. Of `VALUES` and `ROUNDS` two points have a part of order two, with scalars both even or both odd: that vanishes
on either side of an equation. A commitment is alone, so that there is one forgery for each side.
"""


@dataclass(frozen=True, slots=True)
class CommitmentOpening:
    """What the maker of a proof draws.

    Attributes:
        score: What the commitment holds, in milliunits.
        blinding_scalar: What hides it.
        twist: A point of small order that is added to the commitment, or the neutral one.
    """

    score: int
    blinding_scalar: int = field(repr=False)
    twist: Point = curve.NEUTRAL


def secret(score: int, rng: random.Random, forgery: Forgery | None = None) -> CommitmentOpening:
    """Return a secret for a score; the commitment of `SUBGROUP` and `MOVED` lies outside the subgroup."""
    is_twisted = forgery in {Forgery.SUBGROUP, Forgery.SUBGROUP_OTHER_SIDE}
    return CommitmentOpening(score, rng.randrange(1, L), _SMALL if is_twisted else curve.NEUTRAL)


def commitment_text(opening: CommitmentOpening) -> str:
    """Return the commitment in base64."""
    whole = combine_generators({BASE: opening.score, "H": opening.blinding_scalar})
    return base64.b64encode(curve.encode(curve.add(whole, opening.twist))).decode()


def proof_of(
    payload: Mapping[str, Any],
    opening: CommitmentOpening,
    rng: random.Random,
    forgery: Forgery | None = None,
    new_transcript: Callable[[Mapping[str, Any]], Transcript] = Transcript,
) -> bytes:
    """Return a proof for a payload that has its commitment and threshold.

    An honest proof needs a score that is not below the threshold. A forged one needs no such score, unless its forgery
    is in `POINT_FORGERIES`. Their wrong points are the commitment (`SUBGROUP`, `SUBGROUP_OTHER_SIDE`), S (`POINTS`), T1
    and T2 (`VALUES`), or both sides of a round (`ROUNDS`). `new_transcript` makes the transcript; another transcript
    makes a proof of another system.
    """
    return _Prover(payload, opening, rng, forgery, new_transcript).proof()


class _Prover:
    """One proof in the making."""

    def __init__(
        self,
        payload: Mapping[str, Any],
        opening: CommitmentOpening,
        rng: random.Random,
        forgery: Forgery | None,
        new_transcript: Callable[[Mapping[str, Any]], Transcript],
    ) -> None:
        self._payload, self._opening, self._rng, self._forgery, self._new_transcript = (
            payload,
            opening,
            rng,
            forgery,
            new_transcript,
        )
        self._value = (opening.score - int(payload["threshold_milliunits"])) % L
        if (forgery is None or forgery in POINT_FORGERIES) and self._value >= 2**BITS:
            raise ValueError("an honest proof needs a score that is not below the threshold")

    def proof(self) -> bytes:
        while (proof_bytes := self._try_proof()) is None:
            pass
        return proof_bytes

    def _try_proof(self) -> bytes | None:
        """Return a proof; None where no round of a `ROUNDS` forgery drew a scalar that does."""
        bits, excess = self._bits()
        alpha, rho = self._draw(), self._draw()
        left_masks, right_masks = [self._draw() for _ in bits], [self._draw() for _ in bits]
        bit_commitment = combine_generators({"H": alpha, "U": excess} | _name_scalars(bits, [bit - 1 for bit in bits]))
        masks = combine_generators({"H": rho} | _name_scalars(left_masks, right_masks))
        if self._forgery is Forgery.POINTS:
            masks = curve.add(masks, _SMALL)
        while True:
            transcript = self._new_transcript(self._payload)
            y, z = _send(transcript, {"A": curve.encode(bit_commitment), "S": curve.encode(masks)}, "y", "z")
            # The forgery works only if the challenge has the wanted remainder. Another blinding
            # factor gives another challenge.
            if self._twist_vanishes(z):
                break
            rho, masks = rho + 1, curve.add(masks, generator("H"))
        ups = [pow(y, n, L) for n in range(BITS)]
        left_0 = [bit - z for bit in bits]
        right_0 = [ups[n] * (bits[n] - 1 + z) + z * z * 2**n for n in range(BITS)]
        right_1 = [ups[n] * right_masks[n] for n in range(BITS)]
        t_1, t_2 = _inner(left_0, right_1) + _inner(left_masks, right_0), _inner(left_masks, right_1)
        twist = _HALF if self._forgery is Forgery.VALUES else curve.NEUTRAL
        while True:
            tau_1, tau_2 = self._draw(), self._draw()
            linear, quadratic = _pedersen(t_1, tau_1, twist), _pedersen(t_2, tau_2, twist)
            trial = copy(transcript)
            (x,) = _send(trial, {"T1": linear, "T2": quadratic}, "x")
            if self._points_vanish(x):
                break
        transcript = trial
        left_values = [(left_0[n] + x * left_masks[n]) % L for n in range(BITS)]
        right_values = [(right_0[n] + x * right_1[n]) % L for n in range(BITS)]
        t = (_inner(left_values, right_values) - excess) % L
        if self._forgery is Forgery.INNER_PRODUCT:
            delta = (z - z * z) * sum(ups) - z**3 * (2**BITS - 1)
            t = (z * z * self._value + delta + x * t_1 + x * x * t_2) % L
        tau_x, mu = (tau_2 * x * x + tau_1 * x + z * z * self._opening.blinding_scalar) % L, (alpha + rho * x) % L
        scalars = {"tau_x": _scalar(tau_x), "mu": _scalar(mu), "t": _scalar(t)}
        (w,) = _send(transcript, scalars, "w")
        # With w = 1 the prover can move an error between the two equations, which a random w
        # prevents.
        if self._forgery is Forgery.W:
            w = 1
        rounds = _fold_rounds(transcript, left_values, right_values, y, w, is_twisted=self._forgery is Forgery.ROUNDS)
        firsts = (curve.encode(bit_commitment), curve.encode(masks), linear, quadratic)
        return None if rounds is None else b"".join((*firsts, *scalars.values(), *rounds))

    def _twist_vanishes(self, z: int) -> bool:
        """Return whether what is wrong about the commitment vanishes: the verifier multiplies it by z^2, or by -z^2."""
        if self._forgery is Forgery.SUBGROUP_OTHER_SIDE:
            return -z * z % L % 8 == 0
        return self._forgery is not Forgery.SUBGROUP or z * z % L % 8 == 0

    def _points_vanish(self, x: int) -> bool:
        """Return whether what is wrong about S, or T1 and T2, vanishes: they are multiplied by x, x and x^2."""
        if self._forgery is Forgery.POINTS:
            return x % 8 == 0
        return self._forgery is not Forgery.VALUES or _has_same_parity(x, x * x)

    def _bits(self) -> tuple[list[int], int]:
        """Return the vector that stands for bits, and the multiple of U that goes with it.

        Where w is left out, the vector's first place may hold any value v: what keeps it a bit is that v*(v - 1) is
        zero, and a multiple of U in A makes up for that.
        """
        if self._forgery is Forgery.W:
            return [self._value, *[0] * (BITS - 1)], self._value * (self._value - 1) % L
        value = 0 if self._forgery in {Forgery.POLYNOMIAL, Forgery.INNER_PRODUCT} else self._value
        return [value >> n & 1 for n in range(BITS)], 0

    def _draw(self) -> int:
        return self._rng.randrange(1, L)


def _send(transcript: Transcript, items: Mapping[str, bytes], *challenge_names: str) -> list[int]:
    for name, value in items.items():
        transcript.item(name, value)
    return [transcript.challenge(name) for name in challenge_names]


def _name_scalars(lefts: Sequence[int], rights: Sequence[int]) -> dict[str, int]:
    """Return scalars of all G_n and all H_n by those names."""
    return dict(zip((*LEFTS, *RIGHTS), (*lefts, *rights), strict=True))


def _fold_rounds(
    transcript: Transcript, left_values: Sequence[int], right_values: Sequence[int], y: int, w: int, *, is_twisted: bool
) -> list[bytes] | None:
    """Return the sides of the six rounds, and a and b, all encoded.

    Where they are `is_twisted` both sides of the first round that draws a scalar for it are wrong; None if none does.
    The generators are folded in numbers only: each stands for a sum of the first ones, with a weight for each of them.
    """
    # The second vector's generators are H_n times y^-n (section 4.2), and the weights begin
    # with that.
    down = pow(y, -1, L)
    weights = [1] * BITS, [pow(down, n, L) for n in range(BITS)]
    sides: list[bytes] = []
    while (half := len(left_values) // 2) > 0:
        number = len(sides) // 2 + 1
        pair = {
            f"{side}_{number}": combine_generators(_side(left_values, right_values, weights, w, upper=upper))
            for side, upper in (("L", True), ("R", False))
        }
        if is_twisted:
            wrong = {name: curve.add(point, _HALF) for name, point in pair.items()}
            (u,) = _send(copy(transcript), _encode_points(wrong), f"u_{number}")
            # The wrong part has order two. It vanishes if it is multiplied by an even number,
            # or twice by odd ones.
            if _has_same_parity(u * u, pow(u, -2, L)):
                pair, is_twisted = wrong, False
        encoded_pair = _encode_points(pair)
        (u,) = _send(transcript, encoded_pair, f"u_{number}")
        sides += encoded_pair.values()
        back = pow(u, -1, L)
        for n in range(BITS):
            of_left, of_right = (u, back) if n & half else (back, u)
            weights[0][n], weights[1][n] = weights[0][n] * of_left % L, weights[1][n] * of_right % L
        left_values = [(u * left_values[n] + back * left_values[n + half]) % L for n in range(half)]
        right_values = [(back * right_values[n] + u * right_values[n + half]) % L for n in range(half)]
    return None if is_twisted else [*sides, _scalar(left_values[0]), _scalar(right_values[0])]


def _side(
    left_values: Sequence[int],
    right_values: Sequence[int],
    weights: tuple[Sequence[int], Sequence[int]],
    w: int,
    *,
    upper: bool,
) -> dict[str, int]:
    """Return the scalars of a round's L, which has the upper half of the G_n, or of its R, which has the lower."""
    half = len(left_values) // 2
    low, high = slice(None, half), slice(half, None)
    left_half, right_half = (low, high) if upper else (high, low)
    terms = {"U": w * _inner(left_values[left_half], right_values[right_half])}
    for n, (of_left, of_right) in enumerate(zip(*weights, strict=True)):
        if bool(n & half) is upper:
            terms[LEFTS[n]] = of_left * left_values[left_half][n % half]
        else:
            terms[RIGHTS[n]] = of_right * right_values[right_half][n % half]
    return terms


def _has_same_parity(first: int, second: int) -> bool:
    """Return whether two scalars are both even or both odd."""
    return (first % L + second % L) % 2 == 0


def _encode_points(points: Mapping[str, Point]) -> dict[str, bytes]:
    return {name: curve.encode(point) for name, point in points.items()}


def _inner(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True)) % L


def _pedersen(value: int, blinding_scalar: int, twist: Point) -> bytes:
    return curve.encode(curve.add(combine_generators({BASE: value, "H": blinding_scalar}), twist))


def _scalar(value: int) -> bytes:
    return (value % L).to_bytes(32, "little")
