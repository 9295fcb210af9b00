"""The material of the receipt vectors: keys of third parties, and a payload with the right structure. Pure.

Third-party receipts have the payload of a receipt that the platform itself issued, byte for byte. So their structure is
right for any target. `pinned` marks vectors that are wrong (or right) only by the profile's reading
of a receipt's structure: they do not judge targets that do not bind the nine codes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.oracles.forging import Signer
from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.jose import CompactJws, parse


@dataclass(frozen=True, slots=True)
class Vector:
    """One receipt to present.

    Attributes:
        name: Description of the vector.
        row: The requirement it belongs to.
        jws: The value that is sent as the receipt.
        jwks: The key set sent with it; None if no key set is sent.
        valid: Whether it must pass.
        pinned: Whether only the profile's reading of structure decides that.
        deployed: Whether only the reading of deployed services does: targets with other codes are not judged by it.
        expected_payment_hash: The hash that it must be bound to, if one is sent.
        beyond: What the interface leaves open about it, if it goes beyond its row: a target that passes it is warned.
    """

    name: str
    row: str
    jws: Any
    jwks: Any = None
    valid: bool = False
    pinned: bool = False
    deployed: bool = False
    expected_payment_hash: str | None = None
    beyond: str | None = None


@dataclass(frozen=True)
class Material:
    """The receipts and keys from which vectors are made.

    Attributes:
        platform: A receipt signed by the platform's key, or None.
        jwks: The platform's key document, or None.
        payload: Payload bytes of a receipt that is right in structure.
        header: Protected header of such a receipt, without `kid`.
        third: Three keys of third parties.
        rng: Source of random bits and seeds.
    """

    platform: str | None
    jwks: Any
    payload: bytes
    header: Mapping[str, Any]
    third: tuple[Signer, Signer, Signer]
    rng: random.Random = field(repr=False)

    @classmethod
    def of(cls, platform: str | None, jwks: Any, rng: random.Random) -> Material:
        """Return material from a platform receipt, or from the profile's compliance receipt without one."""
        first, second, third = (Signer(rng.randbytes(32), f"third-{place}") for place in (1, 2, 3))
        # Without a platform receipt the structure is that of the profile, which another target may
        # not share.
        token = None if platform is None else parse(platform)
        header = {"alg": "EdDSA", "typ": "JWT"} if token is None else _without_kid(token)
        payload = PROFILE_PAYLOAD if token is None else token.payload
        return cls(platform, jwks, payload, header, (first, second, third), rng)

    @property
    def claims(self) -> dict[str, Any]:
        """The payload's members."""
        members: dict[str, Any] = json.loads(self.payload)
        return members

    def by(self, signer: Signer, kid: str | None = None, payload: bytes | None = None, **header: Any) -> str:
        """Return a receipt signed by a third party, under its own `kid` unless another is given."""
        members = {**self.header, "kid": kid or signer.kid, **header}
        return signer.sign(members, self.payload if payload is None else payload)


# A compliance receipt by the profile (2.3), for targets without a receipt of their own.
PROFILE_PAYLOAD = jcs_bytes(
    {
        "payer_ref": "sha256:" + "a2" * 32,
        "screen_result": "ALLOW",
        "screen_timestamp_ms": 1_790_000_000_000,
        "screen_provider_did": "did:web:localhost",
        "jurisdiction_flags": ["UK", "EU"],
        "canon_version": "jcs-rfc8785-v1",
    }
)


def _without_kid(token: CompactJws) -> dict[str, Any]:
    return {name: member for name, member in token.header.items() if name != "kid"}


def keys(*signers: Signer) -> dict[str, Any]:
    """Return a JWKS document."""
    return {"keys": [one.jwk for one in signers]}
