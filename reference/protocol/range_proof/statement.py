"""The statement of a proof: commitment and threshold in one receipt's payload."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference.protocol.canonical_json import canonicalise
from reference.protocol.range_proof import edwards_group

PROOF_MEMBER = "proof_b64"


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement that a commitment opens to at least a threshold, in one payload and no other.

    Attributes:
        commitment: C, 32 bytes.
        threshold: In milliunits.
        payload: JCS of the receipt's payload without `proof_b64`, which holds both.
    """

    commitment: bytes
    threshold: int
    payload: bytes

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> Statement:
        """Return the statement of a payload, with its proof or without.

        Raises:
            ValueError: It has no commitment of 32 bytes, no threshold, or no RFC 8785 form.
        """
        text, threshold = payload.get("commitment_b64"), payload.get("threshold_milliunits")
        if not isinstance(text, str) or isinstance(threshold, bool) or not isinstance(threshold, int):
            raise ValueError("a statement has a commitment and a threshold")  # noqa: TRY004 - a fault of the content
        commitment = base64.b64decode(text, validate=True)
        if len(commitment) != edwards_group.BYTES or base64.b64encode(commitment).decode() != text or threshold < 0:
            raise ValueError(f"a commitment is {edwards_group.BYTES} bytes in base64, a threshold is not below zero")
        # The proof is over the whole payload except itself. So it is bound to its payment, issuer, threshold and
        # commitment and cannot be moved into another receipt (8.4).
        payload_without_proof = {name: value for name, value in payload.items() if name != PROOF_MEMBER}
        return cls(commitment, threshold, canonicalise(payload_without_proof))
