"""What can be judged of a transaction without the ledger: its form and its signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from sim.algorand.encoding import ZERO, encode_address, multisig_address, pack, transaction_id

MAX_GROUP = 16
MAX_LIFE = 1000
MAX_DECIMALS = 19
_U64 = 2**64 - 1


class Rejected(Exception):
    """A transaction that the node refuses, with the node's own reason."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """Parameters that the consensus version fixes and that drift between versions (chain facts 6.4).

    Attributes:
        version: Its name.
        min_fee: Micro-Algos a transaction of a group.
        note_bytes: Longest note.
        min_balance: Micro-Algos an account, and again each asset it holds.
    """

    version: str = "https://github.com/algorandfoundation/specs/tree/sim"
    min_fee: int = 1000
    note_bytes: int = 1024
    min_balance: int = 100_000


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed transaction as it was submitted."""

    raw: Mapping[str, Any]
    id: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Signed:
        """Return the transaction of a decoded map.

        Raises:
            Rejected: It holds no transaction.
        """
        transaction = raw.get("txn")
        if not isinstance(transaction, dict):
            raise Rejected("transaction is missing")
        kind = transaction.get("type", "")
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise Rejected(f"unknown tx type {kind!s:.20}: this node evaluates {_EVALUATED}")
        unknown = set(raw) - {"sig", "msig", "lsig", "sgnr", "txn"}
        if unknown or set(transaction) - _KNOWN:
            raise Rejected(f"msgpack decode error: unknown field {min(unknown or set(transaction) - _KNOWN)}")
        for name, value in transaction.items():
            if not isinstance(value, _TYPES[name]) or isinstance(value, bool) is not (name == "afrz"):
                raise Rejected(f"msgpack decode error: field {name} has a wrong type")
            if name in _ADDRESSES and isinstance(value, bytes) and len(value) != 32:
                raise Rejected(f"msgpack decode error: field {name} is no address")
            if isinstance(value, int) and not 0 <= value <= _U64:
                raise Rejected(f"msgpack decode error: field {name} is out of range")
        return cls(raw, transaction_id(transaction))

    @property
    def transaction(self) -> Mapping[str, Any]:
        """The transaction without signatures."""
        txn: Mapping[str, Any] = self.raw["txn"]
        return txn

    def integer(self, name: str) -> int:
        """Return an integer field; absent is 0."""
        value: int = self.transaction.get(name, 0)
        return value

    def address(self, name: str) -> bytes:
        """Return an address field; absent is zero."""
        value: bytes = self.transaction.get(name, ZERO)
        return value

    @property
    def kind(self) -> str:
        """Its type."""
        return str(self.transaction.get("type", ""))

    @property
    def sender(self) -> bytes:
        """Its sender."""
        return self.address("snd")


_HEADER = {"type", "snd", "fee", "fv", "lv", "gen", "gh", "grp", "lx", "note", "rekey"}
_FIELDS = {
    "pay": {"amt", "rcv", "close"},
    "axfer": {"xaid", "aamt", "arcv", "asnd", "aclose"},
    "acfg": {"caid", "apar"},
    "afrz": {"faid", "fadd", "afrz"},
}
_EVALUATED = ", ".join(_FIELDS)
_KNOWN = _HEADER.union(*_FIELDS.values())
_ADDRESSES = {"snd", "gh", "grp", "lx", "rekey", "rcv", "close", "arcv", "asnd", "aclose", "fadd"}
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(_KNOWN, (int,)),
    **dict.fromkeys(_ADDRESSES | {"note"}, (bytes,)),
    **dict.fromkeys({"type", "gen"}, (str,)),
    "apar": (dict,),
    "afrz": (bool,),
}
_ASSET_TEXTS = {"an": 32, "un": 8, "au": 96}
_ASSET_TYPES: Mapping[str, type] = {
    **dict.fromkeys(_ASSET_TEXTS, str),
    **dict.fromkeys({"t", "dc"}, int),
    **dict.fromkeys({"m", "r", "f", "c", "am"}, bytes),
    "df": bool,
}


