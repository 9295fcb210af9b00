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


def encode_standard(proof: Mapping[str, Any]) -> str:
    """Return the usual text of the header: standard base64 of compact JSON."""
    return base64.b64encode(_encode_json(proof)).decode()


def _encode_json(proof: Mapping[str, Any]) -> bytes:
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
    encode: Callable[[Mapping[str, Any]], str] = encode_standard
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

    def change(self, name: str, **members: Any) -> Replay:
        """Return the replay with one more change."""
        return replace(self, **members, changes=(*self.changes, name))


@dataclass(frozen=True, slots=True)
class Material:
    """The material for the changes.

    Attributes:
        operation: The operation that was bought.
        other_operations: The other paid operations.
        bodies: Other bodies that the operation accepts.
        live_tokens: Tokens of live challenges: of the same request, and of other operations.
        second_proof: The proof of another purchase of the operation; its members show the form of the lane's proofs.
        spellings: Other spellings of the transaction's id.
        foreign_tokens: Live tokens of the same request on other lanes, by lane.
    """

    operation: Operation
    other_operations: Sequence[Operation]
    bodies: Sequence[Any]
    live_tokens: Sequence[str]
    second_proof: Mapping[str, Any]
    spellings: Sequence[str]
    foreign_tokens: Mapping[str, str] = field(default_factory=dict)

    @property
    def token_member(self) -> str:
        """Name of the proof's member that holds the challenge token (P-LN-01)."""
        return "challenge_token" if "challenge_token" in self.second_proof else "payment_reference"

    @property
    def payment_members(self) -> tuple[str, ...]:
        """Names of the proof's members that hold the payment."""
        return ("authorization", "signature") if "authorization" in self.second_proof else ("tx_id",)

    @property
    def invented_id(self) -> str | None:
        """A transaction id that was never sent; None if the proof has no transaction."""
        text = self.second_proof.get("tx_id")
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


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _encode_with_escapes(proof: Mapping[str, Any]) -> str:
    text = _encode_json(proof).decode()
    value = str(proof.get("tx_id") or proof.get("signature") or "")
    return _encode_base64(text.replace(value, "".join(f"\\u{ord(one):04x}" for one in value)).encode())


# The same proof in other bytes. A rail that records spent proofs by the header's text serves such a spelling again.
# Some are invalid, and must be refused or read as the same proof.
ENCODINGS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    # The added member makes sure that the text has `-` and `_`, in which base64url differs from base64.
    "base64url": lambda proof: base64.urlsafe_b64encode(_encode_json({**proof, "memo": "?~>?~>"})).decode(),
    "without padding": lambda proof: encode_standard(proof).rstrip("="),
    "padding twice": lambda proof: encode_standard(proof) + "=",
    "a space inside": lambda proof: encode_standard(proof)[:20] + " " + encode_standard(proof)[20:],
    "a tab at the end": lambda proof: encode_standard(proof) + "\t",
    "quoted": lambda proof: f'"{encode_standard(proof)}"',
    "percent-encoded": lambda proof: quote(encode_standard(proof), safe=""),
    "members the other way round": lambda proof: encode_standard(dict(reversed(list(proof.items())))),
    "white space in the JSON": lambda proof: _encode_base64(json.dumps(proof, indent=2).encode()),
    "an extra member": lambda proof: encode_standard({**proof, "memo": "x"}),
    "a network member of another lane": lambda proof: encode_standard({**proof, "network": "eip155:8453"}),
    "escapes in the JSON": _encode_with_escapes,
    "a byte order mark": lambda proof: _encode_base64(b"\xef\xbb\xbf" + _encode_json(proof)),
    "UTF-16": lambda proof: _encode_base64(_encode_json(proof).decode().encode("utf-16")),
    "base64 twice": lambda proof: _encode_base64(encode_standard(proof).encode()),
    "hexadecimal": lambda proof: _encode_json(proof).hex(),
    "inside an array": lambda proof: _encode_base64(b"[" + _encode_json(proof) + b"]"),
    # Parsers disagree on which of two equal members counts, so a guard and the redeemer may read different proofs.
    "duplicate members": lambda proof: _encode_base64(_encode_json(proof)[:-1] + b"," + _encode_json(proof)[1:]),
    "a trailing newline in the JSON": lambda proof: _encode_base64(_encode_json(proof) + b"\n"),
    "in lower case": lambda proof: encode_standard(proof).lower(),
    "member names in upper case": lambda proof: encode_standard({name.upper(): value for name, value in proof.items()}),
}


