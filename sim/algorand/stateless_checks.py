"""What can be judged of a transaction without the ledger: its form and its signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from sim.algorand.encoding import ZERO, Malformed, encode_address, multisig_address, pack, transaction_id

MAX_GROUP = 16
MAX_LIFE = 1000
MAX_DECIMALS = 19
_U64 = 2**64 - 1


class Rejected(Exception):
    """A group that the node's pool refuses, with the node's reason."""

    @property
    def message(self) -> str:
        """What the node answers to the submission."""
        return f"TransactionPool.Remember: {self}"


class Invalid(Rejected):
    """A transaction that is not well formed, or bears no signature that could be verified.

    The node prints the whole transaction as Go prints a structure; no client can rely on that.
    """

    @property
    def message(self) -> str:
        """What the node answers to the submission."""
        return f"transaction {{_struct:{{}}}} invalid : {self}"


class Unverified(Rejected):
    """A group that does not belong together, or whose signatures do not verify."""

    @property
    def message(self) -> str:
        """What the node answers to the submission."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Protocol:
    """Parameters that the consensus version fixes and that drift between versions (chain facts 6.4).

    Attributes:
        version: Its name.
        min_fee: Micro-Algos a transaction of a group.
        note_bytes: Longest note that costs nothing beyond the minimum fee.
        longest_note_bytes: Longest note.
        note_byte_usage: Millionths of the minimum fee that each byte between the two costs.
        min_balance: Micro-Algos an account, and again each asset it holds.
    """

    version: str = "https://github.com/algorandfoundation/specs/tree/sim"
    min_fee: int = 1000
    note_bytes: int = 1024
    longest_note_bytes: int = 4096
    note_byte_usage: int = 100
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
            Malformed: It has members or values that no transaction has.
            Invalid: Its type is not one that this node evaluates.
        """
        transaction = raw.get("txn", {})
        unknown = set(raw) - {"sig", "msig", "lsig", "sgnr", "txn"}
        if unknown:
            raise Malformed(_NO_FIELD + min(unknown))
        if not isinstance(transaction, dict):
            raise Malformed("msgpack decode error: txn is not a map")
        signer = raw.get("sgnr", ZERO)
        if not isinstance(signer, bytes) or len(signer) != len(ZERO):
            raise Malformed("msgpack decode error: field sgnr is no address")
        kind = transaction.get("type", "")
        if not isinstance(kind, str):
            raise Malformed("msgpack decode error: field type has a wrong type")
        if kind not in _FIELDS:
            raise Invalid(f"unknown tx type {kind:.20}" + _NOT_EVALUATED * (kind in _OTHER_KINDS))
        transaction = _decode(transaction)
        return cls({**raw, "txn": transaction}, transaction_id(transaction))

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

    def usage(self, protocol: Protocol) -> int:
        """Return millionths of the minimum fee that it must pay: one whole, and more for a long note."""
        beyond = len(self.transaction.get("note", b"")) - protocol.note_bytes
        return 1_000_000 + max(0, beyond) * protocol.note_byte_usage

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
_OTHER_KINDS = frozenset({"appl", "keyreg", "stpf", "hb"})
_NOT_EVALUATED = f": this node evaluates {', '.join(_FIELDS)}"
_NO_FIELD = "msgpack decode error: no matching struct field found when decoding stream map with key "
_MEMBERS = _HEADER.union(*_FIELDS.values())
_ADDRESSES = {"snd", "gh", "grp", "lx", "rekey", "rcv", "close", "arcv", "asnd", "aclose", "fadd"}
_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(_MEMBERS, (int,)),
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


def _decode(transaction: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a transaction as the node decodes them: text is bytes where it expects bytes.

    Raises:
        Malformed: A member is unknown, or has a value of another type.
    """
    if set(transaction) - _MEMBERS:
        raise Malformed(_NO_FIELD + min(set(transaction) - _MEMBERS))
    members = {
        name: value.encode() if _TYPES[name] == (bytes,) and isinstance(value, str) else value
        for name, value in transaction.items()
    }
    for name, value in members.items():
        if not isinstance(value, _TYPES[name]) or isinstance(value, bool) is not (name == "afrz"):
            raise Malformed(f"msgpack decode error: field {name} has a wrong type")
        if name in _ADDRESSES and isinstance(value, bytes) and len(value) != 32:
            raise Malformed(f"msgpack decode error: field {name} is no address")
        if isinstance(value, int) and not 0 <= value <= _U64:
            raise Malformed(f"msgpack decode error: field {name} is out of range")
    return members


