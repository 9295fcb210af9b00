"""A captured success as a value, and the axes along which it is changed.

An axis is a small pure transformation. A replay names every change that was made to it, so that a breach can be reduced
to the fewest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from conformance.discovery.rail import Operation


def standard(proof: Mapping[str, Any]) -> str:
    """Return the usual text of the header: standard base64 of compact JSON."""
    return base64.b64encode(_json(proof)).decode()


def _json(proof: Mapping[str, Any]) -> bytes:
    return json.dumps(proof, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Replay:
    """One request that presents a proof.

    Attributes:
        url: Address without a query.
        method: HTTP method.
        query: Raw query without `?`.
        body: JSON body.
        proof: The proof's members.
        encode: From the proof's members to the header's text.
        cut: Characters cut from the header's end.
        header: Name of the header that carries it.
        copies: How often the header is sent.
        changes: Names of the changes that led here.
    """

    url: str
    method: str
    query: str
    body: Any
    proof: Mapping[str, Any]
    encode: Callable[[Mapping[str, Any]], str] = standard
    cut: int = 0
    header: str = "X-PAYMENT"
    copies: int = 1
    changes: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The header's text."""
        text = self.encode(self.proof)
        return text[: len(text) - self.cut] if self.cut else text

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The header fields that present the proof."""
        return [(self.header, self.value)] * self.copies

    def changed(self, name: str, **members: Any) -> Replay:
        """Return the replay with one more change."""
        return replace(self, **members, changes=(*self.changes, name))


@dataclass(frozen=True, slots=True)
class Material:
    """The material for the changes.

    Attributes:
        operation: The operation that was bought.
        others: The other paid operations.
        bodies: Other bodies that the operation accepts.
        live_tokens: Tokens of live challenges: of the same request, and of other operations.
        second: The proof of another purchase of the same operation; its members show the form of the lane's proofs.
        spellings: Other spellings of the transaction's id.
        foreign_tokens: Live tokens of the same request on other lanes, by lane.
    """

    operation: Operation
    others: Sequence[Operation]
    bodies: Sequence[Any]
    live_tokens: Sequence[str]
    second: Mapping[str, Any]
    spellings: Sequence[str]
    foreign_tokens: Mapping[str, str] = field(default_factory=dict)

    @property
    def token_member(self) -> str:
        """Name of the proof's member that holds the challenge token (P-LN-01)."""
        return "challenge_token" if "challenge_token" in self.second else "payment_reference"

    @property
    def payment_members(self) -> tuple[str, ...]:
        """Names of the proof's members that hold the payment."""
        return ("authorization", "signature") if "authorization" in self.second else ("tx_id",)

    @property
    def invented(self) -> str | None:
        """A transaction id that was never sent; None if the proof has no transaction."""
        text = self.second.get("tx_id")
        if not isinstance(text, str):
            return None
        # In the middle, where every character is free. The last one of an encoded id has unused bits, which a check may
        # reject.
        place = len(text) // 2
        return text[:place] + ("B" if text[place] == "A" else "A") + text[place + 1 :]


@dataclass(frozen=True, slots=True)
class Change:
    """One way to change a replay.

    Attributes:
        name: The change, in words.
        axis: The axis of the change; two changes of one axis are never combined.
        row: The requirement that a breach by it breaks.
        apply: Returns the changed replay.
    """

    name: str
    axis: str
    row: str
    apply: Callable[[Replay], Replay]


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _escaped(proof: Mapping[str, Any]) -> str:
    text = _json(proof).decode()
    value = str(proof.get("tx_id") or proof.get("signature") or "")
    return _b64(text.replace(value, "".join(f"\\u{ord(one):04x}" for one in value)).encode())


# The same proof in other bytes. A rail that records spent proofs by the header's text serves such a spelling again.
# Some are invalid, and must be refused or read as the same proof.
ENCODINGS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "base64url": lambda proof: base64.urlsafe_b64encode(_json({**proof, "memo": "?~>?~>"})).decode(),
    "without padding": lambda proof: standard(proof).rstrip("="),
    "padding twice": lambda proof: standard(proof) + "=",
    "a space inside": lambda proof: standard(proof)[:20] + " " + standard(proof)[20:],
    "a tab at the end": lambda proof: standard(proof) + "\t",
    "quoted": lambda proof: f'"{standard(proof)}"',
    "percent-encoded": lambda proof: quote(standard(proof), safe=""),
    "members the other way round": lambda proof: standard(dict(reversed(list(proof.items())))),
    "white space in the JSON": lambda proof: _b64(json.dumps(proof, indent=2).encode()),
    "an extra member": lambda proof: standard({**proof, "memo": "x"}),
    "a network member of another lane": lambda proof: standard({**proof, "network": "eip155:8453"}),
    "escapes in the JSON": _escaped,
    "a byte order mark": lambda proof: _b64(b"\xef\xbb\xbf" + _json(proof)),
    "UTF-16": lambda proof: _b64(_json(proof).decode().encode("utf-16")),
    "base64 twice": lambda proof: _b64(standard(proof).encode()),
    "hexadecimal": lambda proof: _json(proof).hex(),
    "inside an array": lambda proof: _b64(b"[" + _json(proof) + b"]"),
    "duplicate members": lambda proof: _b64(_json(proof)[:-1] + b"," + _json(proof)[1:]),
    "a trailing newline in the JSON": lambda proof: _b64(_json(proof) + b"\n"),
    "in lower case": lambda proof: standard(proof).lower(),
    "member names in upper case": lambda proof: standard({name.upper(): value for name, value in proof.items()}),
}


