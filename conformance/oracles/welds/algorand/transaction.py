"""Signed Algorand transactions: canonical msgpack, ids, and the three ways to sign them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA512_256, Hash

from conformance.oracles.welds.refusal_stages import demand_valid, invalid_transaction

_KEY_BYTES: Final = 32
_ADDRESSES: Final = ("snd", "rcv", "close", "arcv", "asnd", "aclose", "rekey")
_WAYS: Final = ("sig", "msig", "lsig")
_COMMON: Final = {"type", "snd", "fee", "fv", "lv", "gen", "gh", "note", "grp", "lx", "rekey"}
# The fields that each type of transaction may have besides the common ones. A node refuses a transaction with a field
# of another type.
_KINDS: Final = {
    "pay": {"rcv", "amt", "close"},
    "axfer": {"xaid", "aamt", "asnd", "arcv", "aclose"},
    "acfg": {"caid", "apar"},
    "afrz": {"fadd", "faid", "afrz"},
    "keyreg": {"votekey", "selkey", "votefst", "votelst", "votekd", "nonpart", "sprfkey"},
    "appl": {
        "apid",
        "apan",
        "apat",
        "apap",
        "apaa",
        "apls",
        "apgs",
        "apfa",
        "apsu",
        "apas",
        "apep",
        "apbx",
        "al",
        "aprv",
    },
}
_NUMBERS: Final = ("fee", "fv", "lv", "aamt", "xaid", "amt")
_BYTES: Final = ("gh", "grp", "lx", "note", *_ADDRESSES)


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """One that a node would take: `members` are the transaction's own, under the names of the encoding."""

    members: Mapping[str, Any]
    tx_id: str

    @classmethod
    def read(cls, raw: bytes) -> SignedTransaction:
        """Return the transaction of its bytes as they are sent.

        Raises:
            PaymentRefusal: A node would not take them: encoding, addresses, signature.
        """
        whole = _canonical(raw)
        members = whole.get("txn")
        if not isinstance(members, dict):
            raise invalid_transaction("there is no transaction in it")
        encoding = _encode(members)
        _well_formed(members)
        # The prefix "TX" separates transactions from other signed bytes of the chain.
        demand_valid(_is_signed(whole, members, b"TX" + encoding), "its signature does not hold")
        return cls(members, _base32(sha512_256(b"TX" + encoding)))

    def amount(self, name: str) -> int:
        """Return a number; a zero is left out of the encoding."""
        return int(self.members.get(name, 0))

    def address(self, name: str) -> str:
        """Return an address as text; the zero address is left out of the encoding."""
        return address_of(self.members.get(name, bytes(_KEY_BYTES)))


def group_id(members: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the id that binds transactions to each other: it is over each without its own group member."""
    hashes = [sha512_256(b"TX" + _encode({k: v for k, v in one.items() if k != "grp"})) for one in members]
    return sha512_256(b"TG" + _encode({"txlist": hashes}))


def address_of(raw: bytes) -> str:
    """Return 32 bytes as an address, with the checksum."""
    return _base32(raw + sha512_256(raw)[-4:])


def sha512_256(data: bytes) -> bytes:
    """Return the chain's hash."""
    digest = Hash(SHA512_256())
    digest.update(data)
    return digest.finalize()


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode("ascii").rstrip("=")


def _well_formed(members: Mapping[str, Any]) -> None:
    """Refuse members that a transaction of that kind does not have, or that are of another type."""
    kind = members.get("type")
    demand_valid(isinstance(kind, str) and kind in _KINDS, "it is of no kind that an account can send")
    demand_valid(members.keys() <= _COMMON | _KINDS[str(kind)], "it has a member that its kind does not")
    for names, type_ in ((_NUMBERS, int), (_BYTES, bytes), (("gen",), str)):
        has_type = all(type(members[name]) is type_ for name in names if name in members)
        demand_valid(has_type, f"of {', '.join(names)} one is not {type_.__name__}")
    for name in _ADDRESSES:
        demand_valid(len(members.get(name, bytes(_KEY_BYTES))) == _KEY_BYTES, f"{name} is no address")
    demand_valid("snd" in members, "it has no sender")


def _canonical(raw: bytes) -> dict[str, Any]:
    """Return the map of canonical bytes: members sorted, none empty, every number and length in its shortest form."""
    try:
        value = msgpack.unpackb(raw, raw=False, strict_map_key=True)
        canonical_bytes = _encode(value)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException, msgpack.exceptions.ExtraData, RecursionError):
        value, canonical_bytes = None, b""
    # Encoding again and comparing finds every departure from the canonical form: order, empty
    # members, long lengths.
    if not isinstance(value, dict) or canonical_bytes != raw or _has_empty(value):
        raise invalid_transaction("it is not in canonical msgpack")
    return value


