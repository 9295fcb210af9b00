"""Hashes, signatures and signed transactions of an EVM chain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from coincurve import PublicKey

from conformance.oracles.keccak import keccak256
from conformance.oracles.welds import rlp
from conformance.oracles.welds.refusal_stages import demand_valid, invalid_transaction

ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_SIGNATURE = re.compile(r"(?:0x)?([0-9a-fA-F]{130})")
# By type, 0 for a legacy one: how many members a signed transaction has; the last three are v or its parity, r, s.
_MEMBERS: Final = {0: 9, 1: 11, 2: 12, 4: 13}
# Members before the signature that are no numbers: to and data, a list of accesses, and one of authorizations.
_NO_NUMBERS: Final = {0: (3, 5), 1: (4, 6, 7), 2: (5, 7, 8), 4: (5, 7, 8, 9)}


_DOMAIN: Final = keccak256(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_TRANSFER: Final = keccak256(
    b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,"
    b"bytes32 nonce)"
)


@dataclass(frozen=True, slots=True)
class Signature:
    """r and s as numbers, and which of two keys it is of (0 or 1)."""

    r: int
    s: int
    parity: int

    @classmethod
    def read(cls, text: str) -> Signature | None:
        """Return the signature of an ordinary account: 65 bytes in hex, v 27 or 28 or 0 or 1; None for another form."""
        match = _SIGNATURE.fullmatch(text)
        if match is None:
            return None
        raw = bytes.fromhex(match[1])
        parity = raw[64] - 27 if raw[64] >= 27 else raw[64]
        return cls(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big"), parity)

    def signer(self, digest: bytes) -> str | None:
        """Return the address that signed 32 bytes; None for what no contract takes: a high s, no parity, no point."""
        # USDC rejects a high s, because every signature would have a second spelling (EIP-2).
        if not (0 < self.r < ORDER and 0 < self.s <= ORDER // 2 and self.parity in {0, 1}):
            return None
        raw = self.r.to_bytes(32, "big") + self.s.to_bytes(32, "big") + bytes([self.parity])
        try:
            key = PublicKey.from_signature_and_message(raw, digest, hasher=None)
        except Exception:  # noqa: BLE001 - the library raises bare Exception where there is no such point
            return None
        return "0x" + keccak256(key.format(compressed=False)[1:])[12:].hex()


def authorization_digest(authorization: Mapping[str, Any], domain: Mapping[str, Any]) -> bytes:
    """Return what the payer of a TransferWithAuthorization signs (EIP-712).

    Args:
        authorization: from, to, value, validAfter, validBefore, nonce; numbers as decimal texts or integers.
        domain: name, version, chain_id, contract.
    """
    text = keccak256(str(domain["name"]).encode()) + keccak256(str(domain["version"]).encode())
    # The domain binds the signature to one contract on one chain (EIP-712).
    separator = keccak256(_DOMAIN + text + _word(domain["chain_id"]) + _pad(domain["contract"]))
    numbers = b"".join(_word(authorization[name]) for name in ("value", "validAfter", "validBefore"))
    struct = _TRANSFER + _pad(authorization["from"]) + _pad(authorization["to"]) + numbers
    struct += _pad(authorization["nonce"])
    return keccak256(b"\x19\x01" + separator + keccak256(struct))


def _word(number: Any) -> bytes:
    return int(number).to_bytes(32, "big")


def _pad(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x")).rjust(32, b"\0")


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """One that a chain would take: legacy, or of type 1, 2 or 4.

    Attributes:
        tx_id: Its hash, `0x` and lower-case hex.
        sender: Who signed it, lower-case hex.
        chain_id: The chain it is for; None for one that is for every chain, as before EIP-155.
    """

    tx_id: str
    sender: str
    chain_id: int | None

    @classmethod
    def read(cls, raw: bytes) -> SignedTransaction:
        """Return the transaction of its bytes as they are sent.

        Raises:
            PaymentRefusal: A chain would not take them.
        """
        kind = raw[0] if raw[:1] and raw[0] < 0x80 else 0
        members = _members(raw[1:] if kind else raw)
        demand_valid(len(members) == _MEMBERS.get(kind), "it is of no known type")
        numbers = [_number(one) for place, one in enumerate(members) if place not in _NO_NUMBERS[kind]]
        v, r, s = numbers[-3:]
        chain_id: int | None = numbers[0]
        parity, unsigned_members = v, members[:-3]
        if not kind:
            # EIP-155 puts the chain id into v. Without it, the transaction is valid on every
            # chain.
            chain_id, parity = (None, v - 27) if v in {27, 28} else divmod(v - 35, 2)
            unsigned_members = [*unsigned_members, *([] if chain_id is None else [_bytes(chain_id), b"", b""])]
        digest = keccak256((bytes([kind]) if kind else b"") + rlp.encode(unsigned_members))
        sender = Signature(r, s, parity).signer(digest)
        if sender is None:
            raise invalid_transaction("its signature does not hold")
        return cls("0x" + keccak256(raw).hex(), sender, chain_id)


def _members(raw: bytes) -> Sequence[Any]:
    try:
        members = rlp.decode(raw)
    except rlp.Malformed as fault:
        raise invalid_transaction("it is not in RLP") from fault
    if isinstance(members, bytes):
        raise invalid_transaction("it is no list")
    return members


def _number(raw: Any) -> int:
    if not isinstance(raw, bytes) or raw[:1] == b"\0":
        raise invalid_transaction("a number is not in its shortest form")
    return int.from_bytes(raw, "big")


def _bytes(number: int) -> bytes:
    demand_valid(number > 0, "it is for no chain")
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