def changes(material: Material) -> list[Change]:
    """Return every single change of a captured success, in a fixed order, because the seed draws pairs from it."""
    return [
        *_operations(material),
        *_bodies(material),
        *_methods_and_queries(),
        *_references(material),
        *_lanes(material),
        *_texts(material),
        *(
            Change(f"re-encoded: {name}", "encoding", "RAIL-WELD-11", _encoding(name, encode))
            for name, encode in ENCODINGS.items()
        ),
        *_headers(),
    ]


def _encoding(name: str, encode: Callable[[Mapping[str, Any]], str]) -> Callable[[Replay], Replay]:
    return lambda one: one.changed(f"re-encoded: {name}", encode=encode)


def _with(name: str, **members: Any) -> Callable[[Replay], Replay]:
    return lambda one: one.changed(name, **members)


def _proof(name: str, **members: Any) -> Callable[[Replay], Replay]:
    return lambda one: one.changed(name, proof={**one.proof, **members})


def _operations(material: Material) -> list[Change]:
    found = []
    for other in material.others:
        name = f"other operation {other.path}"
        found.append(Change(name, "target", "RAIL-WELD-08", _with(name, url=other.url, body=other.body)))
        name = f"other operation {other.path} with the same body"
        found.append(Change(name, "target", "RAIL-WELD-08", _with(name, url=other.url)))
    for suffix, what in (("/", "a slash"), ("//", "two slashes"), ("/.", "a dot"), (";v=1", "a path parameter")):
        name = f"path with {what} at its end"
        url = material.operation.url + suffix
        found.append(Change(name, "target", "RAIL-WELD-08", _with(name, url=url)))
    return found


def _bodies(material: Material) -> list[Change]:
    found = []
    for number, body in enumerate(material.bodies, start=1):
        name = f"other body {number}"
        found.append(Change(name, "body", "RAIL-WELD-09", _with(name, body=body)))
    for body, what in (({}, "an empty object"), (None, "no body"), ([], "an array")):
        name = f"other body: {what}"
        found.append(Change(name, "body", "RAIL-WELD-09", _with(name, body=body)))
    return found


def _methods_and_queries() -> list[Change]:
    found = []
    for method in ("GET", "PUT", "PATCH", "DELETE", "HEAD", "PURGE"):
        name = f"method {method}"
        found.append(Change(name, "method", "RAIL-WELD-10", _with(name, method=method)))
    for query in ("x=1", "a=b&a=c", "%00", "dry_run=true", "x402=0", "&"):
        name = f"query {query}"
        found.append(Change(name, "query", "RAIL-WELD-10", _with(name, query=query)))
    return found


def _references(material: Material) -> list[Change]:
    found = []
    member = material.token_member
    for number, token in enumerate(material.live_tokens, start=1):
        name = f"reference of live challenge {number}"
        found.append(Change(name, "reference", "RAIL-WELD-15", _proof(name, **{member: token})))
    name = "reference of another payment"
    found.append(Change(name, "reference", "RAIL-WELD-15", _proof(name, **{member: material.second.get(member)})))
    for payment in (material.payment_members, *((one,) for one in material.payment_members[:-1])):
        name = f"{' and '.join(payment)} of another payment"
        others = {one: material.second.get(one) for one in payment}
        found.append(Change(name, "transaction", "RAIL-WELD-15", _proof(name, **others)))
    if material.invented is not None:
        name = "a transaction that was never sent"
        found.append(Change(name, "transaction", "RAIL-WELD-15", _proof(name, tx_id=material.invented)))
    return found


def _lanes(material: Material) -> list[Change]:
    """Return the axis of the other lane: its token, its member names, its network."""
    found = []
    mine, other = material.token_member, _OTHER_TOKEN_MEMBER[material.token_member]
    for lane, token in sorted(material.foreign_tokens.items()):
        for member in (mine, other):
            name = f"token of the lane {lane} as {member}"
            found.append(Change(name, "lane", "RAIL-WELD-15", _proof(name, **{member: token})))
    name = "token under the other shape's name"
    found.append(Change(name, "lane", "RAIL-WELD-15", _renamed(name, mine, other)))
    name = "both shapes at once"
    found.append(Change(name, "lane", "RAIL-WELD-15", _proof(name, **_shape_of_another_lane(material))))
    return found


