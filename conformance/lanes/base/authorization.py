"""EIP-3009 authorizations, signed and altered by a payer. Pure: no node, no clock.

Units are those of the token's contract: uint256 of atomic units, unix seconds, nonces of 32 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from eth_utils.crypto import keccak

from conformance.lanes.base.eth_account_import import Signer

# The order of secp256k1. If (r, s) verifies, (r, ORDER - s) with the other v does, too; tokens must refuse one of
# them.
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_MEMBERS = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)
_TRANSFER = "TransferWithAuthorization"
_CANCEL = {"CancelAuthorization": [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]}


@dataclass(frozen=True, slots=True)
class Domain:
    """An EIP-712 domain, from an entry's `extra.name` and `extra.version`, its network and its asset."""

    name: str
    version: str
    chain_id: int
    contract: str

    def data(self) -> dict[str, Any]:
        """Return the domain's members under their EIP-712 names."""
        return {
            "name": self.name,
            "version": self.version,
            "chainId": self.chain_id,
            "verifyingContract": self.contract,
        }


@dataclass(frozen=True, slots=True)
class Authorization:
    """One authorization, its signature (65 bytes r, s, v) and the challenge token it is presented with."""

    sender: str
    to: str
    value: int
    valid_after: int
    valid_before: int
    nonce: bytes
    domain: Domain
    token: str
    signature: bytes = b""

    @property
    def message(self) -> dict[str, Any]:
        """The signed members under their EIP-712 names."""
        values = (self.sender, self.to, self.value, self.valid_after, self.valid_before, self.nonce)
        return dict(zip((name for name, _ in _MEMBERS), values, strict=True))

    def sign(self, key: bytes, *, kind: str = _TRANSFER) -> Authorization:
        """Return a copy with the signature of a key; another `kind` of message is invalid for a transfer."""
        types = {kind: [{"name": name, "type": type_} for name, type_ in _MEMBERS]}
        return replace(
            self, signature=bytes(Signer.sign_typed_data(key, self.domain.data(), types, self.message).signature)
        )

    def proof(self) -> dict[str, Any]:
        """Return the proof that goes into `X-PAYMENT`: numbers as decimal strings (5.5)."""
        numbers = {name: str(value) for name, value in self.message.items() if isinstance(value, int)}
        terms = {**self.message, **numbers, "nonce": "0x" + self.nonce.hex()}
        return {"authorization": terms, "signature": "0x" + self.signature.hex(), "challenge_token": self.token}

    def with_changes(self, **members: Any) -> Authorization:
        """Return a copy with members changed after it was signed."""
        return replace(self, **members)

    def with_other_s(self) -> Authorization:
        """Return a copy with the signature's other form: s replaced by the order minus s, v by the other v."""
        r, s, v = self.signature[:32], int.from_bytes(self.signature[32:64], "big"), self.signature[64]
        return self.with_changes(signature=r + (ORDER - s).to_bytes(32, "big") + bytes([55 - v]))

    def with_recovery(self, v: int) -> Authorization:
        """Return a copy with another last byte of the signature."""
        return self.with_changes(signature=self.signature[:64] + bytes([v]))

    def compact(self) -> Authorization:
        """Return a copy with the signature in 64 bytes (EIP-2098)."""
        r, s, v = self.signature[:32], int.from_bytes(self.signature[32:64], "big"), self.signature[64]
        return self.with_changes(signature=r + (s | (v - 27) << 255).to_bytes(32, "big"))


def nonce_of(token: str) -> bytes:
    """Return the nonce that welds an authorization to a challenge: keccak256 of the token's bytes (P-LN table)."""
    return bytes(keccak(token.encode()))


def cancellation(domain: Domain, authorizer: str, nonce: bytes, key: bytes) -> bytes:
    """Return the signature under which `cancelAuthorization` takes a nonce out of use."""
    message: Mapping[str, Any] = {"authorizer": authorizer, "nonce": nonce}
    return bytes(Signer.sign_typed_data(key, domain.data(), _CANCEL, dict(message)).signature)
