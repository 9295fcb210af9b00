"""The random scalars of one proof, drawn by its caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.generators import BITS

_SINGLE = 5
_WIDE = 64  # bytes that are reduced to one scalar, so that none is likelier than another
NONCE_BYTES = (_SINGLE + 2 * BITS) * _WIDE


@dataclass(frozen=True, slots=True)
class Nonces:
    """Random scalars for exactly one proof.

    Attributes:
        blinding: r, of the commitment.
        alpha: Of A.
        rho: Of S.
        tau_1: Of T1.
        tau_2: Of T2.
        left: s_L, 64 of them.
        right: s_R, 64 of them.
    """

    # None of these may be logged, hence `repr=False`. Two proofs with the same scalars reveal the score.
    blinding: int = field(repr=False)
    alpha: int = field(repr=False)
    rho: int = field(repr=False)
    tau_1: int = field(repr=False)
    tau_2: int = field(repr=False)
    left: Sequence[int] = field(repr=False)
    right: Sequence[int] = field(repr=False)

    @classmethod
    def of(cls, data: bytes) -> Nonces:
        """Return the nonces that random bytes make.

        Args:
            data: `NONCE_BYTES` unpredictable bytes, fresh for each proof.

        Raises:
            ValueError: They are too few or too many, or one scalar of them is zero, as no good source gives.
        """
        if len(data) != NONCE_BYTES:
            raise ValueError(f"nonces are made of {NONCE_BYTES} bytes")
        scalars = [edwards_group.reduce_to_scalar(data[at : at + _WIDE]) for at in range(0, NONCE_BYTES, _WIDE)]
        if not all(scalars):
            raise ValueError("a nonce is zero")
        blinding, alpha, rho, tau_1, tau_2, *vectors = scalars
        return cls(blinding, alpha, rho, tau_1, tau_2, vectors[:BITS], vectors[BITS:])