_OTHER_TOKEN_MEMBER = {"payment_reference": "challenge_token", "challenge_token": "payment_reference"}


def _shape_of_another_lane(material: Material) -> dict[str, Any]:
    token = material.second.get(material.token_member)
    if "authorization" in material.second:
        return {"tx_id": "A" * 52, "payment_reference": token}
    return {"authorization": {}, "signature": "0x" + "11" * 65, "challenge_token": token}


def _renamed(name: str, old: str, new: str) -> Callable[[Replay], Replay]:
    def apply(one: Replay) -> Replay:
        members = {new if member == old else member: value for member, value in one.proof.items()}
        return one.changed(name, proof=members)

    return apply


def _texts(material: Material) -> list[Change]:
    found = []
    for cut in (1, 4, 16, 40):
        name = f"header cut by {cut}"
        found.append(Change(name, "cut", "RAIL-WELD-11", _with(name, cut=cut)))
    for number, text in enumerate(material.spellings, start=1):
        name = f"transaction id in spelling {number}"
        found.append(Change(name, "transaction", "RAIL-WELD-11", _proof(name, tx_id=text)))
    for member in (material.payment_members[-1], material.token_member):
        for name, edit in _EDITS.items():
            if edit(str(material.second.get(member, ""))) == material.second.get(member):
                continue
            full = f"{member} {name}"
            axis = "reference" if member == material.token_member else "transaction"
            found.append(Change(full, axis, "RAIL-WELD-11", _edited(full, member, edit)))
    return found + (_authorizations() if "authorization" in material.payment_members else [])


def _authorizations() -> list[Change]:
    """Return changes inside an authorization: other spellings of the same members, and other members."""
    found = []
    for name, edit in _AUTHORIZATION_EDITS.items():
        full = f"authorization with {name}"
        found.append(Change(full, "transaction", "RAIL-WELD-11", _inside(full, edit)))
    return found


def _inside(name: str, edit: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Replay], Replay]:
    return lambda one: one.changed(name, proof={**one.proof, "authorization": edit(one.proof["authorization"])})


def _lettered(edit: Callable[[str], str], *members: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda given: {**given, **{one: "0x" + edit(str(given.get(one, ""))[2:]) for one in members}}


_AUTHORIZATION_EDITS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "the nonce in upper case": _lettered(str.upper, "nonce"),
    "addresses in upper case": _lettered(str.upper, "from", "to"),
    "addresses in lower case": _lettered(str.lower, "from", "to"),
    "numbers as integers": lambda given: {
        name: int(value) if str(value).isdecimal() and len(str(value)) < 20 else value for name, value in given.items()
    },
    "numbers with a leading zero": lambda given: {**given, "value": f"0{given.get('value')}"},
    "numbers in hexadecimal": lambda given: {**given, "value": hex(int(str(given.get("value", 0))))},
    "a later end": lambda given: {**given, "validBefore": str(int(str(given.get("validBefore", 0))) + 1)},
    "an earlier begin": lambda given: {**given, "validAfter": str(int(str(given.get("validAfter", 0))) + 1)},
    "another nonce": lambda given: {**given, "nonce": "0x" + "5a" * 32},
    "a further member": lambda given: {**given, "memo": "x"},
    "no nonce": lambda given: {name: value for name, value in given.items() if name != "nonce"},
}


# Other texts for one member. A spent payment must not be accepted under another spelling of its id or token.
_EDITS: Mapping[str, Callable[[str], str]] = {
    "cut by one": lambda text: text[:-1],
    "cut in half": lambda text: text[: len(text) // 2],
    "with a space after": lambda text: text + " ",
    "with a space before": lambda text: " " + text,
    "with a newline after": lambda text: text + "\n",
    "with NUL after": lambda text: text + "\0",
    "with padding": lambda text: text + "=" * (-len(text) % 8 or 4),
    "in lower case": str.lower,
    "in upper case": str.upper,
    "with the other case": str.swapcase,
    "twice": lambda text: text + text,
    "behind 0x": lambda text: "0x" + text,
}


def _edited(name: str, member: str, edit: Callable[[str], str]) -> Callable[[Replay], Replay]:
    return lambda one: one.changed(name, proof={**one.proof, member: edit(str(one.proof.get(member, "")))})


def _headers() -> list[Change]:
    found = [Change("header twice", "header", "RAIL-WELD-11", _with("header twice", copies=2))]
    for header in ("x-payment", "X-Payment-Proof", "PAYMENT-SIGNATURE", "Authorization", "X_PAYMENT"):
        name = f"in the header {header}"
        found.append(Change(name, "header", "RAIL-WELD-11", _with(name, header=header)))
    return found
