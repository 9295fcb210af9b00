"""The encoding of a proof in 672 bytes: 21 elements of 32 bytes; and its challenges."""

from __future__ import annotations

from dataclasses import dataclass

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.faults import ProofInvalid, Stage
from reference.protocol.range_proof.generators import BITS
from reference.protocol.range_proof.transcript import Transcript

ROUNDS = BITS.bit_length() - 1
_SIDES = tuple(f"{side}_{number}" for number in range(1, ROUNDS + 1) for side in "LR")
SCALARS = ("tau_x", "mu", "t", "a", "b")
ELEMENTS = ("A", "S", "T1", "T2", "tau_x", "mu", "t", *_SIDES, "a", "b")
PROOF_BYTES = edwards_group.BYTES * len(ELEMENTS)


@dataclass(frozen=True, slots=True)
class RangeProof:
    """A proof; its points are elements of the subgroup, its scalars below the order.

    Attributes:
        bits: A, which commits to the bits.
        masks: S, which commits to what masks them.
        linear: T1.
        quadratic: T2.
        tau_x: Opens the polynomial's commitment.
        mu: Opens A + x*S.
        t: The polynomial's value at x.
        rounds: L_i and R_i.
        a: What the left vector is folded into.
        b: What the right vector is folded into.
    """

    bits: bytes
    masks: bytes
    linear: bytes
    quadratic: bytes
    tau_x: int
    mu: int
    t: int
    rounds: tuple[tuple[bytes, bytes], ...]
    a: int
    b: int

    @classmethod
    def from_bytes(cls, data: bytes) -> RangeProof:
        """Read a proof.

        Raises:
            ProofInvalid: Its length is another, a point is not of the subgroup or not canonical, or a scalar is not
                canonical.
        """
        if len(data) != PROOF_BYTES:
            raise ProofInvalid(Stage.LENGTH)
        raw = {name: data[n * edwards_group.BYTES : (n + 1) * edwards_group.BYTES] for n, name in enumerate(ELEMENTS)}
        points = {name: _point(name, raw[name]) for name in ELEMENTS if name not in SCALARS}
        tau_x, mu, t, a, b = (_scalar(name, raw[name]) for name in SCALARS)
        rounds = tuple((points[left], points[right]) for left, right in zip(_SIDES[::2], _SIDES[1::2], strict=True))
        return cls(points["A"], points["S"], points["T1"], points["T2"], tau_x, mu, t, rounds, a, b)

    def to_bytes(self) -> bytes:
        """Return its 672 bytes."""
        scalars = (edwards_group.encode_scalar(one) for one in (self.tau_x, self.mu, self.t))
        sides = (side for both in self.rounds for side in both)
        ends = (edwards_group.encode_scalar(one) for one in (self.a, self.b))
        return b"".join((self.bits, self.masks, self.linear, self.quadratic, *scalars, *sides, *ends))


@dataclass(frozen=True, slots=True)
class Challenges:
    """The challenges y to u_6, which an interactive verifier would have sent."""

    y: int
    z: int
    x: int
    w: int
    u: tuple[int, ...]

    @classmethod
    def of(cls, payload: bytes, proof: RangeProof) -> Challenges:
        """Derive the challenges again from a whole proof.

        Raises:
            ProofInvalid: One is zero.
        """
        # The verifier adds the same items in the same order as the prover. Each challenge depends on everything
        # before it, so a prover cannot choose an element after seeing the challenge that tests it.
        transcript = Transcript(payload)
        y, z = after_vectors(transcript, proof.bits, proof.masks)
        x = after_polynomial(transcript, proof.linear, proof.quadratic)
        w = after_openings(transcript, proof.tau_x, proof.mu, proof.t)
        u = tuple(after_round(transcript, number, *both) for number, both in enumerate(proof.rounds, 1))
        return cls(y, z, x, w, u)


def after_vectors(transcript: Transcript, bits: bytes, masks: bytes) -> tuple[int, int]:
    """Return y and z."""
    transcript.add("A", bits)
    transcript.add("S", masks)
    return transcript.challenge("y"), transcript.challenge("z")


def after_polynomial(transcript: Transcript, linear: bytes, quadratic: bytes) -> int:
    """Return x."""
    transcript.add("T1", linear)
    transcript.add("T2", quadratic)
    return transcript.challenge("x")


def after_openings(transcript: Transcript, tau_x: int, mu: int, t: int) -> int:
    """Return w, which ties t to the inner product: without it the argument can be forged."""
    for name, scalar in (("tau_x", tau_x), ("mu", mu), ("t", t)):
        transcript.add(name, edwards_group.encode_scalar(scalar))
    return transcript.challenge("w")


def after_round(transcript: Transcript, number: int, left: bytes, right: bytes) -> int:
    """Return u_i."""
    transcript.add(f"L_{number}", left)
    transcript.add(f"R_{number}", right)
    return transcript.challenge(f"u_{number}")


def _point(name: str, data: bytes) -> bytes:
    if not edwards_group.is_element(data):
        raise ProofInvalid(Stage.POINT, name)
    return data


def _scalar(name: str, data: bytes) -> int:
    try:
        return edwards_group.scalar_of(data)
    except ValueError as fault:
        raise ProofInvalid(Stage.SCALAR, name) from fault
