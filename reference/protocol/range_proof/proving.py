"""The prover: Bünz et al. 2018, section 4.2, for one value of 64 bits, with the inner-product argument of section 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.edwards_group import ORDER, dot, inverse, powers
from reference.protocol.range_proof.generators import BITS, generators
from reference.protocol.range_proof.nonces import Nonces
from reference.protocol.range_proof.proof import (
    RangeProof,
    after_openings,
    after_polynomial,
    after_round,
    after_vectors,
)
from reference.protocol.range_proof.statement import Statement
from reference.protocol.range_proof.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Opening:
    """What a prover knows: the score in milliunits, and the commitment's blinding."""

    score: int = field(repr=False)
    blinding: int = field(repr=False)


def commit(opening: Opening) -> bytes:
    """Return C = score*G + blinding*H."""
    # The sum is computed as (score + blinding)*G + blinding*(H - G). Multiplying by the score itself would take
    # less time for 0 and 1, and the time would reveal the score.
    shifted_blinding = edwards_group.minus(generators().blinding, edwards_group.BASE)
    return edwards_group.total(
        [(opening.score + opening.blinding, edwards_group.BASE), (opening.blinding, shifted_blinding)]
    )


def prove(statement: Statement, score: int, nonces: Nonces) -> bytes:
    """Return a proof of 672 bytes.

    Args:
        statement: What is proved; its commitment is to `score` under `nonces.blinding`.
        score: In milliunits.
        nonces: Fresh ones.

    Raises:
        ValueError: The score is below the threshold, or the commitment is not to it.
        ProofInvalid: A challenge is zero; the probability is negligible.
    """
    value = score - statement.threshold
    if not 0 <= value < 2**BITS:
        raise ValueError("the score is not in the range that is proved")
    # A proof over another commitment would not verify. Refusing here names the mistake.
    if commit(Opening(score, nonces.blinding)) != statement.commitment:
        raise ValueError("the commitment is not to this score")
    return _Prover(statement, value, nonces).proof().to_bytes()


class _Prover:
    """The construction of one proof; names are those of the paper."""

    def __init__(self, statement: Statement, value: int, nonces: Nonces) -> None:
        self._transcript = Transcript(statement.payload)
        self._nonces = nonces
        self._bits = [value >> n & 1 for n in range(BITS)]

    def proof(self) -> RangeProof:
        bases, nonces = generators(), self._nonces
        # A bit of one adds G_n, a bit of zero subtracts H_n. Both cost one addition and no multiplication, so the
        # time does not depend on the score.
        absent = (edwards_group.minus(edwards_group.IDENTITY, point) for point in bases.right)
        bit_points = (pair[bit] for bit, pair in zip(self._bits, zip(absent, bases.left, strict=True), strict=True))
        bits = edwards_group.total(chain([(nonces.alpha, bases.blinding)], ((1, point) for point in bit_points)))
        masks = edwards_group.total(
            chain(
                [(nonces.rho, bases.blinding)],
                zip(nonces.left, bases.left, strict=True),
                zip(nonces.right, bases.right, strict=True),
            )
        )
        y, z = after_vectors(self._transcript, bits, masks)
        # l(x) = (a_L - z) + s_L*x and r(x) = y^n * (a_R + z + s_R*x) + z^2*2^n, with a_R = a_L - 1 (equations 58
        # and 59). The inner product of the two is t(x) = t_0 + t_1*x + t_2*x^2.
        left_0 = [bit - z for bit in self._bits]
        ups, twos = powers(y, BITS), powers(2, BITS)
        right_0 = [up * (bit - 1 + z) + z * z * two for up, bit, two in zip(ups, self._bits, twos, strict=True)]
        right_1 = [up * mask % ORDER for up, mask in zip(ups, nonces.right, strict=True)]
        t_1 = dot(left_0, right_1) + dot(nonces.left, right_0)
        t_2 = dot(nonces.left, right_1)
        linear = edwards_group.total([(t_1, edwards_group.BASE), (nonces.tau_1, bases.blinding)])
        quadratic = edwards_group.total([(t_2, edwards_group.BASE), (nonces.tau_2, bases.blinding)])
        x = after_polynomial(self._transcript, linear, quadratic)
        left = [(zeroth + x * first) % ORDER for zeroth, first in zip(left_0, nonces.left, strict=True)]
        right = [(zeroth + x * first) % ORDER for zeroth, first in zip(right_0, right_1, strict=True)]
        t = dot(left, right)
        tau_x = (nonces.tau_2 * x * x + nonces.tau_1 * x + z * z * nonces.blinding) % ORDER
        mu = (nonces.alpha + nonces.rho * x) % ORDER
        w = after_openings(self._transcript, tau_x, mu, t)
        rounds, a, b = _fold(self._transcript, left, right, y, w)
        return RangeProof(bits, masks, linear, quadratic, tau_x, mu, t, rounds, a, b)


def _fold(
    transcript: Transcript, left: Sequence[int], right: Sequence[int], y: int, w: int
) -> tuple[tuple[tuple[bytes, bytes], ...], int, int]:
    """Return L_i and R_i of each round, and what the vectors are folded into."""
    bases = generators()
    # U is multiplied by the challenge w, which comes after t. Without w the argument could be forged for another
    # inner product.
    product = edwards_group.times(w, bases.product)
    downs = powers(inverse(y), BITS)
    lefts: Sequence[bytes] = bases.left
    rights: Sequence[bytes] = [edwards_group.times(down, point) for down, point in zip(downs, bases.right, strict=True)]
    rounds: list[tuple[bytes, bytes]] = []
    while len(left) > 1:
        half = len(left) // 2
        sides = (
            _side(left[:half], lefts[half:], right[half:], rights[:half], product),
            _side(left[half:], lefts[:half], right[:half], rights[half:], product),
        )
        rounds.append(sides)
        u = after_round(transcript, len(rounds), *sides)
        back = inverse(u)
        left, right = _fold_vector(left, u, back), _fold_vector(right, back, u)
        lefts, rights = _fold_points(lefts, back, u), _fold_points(rights, u, back)
    return tuple(rounds), left[0], right[0]


def _side(
    left: Sequence[int], lefts: Sequence[bytes], right: Sequence[int], rights: Sequence[bytes], product: bytes
) -> bytes:
    terms = [*zip(left, lefts, strict=True), *zip(right, rights, strict=True), (dot(left, right), product)]
    return edwards_group.total(terms)


def _fold_vector(vector: Sequence[int], low: int, high: int) -> list[int]:
    half = len(vector) // 2
    return [(low * one + high * other) % ORDER for one, other in zip(vector[:half], vector[half:], strict=True)]


def _fold_points(points: Sequence[bytes], low: int, high: int) -> list[bytes]:
    half = len(points) // 2
    pairs = zip(points[:half], points[half:], strict=True)
    return [edwards_group.total([(low, one), (high, other)]) for one, other in pairs]
