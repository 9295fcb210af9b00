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

from conformance.oracles.welds.refusal import broken, intact

_KEY_BYTES: Final = 32
_ADDRESSES: Final = ("snd", "rcv", "close", "arcv", "asnd", "aclose", "rekey")
_WAYS: Final = ("sig", "msig", "lsig")
_COMMON: Final = {"type", "snd", "fee", "fv", "lv", "gen", "gh", "note", "grp", "lx", "rekey"}
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
            Refused: A node would not take them: encoding, addresses, signature.
        """
        whole = _canonical(raw)
        members = whole.get("txn")
        if not isinstance(members, dict):
            raise broken("there is no transaction in it")
        encoded = _encode(members)
        _well_formed(members)
        intact(_is_signed(whole, members, b"TX" + encoded), "its signature does not hold")
        return cls(members, _base32(sha512_256(b"TX" + encoded)))

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
    made = Hash(SHA512_256())
    made.update(data)
    return made.finalize()


def _base32(raw: bytes) -> str:
    return base64.b32encode(raw).decode("ascii").rstrip("=")


def _well_formed(members: Mapping[str, Any]) -> None:
    """Refuse members that a transaction of that kind does not have, or that are of another type."""
    kind = members.get("type")
    intact(isinstance(kind, str) and kind in _KINDS, "it is of no kind that an account can send")
    intact(members.keys() <= _COMMON | _KINDS[str(kind)], "it has a member that its kind does not")
    for names, type_ in ((_NUMBERS, int), (_BYTES, bytes), (("gen",), str)):
        typed = all(type(members[name]) is type_ for name in names if name in members)
        intact(typed, f"of {', '.join(names)} one is not {type_.__name__}")
    for name in _ADDRESSES:
        intact(len(members.get(name, bytes(_KEY_BYTES))) == _KEY_BYTES, f"{name} is no address")
    intact("snd" in members, "it has no sender")


def _canonical(raw: bytes) -> dict[str, Any]:
    """Return the map of canonical bytes: members sorted, none empty, every number and length in its shortest form."""
    try:
        found = msgpack.unpackb(raw, raw=False, strict_map_key=True)
        again = _encode(found)
    except (ValueError, TypeError, msgpack.exceptions.UnpackException, msgpack.exceptions.ExtraData, RecursionError):
        found, again = None, b""
    if not isinstance(found, dict) or again != raw or _has_empty(found):
        raise broken("it is not in canonical msgpack")
    return found


def _encode(value: Any) -> bytes:
    return bytes(msgpack.packb(_sorted(value), use_bin_type=True))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


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
    signer = whole.get("sgnr", members["snd"])
    ways = [name for name in _WAYS if name in whole]
    if len(ways) != 1 or set(whole) - {"txn", "sgnr", *_WAYS}:
        return False
    given = whole[ways[0]]
    match ways[0]:
        case "sig":
            return _holds(signer, given, message)
        case "msig":
            return _multisig_holds(signer, given, message)
    return _logic_holds(signer, given)


def _multisig_holds(signer: bytes, given: Any, message: bytes) -> bool:
    """Return whether enough of an account's keys have signed, and no signature is wrong."""
    if not isinstance(given, dict) or not isinstance(given.get("subsig"), list):
        return False
    parts, version, threshold = given["subsig"], given.get("v", 0), given.get("thr", 0)
    if not all(isinstance(one, dict) and isinstance(one.get("pk"), bytes) for one in parts):
        return False
    if not all(isinstance(one, int) and 0 < one < 256 for one in (version, threshold)):
        return False
    keys = b"".join(one["pk"] for one in parts)
    address = sha512_256(b"MultisigAddr" + bytes([version, threshold]) + keys)
    signed = [(one["pk"], one["s"]) for one in parts if "s" in one]
    enough = threshold <= len(signed)
    return address == signer and enough and all(_holds(key, one, message) for key, one in signed)


def _logic_holds(signer: bytes, given: Any) -> bool:
    """Return whether a program is the account itself, or the account has signed the program. It is not run."""
    if not isinstance(given, dict) or not isinstance(given.get("l"), bytes):
        return False
    program = b"Program" + given["l"]
    if "msig" in given:
        return "sig" not in given and _multisig_holds(signer, given["msig"], program)
    return _holds(signer, given["sig"], program) if "sig" in given else sha512_256(program) == signer


def _holds(key: Any, signature: Any, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True
