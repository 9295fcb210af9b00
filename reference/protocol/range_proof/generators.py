"""Generators with unknown discrete logarithms: by hash and increment, the cofactor cleared.

No relation between generators that come out of a hash is known. The binding of the commitment is based on that.

The generator of a name is eight times the first point among the candidates 0, 1, 2, …: the first 32 bytes of SHA-512
of `bulletproofs-ed25519/1 generator NAME COUNTER`, where the low 255 bits, little-endian, are a y below the field's
prime, a point has that y with the sign of x in the last bit, and eight times it is not the identity.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from itertools import count

from nacl.exceptions import RuntimeError as NaclFault

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.transcript import SYSTEM

BITS = 64
_PRIME = 2**255 - 19
_Y = 2**255 - 1


@dataclass(frozen=True, slots=True)
class Generators:
    """Every generator except the standard base point.

    Attributes:
        blinding: H, of commitments.
        left: G_1 … G_64.
        right: H_1 … H_64.
        product: U, of the inner product.
    """

    blinding: bytes
    left: tuple[bytes, ...]
    right: tuple[bytes, ...]
    product: bytes


@cache
def generators() -> Generators:
    """Return the generators; they are computed once."""
    numbers = range(1, BITS + 1)
    left, right = (
        tuple(map(_derive_generator, (f"G_{n}" for n in numbers))),
        tuple(map(_derive_generator, (f"H_{n}" for n in numbers))),
    )
    return Generators(_derive_generator("H"), left, right, _derive_generator("U"))


def _derive_generator(name: str) -> bytes:
    for counter in count():
        candidate = hashlib.sha512(f"{SYSTEM} generator {name} {counter}".encode("ascii")).digest()[
            : edwards_group.BYTES
        ]
        point = _eight_times(candidate)
        if point is not None and edwards_group.is_element(point):
            return point
    raise AssertionError("counting ends never")


def _eight_times(candidate: bytes) -> bytes | None:
    if int.from_bytes(candidate, "little") & _Y >= _PRIME:
        return None
    try:
        # Three doublings multiply by the cofactor eight, which leaves an element of the prime-order subgroup.
        for _ in range(3):
            candidate = edwards_group.plus(candidate, candidate)
    except NaclFault:  # no point has that y
        return None
    return candidate
