"""A second verifier of `bulletproofs-ed25519/1`, on PyCryptodome's points and nothing of the suite's.

Written from the paper alone (Bünz et al. 2018): equation (65) of section 4.2 for the polynomial, and for the inner
product the single multi-exponentiation of section 3.1. Points are added up bit by bit, because PyCryptodome adds in
place in two microseconds and copies in three hundred.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Final

from Crypto.PublicKey.ECC import EccPoint
from Crypto.Signature import eddsa

from tools.vectors_builder.falcon_envelopes.second_opinion import canonical

SYSTEM: Final = "bulletproofs-ed25519/1"
BASE: Final = b"\x58" + b"\x66" * 31
_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_N = 64
_BITS = 253
_ROUNDS = range(1, 7)
_FIRST = ("A", "S", "T1", "T2", "tau_x", "mu", "t")
NAMES: Final = (*_FIRST, *(f"{side}_{n}" for n in _ROUNDS for side in ("L", "R")), "a", "b")
_SCALARS = frozenset(("tau_x", "mu", "t", "a", "b"))


def refusal(payload: Mapping[str, Any]) -> str | None:
    """Return where the proof of a payload is refused, by the stage's name; None where it shows its statement."""
    proof = base64.b64decode(payload["proof_b64"])
    if len(proof) != 32 * len(NAMES):
        return "length"
    commitment = element(base64.b64decode(payload["commitment_b64"]))
    if commitment is None:
        return "commitment"
    raw = {name: proof[32 * at : 32 * at + 32] for at, name in enumerate(NAMES)}
    points = {name: point for name in NAMES if name not in _SCALARS and (point := element(raw[name])) is not None}
    if len(points) + len(_SCALARS) < len(NAMES):
        return "point"
    scalars = {name: int.from_bytes(raw[name], "little") for name in _SCALARS}
    if max(scalars.values()) >= _ORDER:
        return "scalar"
    challenges = _challenges(payload, raw)
    terms = _polynomial(commitment, payload["threshold_milliunits"], points, scalars, challenges)
    if not vanishes(terms):
        return "polynomial"
    return None if vanishes(_inner_product(points, scalars, challenges)) else "inner_product"


@lru_cache(maxsize=1024)
def element(data: bytes) -> EccPoint | None:
    """Return the point of 32 bytes, or None if they are not a canonical encoding of a point of prime order."""
    if int.from_bytes(data, "little") % 2**255 >= _PRIME:
        return None
    try:
        point = eddsa.import_public_key(data).pointQ
    except ValueError:
        return None
    return None if is_neutral(point) or not is_neutral(point * _ORDER) else point


def is_neutral(point: EccPoint) -> bool:
    """Return whether a point is (0, 1); PyCryptodome's `is_point_at_infinity` looks at x alone, as (0, -1) has it."""
    return int(point.x) == 0 and int(point.y) == 1


def vanishes(terms: Iterable[tuple[int, EccPoint]]) -> bool:
    """Return whether a sum of multiples of points is neutral; every point is added where its multiple has a bit."""
    reduced_terms = [(scalar % _ORDER, point) for scalar, point in terms]
    total = EccPoint(0, 1, "Ed25519")
    for bit in range(_BITS - 1, -1, -1):
        total.double()
        for scalar, point in reduced_terms:
            if scalar >> bit & 1:
                total += point
    return is_neutral(total)


@cache
def generator(name: str) -> EccPoint:
    """Return a generator: of the first counter whose hash is a point, eight times that point."""
    counter = 0
    while True:
        digest = hashlib.sha512(f"{SYSTEM} generator {name} {counter}".encode()).digest()[:32]
        counter += 1
        if int.from_bytes(digest, "little") % 2**255 >= _PRIME:
            continue
        try:
            point = eddsa.import_public_key(digest).pointQ * 8
        except ValueError:
            continue
        if not is_neutral(point):
            return point


@cache
def _base() -> EccPoint:
    return eddsa.import_public_key(BASE).pointQ


def _challenges(payload: Mapping[str, Any], raw: Mapping[str, bytes]) -> dict[str, int]:
    """Return every challenge; one that is zero stops the build, and has never been seen."""
    proven = canonical({name: value for name, value in payload.items() if name != "proof_b64"})
    transcript = bytearray()

    def say(label: str, value: bytes) -> None:
        for part in (label.encode(), value):
            transcript.extend(len(part).to_bytes(4, "little") + part)

    say("system", SYSTEM.encode())
    say("payload", proven.encode())
    after = {"S": ("y", "z"), "T2": ("x",), "t": ("w",), **{f"R_{n}": (f"u_{n}",) for n in _ROUNDS}}
    challenges = {}
    for name in NAMES[:-2]:
        say(name, raw[name])
        for challenge in after.get(name, ()):
            say("challenge", challenge.encode())
            challenges[challenge] = int.from_bytes(hashlib.sha512(transcript).digest(), "little") % _ORDER
    if 0 in challenges.values():
        raise ArithmeticError("a challenge is zero")
    return challenges


def _polynomial(
    commitment: EccPoint,
    threshold: int,
    points: Mapping[str, EccPoint],
    scalars: Mapping[str, int],
    challenges: Mapping[str, int],
) -> Iterator[tuple[int, EccPoint]]:
    """Yield z^2 (C - threshold G) + delta(y, z) G + x T1 + x^2 T2 - t G - tau_x H."""
    x, y, z = challenges["x"], challenges["y"], challenges["z"]
    power_sum = sum(pow(y, n, _ORDER) for n in range(_N))
    twos = sum(2**n for n in range(_N))
    delta = (z - z**2) * power_sum - z**3 * twos
    yield z**2, commitment
    yield delta - z**2 * threshold - scalars["t"], _base()
    yield x, points["T1"]
    yield x**2, points["T2"]
    yield -scalars["tau_x"], generator("H")


def _inner_product(
    points: Mapping[str, EccPoint], scalars: Mapping[str, int], challenges: Mapping[str, int]
) -> Iterator[tuple[int, EccPoint]]:
    """Yield P + sum(u_i^2 L_i + u_i^-2 R_i) - a <s, G> - b <s^-1, H'> - a b w U, H'_n being y^-n H_n."""
    x, y, z, w = (challenges[name] for name in ("x", "y", "z", "w"))
    a, b = scalars["a"], scalars["b"]
    yield 1, points["A"]
    yield x, points["S"]
    yield -scalars["mu"], generator("H")
    yield w * (scalars["t"] - a * b), generator("U")
    for n in _ROUNDS:
        square = challenges[f"u_{n}"] ** 2
        yield square, points[f"L_{n}"]
        yield pow(square, -1, _ORDER), points[f"R_{n}"]
    for n in range(_N):
        # Round i halves by the i-th bit of a place, the highest first.
        s = 1
        for i in _ROUNDS:
            s = s * pow(challenges[f"u_{i}"], 1 if n >> 6 - i & 1 else -1, _ORDER) % _ORDER
        yield -z - a * s, generator(f"G_{n + 1}")
        inverse_powers = pow(y, -n, _ORDER)
        yield z + inverse_powers * (z**2 * 2**n - b * pow(s, -1, _ORDER)), generator(f"H_{n + 1}")
