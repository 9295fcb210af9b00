"""The Fiat-Shamir transcript: the items that each challenge depends on."""

from __future__ import annotations

import hashlib

from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.faults import ProofInvalid, Stage

SYSTEM = "bulletproofs-ed25519/1"
_LENGTH_BYTES = 4


class Transcript:
    """SHA-512 over labelled items, from the system's name and the receipt's payload on.

    Label and value of an item each follow their length in four bytes, little-endian. To draw a challenge its name is
    added as an item `challenge`; the challenge is the hash of all items until then, little-endian, modulo the order.
    """

    def __init__(self, payload: bytes) -> None:
        """Begin.

        Args:
            payload: JCS of the receipt's payload without `proof_b64`.
        """
        self._hash = hashlib.sha512()
        self.add("system", SYSTEM.encode("ascii"))
        self.add("payload", payload)

    def add(self, label: str, value: bytes) -> None:
        """Add an item."""
        # Each part follows its length, so that no two different lists of items give the same bytes.
        for part in (label.encode("ascii"), value):
            self._hash.update(len(part).to_bytes(_LENGTH_BYTES, "little") + part)

    def challenge(self, name: str) -> int:
        """Draw a challenge.

        Raises:
            ProofInvalid: It is zero.
        """
        # A challenge is an item itself. So two challenges with nothing between them, y and z, differ (decision
        # 0028).
        self.add("challenge", name.encode("ascii"))
        scalar = edwards_group.reduce_to_scalar(self._hash.copy().digest())
        if scalar == 0:
            raise ProofInvalid(Stage.CHALLENGE, name)
        return scalar
