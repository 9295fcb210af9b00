"""What prover and verifier share: generators, the transcript, the layout of the 672 bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from itertools import count
from typing import Any, Final

from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.range_proof import curve
from conformance.oracles.range_proof.curve import Point

NAME: Final = "bulletproofs-ed25519/1"
BITS: Final = 64
ROUNDS: Final = 6
POINTS_FIRST: Final = ("A", "S", "T1", "T2")
SCALARS_FIRST: Final = ("tau_x", "mu", "t")
SIDES: Final = tuple(f"{side}_{number}" for number in range(1, ROUNDS + 1) for side in ("L", "R"))
LAYOUT: Final = (*POINTS_FIRST, *SCALARS_FIRST, *SIDES, "a", "b")
POINTS: Final = frozenset((*POINTS_FIRST, *SIDES))
LEFTS: Final = tuple(f"G_{n}" for n in range(1, BITS + 1))
RIGHTS: Final = tuple(f"H_{n}" for n in range(1, BITS + 1))
PROOF_BYTES: Final = 32 * len(LAYOUT)


class ZeroChallenge(ValueError):
    """A challenge came out zero."""


@cache
def generator(name: str) -> Point:
    """Return a generator: eight times the first point that hashes of its name and a counter give."""
    # Hash and try: about half of all hashes are y coordinates of points. Multiplication by
    # eight moves the point into the prime subgroup.
    for counter in count():
        digest = hashlib.sha512(f"{NAME} generator {name} {counter}".encode()).digest()
        try:
            point = curve.multiply(8, curve.decode(digest[:32]))
        except curve.NoPoint:
            continue
        if not curve.is_same(point, curve.NEUTRAL):
            return point
    raise AssertionError("counting ends never")


@cache
def vectors() -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Return G_1 … G_64 and H_1 … H_64."""
    return tuple(map(generator, LEFTS)), tuple(map(generator, RIGHTS))


class Transcript:
    """Every item so far, as bytes."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        """Begin with a receipt's payload; its proof is left out."""
        self._items = b""
        self.item("system", NAME.encode())
        self.item("payload", jcs_bytes({name: value for name, value in payload.items() if name != "proof_b64"}))

    def item(self, label: str, value: bytes) -> None:
        """Add an item: label and value, each after its length in four bytes, little-endian."""
        for part in (label.encode(), value):
            # With its length in front, no item can be read as two others.
            self._items += len(part).to_bytes(4, "little") + part

    def challenge(self, name: str) -> int:
        """Draw a challenge.

        Raises:
            ZeroChallenge: It is zero.
        """
        self.item("challenge", name.encode())
        challenge = int.from_bytes(hashlib.sha512(self._items).digest(), "little") % curve.L
        # A zero challenge would remove a term from the equations. It is practically impossible
        # and must still be refused.
        if challenge == 0:
            raise ZeroChallenge(name)
        return challenge