def list_changes(material: Material) -> list[Change]:
    """Return every single change of a captured success, in a fixed order, because the seed draws pairs from it."""
    return [
        *_change_operation(material),
        *_change_body(material),
        *_change_method_or_query(),
        *_change_reference(material),
        *_change_lane(material),
        *_change_text(material),
        *(
            Change(f"re-encoded: {name}", "encoding", "RAIL-WELD-11", _change_encoding(name, encode))
            for name, encode in ENCODINGS.items()
        ),
        *_change_header(),
    ]


def _change_encoding(name: str, encode: Callable[[Mapping[str, Any]], str]) -> Callable[[Replay], Replay]:
    return lambda one: one.change(f"re-encoded: {name}", encode=encode)


def _change_fields(name: str, **members: Any) -> Callable[[Replay], Replay]:
    return lambda one: one.change(name, **members)


def _change_proof(name: str, **members: Any) -> Callable[[Replay], Replay]:
    return lambda one: one.change(name, proof={**one.proof, **members})


def _change_operation(material: Material) -> list[Change]:
    changes_found = []
    for other_operation in material.other_operations:
        name = f"other operation {other_operation.path}"
        changes_found.append(
            Change(
                name, "target", "RAIL-WELD-08", _change_fields(name, url=other_operation.url, body=other_operation.body)
            )
        )
        name = f"other operation {other_operation.path} with the same body"
        changes_found.append(Change(name, "target", "RAIL-WELD-08", _change_fields(name, url=other_operation.url)))
    for suffix, suffix_name in (("/", "a slash"), ("//", "two slashes"), ("/.", "a dot"), (";v=1", "a path parameter")):
        name = f"path with {suffix_name} at its end"
        url = material.operation.url + suffix
        changes_found.append(Change(name, "target", "RAIL-WELD-08", _change_fields(name, url=url)))
    return changes_found


def _change_body(material: Material) -> list[Change]:
    changes_found = []
    for number, body in enumerate(material.bodies, start=1):
        name = f"other body {number}"
        changes_found.append(Change(name, "body", "RAIL-WELD-09", _change_fields(name, body=body)))
    for body, body_name in (({}, "an empty object"), (None, "no body"), ([], "an array")):
        name = f"other body: {body_name}"
        changes_found.append(Change(name, "body", "RAIL-WELD-09", _change_fields(name, body=body)))
    return changes_found


def _change_method_or_query() -> list[Change]:
    changes_found = []
    # PURGE is no standard method. A router that treats unknown methods like POST serves it.
    for method in ("GET", "PUT", "PATCH", "DELETE", "HEAD", "PURGE"):
        name = f"method {method}"
        changes_found.append(Change(name, "method", "RAIL-WELD-10", _change_fields(name, method=method)))
    # Among them are words by which servers switch off a payment or an effect.
    for query in ("x=1", "a=b&a=c", "%00", "dry_run=true", "x402=0", "&"):
        name = f"query {query}"
        changes_found.append(Change(name, "query", "RAIL-WELD-10", _change_fields(name, query=query)))
    return changes_found


def _change_reference(material: Material) -> list[Change]:
    changes_found = []
    member = material.token_member
    for number, token in enumerate(material.live_tokens, start=1):
        name = f"reference of live challenge {number}"
        changes_found.append(Change(name, "reference", "RAIL-WELD-15", _change_proof(name, **{member: token})))
    name = "reference of another payment"
    changes_found.append(
        Change(name, "reference", "RAIL-WELD-15", _change_proof(name, **{member: material.second_proof.get(member)}))
    )
    for payment in (material.payment_members, *((one,) for one in material.payment_members[:-1])):
        name = f"{' and '.join(payment)} of another payment"
        other_members = {one: material.second_proof.get(one) for one in payment}
        changes_found.append(Change(name, "transaction", "RAIL-WELD-15", _change_proof(name, **other_members)))
    if material.invented_id is not None:
        name = "a transaction that was never sent"
        changes_found.append(
            Change(name, "transaction", "RAIL-WELD-15", _change_proof(name, tx_id=material.invented_id))
        )
    return changes_found