def check_form(one: Signed, protocol: Protocol) -> None:
    """Check that a transaction is well formed.

    Raises:
        Rejected: With the node's reason.
    """
    kind = one.kind
    foreign = set(one.transaction) - _HEADER - _FIELDS[kind]
    if foreign:
        raise Rejected(f"transaction of type {kind} has non-zero fields for another type: {min(foreign)}")
    if one.sender == ZERO:
        raise Rejected("transaction cannot have zero sender")
    first, last = one.integer("fv"), one.integer("lv")
    if last < first:
        raise Rejected(f"transaction invalid range ({first}--{last})")
    if last - first > MAX_LIFE:
        raise Rejected(f"transaction window size excessive ({first}--{last})")
    note = len(one.transaction.get("note", b""))
    if note > protocol.note_bytes:
        raise Rejected(f"transaction note too big: {note} > {protocol.note_bytes}")
    _check_kind(one)


def _check_kind(one: Signed) -> None:
    if one.kind == "pay" and one.address("close") == one.sender:
        raise Rejected(f"transaction cannot close account to its sender {encode_address(one.sender)}")
    if one.kind == "axfer":
        if one.integer("xaid") == 0 and one.integer("aamt") > 0:
            raise Rejected("asset ID cannot be zero")
        if one.address("asnd") != ZERO and one.address("aclose") != ZERO:
            raise Rejected("cannot close asset by clawback")
    if one.kind == "afrz" and one.integer("faid") == 0:
        raise Rejected("asset ID cannot be zero")
    if one.kind == "acfg":
        _check_asset(one.transaction.get("apar", {}))


def _check_asset(params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        if name not in _ASSET_TYPES:
            raise Rejected(f"msgpack decode error: unknown field {name}")
        if type(value) is not _ASSET_TYPES[name]:
            raise Rejected(f"msgpack decode error: field {name} has a wrong type")
        if isinstance(value, bytes) and len(value) != 32:
            raise Rejected(f"msgpack decode error: field {name} has a wrong length")
        if isinstance(value, int) and not 0 <= value <= _U64:
            raise Rejected(f"msgpack decode error: field {name} is out of range")
    for name, limit in _ASSET_TEXTS.items():
        if len(params.get(name, "").encode()) > limit:
            raise Rejected(f"transaction asset {name} too big: > {limit}")
    if params.get("dc", 0) > MAX_DECIMALS:
        raise Rejected(f"transaction asset decimals is too high (max is {MAX_DECIMALS})")


def check_signature(one: Signed) -> None:
    """Check the signature against the key it claims.

    Raises:
        Rejected: It does not verify, or there is none.
    """
    claimed = one.raw.get("sgnr", one.sender)
    message = b"TX" + pack(one.transaction)
    if "lsig" in one.raw:
        raise Rejected("logic signatures are not evaluated by this node")
    if ("sig" in one.raw) == ("msig" in one.raw):
        raise Rejected(
            "signedtxn has no sig" if "sig" not in one.raw else "signedtxn should only have one of Sig or Msig"
        )
    if "sig" in one.raw:
        _check_one(claimed, message, one.raw["sig"])
    else:
        _check_multisig(claimed, message, one.raw["msig"])


def _check_one(key: object, message: bytes, signature: object) -> None:
    failed = Rejected("At least one signature didn't pass verification")
    if not isinstance(key, bytes) or not isinstance(signature, bytes) or len(key) != 32 or len(signature) != 64:
        raise failed
    try:
        VerifyKey(key).verify(message, signature)
    except (BadSignatureError, ValueError) as fault:
        raise failed from fault


def _check_multisig(claimed: object, message: bytes, multisig: object) -> None:
    if not isinstance(multisig, dict) or not isinstance(multisig.get("subsig"), list):
        raise Rejected("multisig has no subsignatures")
    version, threshold = multisig.get("v"), multisig.get("thr")
    members = multisig["subsig"]
    keys = [member.get("pk") for member in members if isinstance(member, dict) and isinstance(member.get("pk"), bytes)]
    in_range = isinstance(threshold, int) and 0 < threshold <= len(keys) == len(members) <= 255
    if version != 1 or not isinstance(threshold, int) or not in_range:
        raise Rejected("multisig is not valid: version or threshold")
    if multisig_address(version, threshold, [key for key in keys if key is not None]) != claimed:
        raise Rejected("multisig address mismatch")
    given = [member for member in members if "s" in member]
    if len(given) < threshold:
        raise Rejected(f"multisig has {len(given)} signatures, threshold is {threshold}")
    for member in given:
        _check_one(member["pk"], message, member["s"])
