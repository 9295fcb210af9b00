"""The verifier: both equations of Bünz et al. 2018, section 4.2, the second with the folding of section 3.1."""

from __future__ import annotations

from itertools import chain

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.edwards_group import ORDER, inverse, powers
from reference.protocol.range_proof.faults import ProofInvalid, Stage
from reference.protocol.range_proof.generators import BITS, generators
from reference.protocol.range_proof.proof import PROOF_BYTES, Challenges, RangeProof
from reference.protocol.range_proof.statement import Statement


def check(statement: Statement, data: bytes) -> None:
    """Check a proof.

    Raises:
        ProofInvalid: The proof does not show its statement.
    """
    if len(data) != PROOF_BYTES:
        raise ProofInvalid(Stage.LENGTH)
    if not edwards_group.is_element(statement.commitment):
        raise ProofInvalid(Stage.COMMITMENT)
    proof = RangeProof.from_bytes(data)
    challenges = Challenges.of(statement.payload, proof)
    if not polynomial_holds(statement, proof, challenges):
        raise ProofInvalid(Stage.POLYNOMIAL)
    if not inner_product_holds(proof, challenges):
        raise ProofInvalid(Stage.INNER_PRODUCT)


def polynomial_holds(statement: Statement, proof: RangeProof, challenges: Challenges) -> bool:
    """Return whether t is the value at x of the polynomial that T1, T2 and the commitment fix.

    t*G + tau_x*H = z^2*(C - threshold*G) + delta*G + x*T1 + x^2*T2,
    delta = (z - z^2)*<1, y^n> - z^3*<1, 2^n>.
    """
    x, z = challenges.x, challenges.z
    delta = (z - z * z) * sum(powers(challenges.y, BITS)) - z**3 * (2**BITS - 1)
    claimed_sum = edwards_group.total([(proof.t, edwards_group.BASE), (proof.tau_x, generators().blinding)])
    fixed_sum = edwards_group.total(
        [
            (z * z, statement.commitment),
            (delta - z * z * statement.threshold, edwards_group.BASE),
            (x, proof.linear),
            (x * x, proof.quadratic),
        ]
    )
    return claimed_sum == fixed_sum


def inner_product_holds(proof: RangeProof, challenges: Challenges) -> bool:
    """Return whether t is the inner product of the vectors that A + x*S commits to.

    A + x*S - z*<1, G> + <z*y^n + z^2*2^n, y^-n*H_i> - mu*H + w*t*U + sum(u_i^2*L_i + u_i^-2*R_i)
    = a*<s, G> + b*<s^-1, y^-n*H_i> + w*a*b*U.
    """
    bases, z = generators(), challenges.z
    back = [inverse(u) for u in challenges.u]
    weights = _weights(challenges.u, back)
    downs = powers(inverse(challenges.y), BITS)
    lefts = (-z - proof.a * weight for weight in weights)
    rights = (
        z + down * (z * z * two - proof.b * weight)
        for down, two, weight in zip(downs, powers(2, BITS), reversed(weights), strict=True)
    )
    sides = chain.from_iterable(
        ((u * u, left), (down * down, right))
        for u, down, (left, right) in zip(challenges.u, back, proof.rounds, strict=True)
    )
    other_terms = [
        (1, proof.bits),
        (challenges.x, proof.masks),
        (-proof.mu, bases.blinding),
        (challenges.w * (proof.t - proof.a * proof.b), bases.product),
    ]
    terms = chain(other_terms, sides, zip(lefts, bases.left, strict=True), zip(rights, bases.right, strict=True))
    # All terms are moved to one side, so that one sum of 149 multiples decides and no intermediate vector is
    # folded.
    return edwards_group.total(terms) == edwards_group.IDENTITY


def _weights(u: tuple[int, ...], back: list[int]) -> list[int]:
    """Return the vector s: at each place the product of u_i if round i had it in its upper half, else of 1/u_i.

    The inverses are the same products in reverse order, because the last place has the complement of the first's bits.
    """
    weights = [1]
    for up, down in zip(u, back, strict=True):
        weights = [weight * one % ORDER for weight in weights for one in (down, up)]
    return weights