def _encode(value: Any) -> bytes:
    return bytes(msgpack.packb(_sort_members(value), use_bin_type=True))


def _sort_members(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sort_members(value[name]) for name in sorted(value)}
    return [_sort_members(one) for one in value] if isinstance(value, list) else value


def _has_empty(value: Any) -> bool:
    """Return whether a member of a map is what leaving it out says: zero, false, empty, the zero address."""
    if isinstance(value, list):
        return any(_has_empty(one) for one in value)
    if not isinstance(value, dict):
        return False
    return any(
        member in (0, False, "", b"", bytes(_KEY_BYTES), [], {}) or _has_empty(member) for member in value.values()
    )


def _is_signed(whole: Mapping[str, Any], members: Mapping[str, Any], message: bytes) -> bool:
    """Return whether the account that may spend has signed: the sender, or whom he was rekeyed to."""
    # A rekeyed account is signed for by another key, which the transaction names.
    signer = whole.get("sgnr", members["snd"])
    ways = [name for name in _WAYS if name in whole]
    if len(ways) != 1 or set(whole) - {"txn", "sgnr", *_WAYS}:
        return False
    signature_member = whole[ways[0]]
    match ways[0]:
        case "sig":
            return _holds(signer, signature_member, message)
        case "msig":
            return _multisig_holds(signer, signature_member, message)
    return _logic_holds(signer, signature_member)


def _multisig_holds(signer: bytes, signature_member: Any, message: bytes) -> bool:
    """Return whether enough of an account's keys have signed, and no signature is wrong."""
    if not isinstance(signature_member, dict) or not isinstance(signature_member.get("subsig"), list):
        return False
    parts, version, threshold = signature_member["subsig"], signature_member.get("v", 0), signature_member.get("thr", 0)
    if not all(isinstance(one, dict) and isinstance(one.get("pk"), bytes) for one in parts):
        return False
    if not all(isinstance(one, int) and 0 < one < 256 for one in (version, threshold)):
        return False
    keys = b"".join(one["pk"] for one in parts)
    # The address of a multisignature account is the hash of its keys and threshold, so nothing
    # of them can be changed.
    address = sha512_256(b"MultisigAddr" + bytes([version, threshold]) + keys)
    signatures = [(one["pk"], one["s"]) for one in parts if "s" in one]
    enough = threshold <= len(signatures)
    return address == signer and enough and all(_holds(key, one, message) for key, one in signatures)


def _logic_holds(signer: bytes, signature_member: Any) -> bool:
    """Return whether a program is the account itself, or the account has signed the program. It is not run."""
    if not isinstance(signature_member, dict) or not isinstance(signature_member.get("l"), bytes):
        return False
    # A program whose hash is the sender's address is its own authority. The chain would run it;
    # this oracle does not.
    program = b"Program" + signature_member["l"]
    if "msig" in signature_member:
        return "sig" not in signature_member and _multisig_holds(signer, signature_member["msig"], program)
    return (
        _holds(signer, signature_member["sig"], program) if "sig" in signature_member else sha512_256(program) == signer
    )


def _holds(key: Any, signature: Any, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True