def check_form(transaction: Signed, protocol: Protocol) -> None:
    """Check that a transaction is well formed.

    Raises:
        Invalid: With the node's reason.
    """
    kind = transaction.kind
    foreign = set(transaction.transaction) - _HEADER - _FIELDS[kind]
    if foreign:
        other_kind = next(other_kind for other_kind, fields in _FIELDS.items() if foreign & fields)
        raise Invalid(f"transaction of type {kind} has non-zero fields for type {other_kind}")
    if transaction.sender == ZERO:
        raise Invalid("transaction cannot have zero sender")
    first, last = transaction.integer("fv"), transaction.integer("lv")
    if last < first:
        raise Invalid(f"transaction invalid range ({first}--{last})")
    if last - first > MAX_LIFE:
        raise Invalid(f"transaction window size excessive ({first}--{last})")
    note = len(transaction.transaction.get("note", b""))
    if note > protocol.longest_note_bytes:
        raise Invalid(f"transaction note too big: {note} > {protocol.longest_note_bytes}")
    _check_kind(transaction)


def _check_kind(transaction: Signed) -> None:
    if transaction.kind == "pay" and transaction.address("close") == transaction.sender:
        raise Invalid(f"transaction cannot close account to its sender {encode_address(transaction.sender)}")
    if transaction.kind == "axfer":
        if transaction.integer("xaid") == 0 and transaction.integer("aamt") > 0:
            raise Invalid("asset ID cannot be zero")
        if transaction.address("asnd") != ZERO and transaction.address("aclose") != ZERO:
            raise Invalid("cannot close asset by clawback")
    if transaction.kind == "afrz" and transaction.integer("faid") == 0:
        raise Invalid("asset ID cannot be zero")
    if transaction.kind == "acfg":
        _check_asset(transaction.transaction.get("apar", {}))


def _check_asset(params: Mapping[str, Any]) -> None:
    for name, value in params.items():
        if name not in _ASSET_TYPES:
            raise Malformed(_NO_FIELD + name)
        if type(value) is not _ASSET_TYPES[name]:
            raise Malformed(f"msgpack decode error: field {name} has a wrong type")
        if isinstance(value, bytes) and len(value) != 32:
            raise Malformed(f"msgpack decode error: field {name} has a wrong length")
        if isinstance(value, int) and not 0 <= value <= _U64:
            raise Malformed(f"msgpack decode error: field {name} is out of range")
    for name, limit in _ASSET_TEXTS.items():
        if len(params.get(name, "").encode()) > limit:
            raise Invalid(f"transaction asset {name} too big: > {limit}")
    if params.get("dc", 0) > MAX_DECIMALS:
        raise Invalid(f"transaction asset decimals is too high (max is {MAX_DECIMALS})")


def is_unsigned(transaction: Signed) -> bool:
    """Return whether it bears no signature of any kind."""
    return not {"sig", "msig", "lsig"} & set(transaction.raw)


def check_signature(transaction: Signed) -> None:
    """Check the signature against the key it claims.

    Raises:
        Invalid: It is missing, or not of a form that could be verified.
        Unverified: It does not verify.
    """
    signer = transaction.raw.get("sgnr", transaction.sender)
    message = b"TX" + pack(transaction.transaction)
    # v42: "AuthAddr must be empty or different from Sender".
    if transaction.raw.get("sgnr") == transaction.sender:
        raise Invalid("AuthAddr must be different from Sender")
    if "lsig" in transaction.raw:
        raise Invalid("logic signatures are not evaluated by this node")
    if is_unsigned(transaction):
        raise Invalid("signedtxn has no sig")
    if "sig" in transaction.raw and "msig" in transaction.raw:
        raise Invalid("signedtxn should have only one type of signature")
    if "sig" in transaction.raw:
        _check_one(signer, message, transaction.raw["sig"])
    else:
        _check_multisig(signer, message, transaction.raw["msig"])


def _check_one(key: object, message: bytes, signature: object) -> None:
    failure = Unverified("At least one signature didn't pass verification")
    if not isinstance(key, bytes) or not isinstance(signature, bytes) or len(key) != 32 or len(signature) != 64:
        raise failure
    try:
        VerifyKey(key).verify(message, signature)
    except (BadSignatureError, ValueError) as fault:
        raise failure from fault


def _check_multisig(signer: object, message: bytes, multisig: object) -> None:
    if not isinstance(multisig, dict) or not isinstance(multisig.get("subsig"), list):
        raise Invalid("multisig validation failed: Invalid threshold")
    version, threshold = multisig.get("v"), multisig.get("thr")
    members = multisig["subsig"]
    keys = [member.get("pk") for member in members if isinstance(member, dict) and isinstance(member.get("pk"), bytes)]
    in_range = isinstance(threshold, int) and 0 < threshold <= len(keys) == len(members) <= 255
    if version != 1 or not isinstance(threshold, int) or not in_range:
        raise Invalid(f"multisig validation failed: Invalid {'version' if version != 1 else 'threshold'}")
    if multisig_address(version, threshold, [key for key in keys if key is not None]) != signer:
        raise Invalid("multisig validation failed: Invalid address")
    signatures = [member for member in members if "s" in member]
    if len(signatures) < threshold:
        raise Invalid("multisig validation failed: Invalid number of signatures")
    for member in signatures:
        _check_one(member["pk"], message, member["s"])