def _change_lane(material: Material) -> list[Change]:
    """Return the axis of the other lane: its token, its member names, its network."""
    changes_found = []
    own_member, other_member = material.token_member, _OTHER_TOKEN_MEMBER[material.token_member]
    for lane, token in sorted(material.foreign_tokens.items()):
        for member in (own_member, other_member):
            name = f"token of the lane {lane} as {member}"
            changes_found.append(Change(name, "lane", "RAIL-WELD-15", _change_proof(name, **{member: token})))
    name = "token under the other shape's name"
    changes_found.append(Change(name, "lane", "RAIL-WELD-15", _rename_member(name, own_member, other_member)))
    name = "both shapes at once"
    changes_found.append(Change(name, "lane", "RAIL-WELD-15", _change_proof(name, **_other_lane_members(material))))
    return changes_found


_OTHER_TOKEN_MEMBER = {"payment_reference": "challenge_token", "challenge_token": "payment_reference"}


def _other_lane_members(material: Material) -> dict[str, Any]:
    token = material.second_proof.get(material.token_member)
    if "authorization" in material.second_proof:
        return {"tx_id": "A" * 52, "payment_reference": token}
    return {"authorization": {}, "signature": "0x" + "11" * 65, "challenge_token": token}


def _rename_member(name: str, old: str, new: str) -> Callable[[Replay], Replay]:
    def apply(replay: Replay) -> Replay:
        members = {new if member == old else member: value for member, value in replay.proof.items()}
        return replay.change(name, proof=members)

    return apply


def _change_text(material: Material) -> list[Change]:
    changes_found = []
    for cut in (1, 4, 16, 40):
        name = f"header cut by {cut}"
        changes_found.append(Change(name, "cut", "RAIL-WELD-11", _change_fields(name, cut=cut)))
    for number, text in enumerate(material.spellings, start=1):
        name = f"transaction id in spelling {number}"
        changes_found.append(Change(name, "transaction", "RAIL-WELD-11", _change_proof(name, tx_id=text)))
    for member in (material.payment_members[-1], material.token_member):
        for name, edit in _EDITS.items():
            if edit(str(material.second_proof.get(member, ""))) == material.second_proof.get(member):
                continue
            full_name = f"{member} {name}"
            axis = "reference" if member == material.token_member else "transaction"
            changes_found.append(Change(full_name, axis, "RAIL-WELD-11", _edit_member(full_name, member, edit)))
    return changes_found + (_change_authorization() if "authorization" in material.payment_members else [])


def _change_authorization() -> list[Change]:
    """Return changes inside an authorization: other spellings of the same members, and other members."""
    changes_found = []
    for name, edit in _AUTHORIZATION_EDITS.items():
        full_name = f"authorization with {name}"
        changes_found.append(Change(full_name, "transaction", "RAIL-WELD-11", _edit_authorization(full_name, edit)))
    return changes_found


def _edit_authorization(
    name: str, edit: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Callable[[Replay], Replay]:
    return lambda one: one.change(name, proof={**one.proof, "authorization": edit(one.proof["authorization"])})


def _change_letters(edit: Callable[[str], str], *members: str) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda authorization: {
        **authorization,
        **{one: "0x" + edit(str(authorization.get(one, ""))[2:]) for one in members},
    }


# Two kinds of changes of an authorization. The first six write the same values in another way: the signature still
# holds, so a rail that compares texts could take a spent authorization for a new one. The others change a value, which
# the signature no longer covers.
_AUTHORIZATION_EDITS: Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "the nonce in upper case": _change_letters(str.upper, "nonce"),
    "addresses in upper case": _change_letters(str.upper, "from", "to"),
    "addresses in lower case": _change_letters(str.lower, "from", "to"),
    # Numbers of 20 and more digits stay texts, because a JSON parser may read them as floats.
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
    # Base32 and base64 decoders accept padding that the canonical form of an id does not have.
    "with padding": lambda text: text + "=" * (-len(text) % 8 or 4),
    "in lower case": str.lower,
    "in upper case": str.upper,
    "with the other case": str.swapcase,
    "twice": lambda text: text + text,
    "behind 0x": lambda text: "0x" + text,
}


def _edit_member(name: str, member: str, edit: Callable[[str], str]) -> Callable[[Replay], Replay]:
    return lambda replay: replay.change(name, proof={**replay.proof, member: edit(str(replay.proof.get(member, "")))})


def _change_header() -> list[Change]:
    changes_found = [Change("header twice", "header", "RAIL-WELD-11", _change_fields("header twice", copies=2))]
    # Other names under which a server might read a proof, and then see it as a new one.
    for header in ("x-payment", "X-Payment-Proof", "PAYMENT-SIGNATURE", "Authorization", "X_PAYMENT"):
        name = f"in the header {header}"
        changes_found.append(Change(name, "header", "RAIL-WELD-11", _change_fields(name, header=header)))
    return changes_found
