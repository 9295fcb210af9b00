"""The messages and parties that vectors are made of."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from conformance.oracles.message_signatures import signature_headers as headers
from conformance.oracles.message_signatures import structured, verify_request_members
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey
from conformance.oracles.message_signatures.base import signature_base
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.faults import Code
from conformance.oracles.message_signatures.keys import did_key
from conformance.vectors import OWN_ORIGIN
from conformance.vectors.judges.message_signatures import judge
from tools.vectors_builder.drafting import VALID, Draft

Members = dict[str, Any]

SEED: Final = "weldproof vectors of message signatures, 1"
CREATED: Final = 1_735_689_600
PARAMETERS: Final = f';created={CREATED};keyid="alice"'
BODY: Final = b'{"item":7,"quantity":2}'
EVERYWHERE: Final = ("agent", "offline")
OFFLINE: Final = ("offline",)


@dataclass(frozen=True, slots=True)
class Party:
    """A signer with an Ed25519 key made from the seed and a name."""

    name: str

    @property
    def seed(self) -> bytes:
        """The key's 32 secret bytes."""
        return hashlib.sha256(f"{SEED}: {self.name}".encode()).digest()

    @property
    def key(self) -> SigningKey:
        """The signing key."""
        return SigningKey((ED25519,), Ed25519PrivateKey.from_private_bytes(self.seed))

    @property
    def raw(self) -> bytes:
        """The public key's 32 bytes."""
        return Ed25519PrivateKey.from_private_bytes(self.seed).public_key().public_bytes_raw()

    @property
    def hex(self) -> dict[str, str]:
        """The public key as members, in hex."""
        return {"algorithm": ED25519, "public_key_hex": self.raw.hex()}

    @property
    def did(self) -> dict[str, str]:
        """The public key as members, as did:key."""
        return {"algorithm": ED25519, "did_key": did_key(self.raw)}


ALICE: Final = Party("alice")
BOB: Final = Party("bob")


def draft_message(
    kind: str,
    variant: str,
    message: Members,
    why: str,
    requirements: tuple[str, ...],
    codes: tuple[Code, ...] = (),
    fault: str | None = None,
    *,
    key: Mapping[str, str],
    policy: Mapping[str, Any] | None = None,
    pins: tuple[str, ...] = (),
    doors: tuple[str, ...] = EVERYWHERE,
    origin: str = OWN_ORIGIN,
) -> Draft:
    """Return a draft of a message; its base is what the suite makes of it, and other libraries are asked about that.

    Args:
        kind: Step and fault, `valid/…` for a message that holds, `rfc/…` for an example of the RFC.
        variant: The difference from others of its kind.
        message: Members of profile 6.2.
        why: Why it is worth having.
        requirements: Rows of the ledger.
        codes: The faults' codes, none for a message that holds.
        fault: The one fault in a sentence.
        key: The expected key's members.
        policy: Policy members of profile 6.2.
        pins: Clauses of the profile without which the verdict would not follow.
        doors: An agent's two endpoints, or only a verifier that is given more than they take.
        origin: Who made it.
    """
    vector_input = {"message": message, "key": dict(key), "policy": dict(policy or {})}
    group, _, name = kind.partition("/")
    clauses = (*pins, *_of_form(message))
    return Draft(
        stage=codes[0].step if codes else VALID,
        fault_name=name,
        variant=variant,
        input=vector_input,
        why=why,
        requirements=requirements,
        fault=fault,
        codes=tuple(codes),
        values=judge(vector_input).values,
        pinned_members=(*(["valid"] if clauses else []), *(["stage", "codes"] if codes else [])),
        pins=clauses,
        doors=doors,
        origin=origin,
        group=group,
    )


def _of_form(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the clauses that a message's form rests on: another agent may take it for no request at all."""
    values = message["headers"].values()
    if any(isinstance(value, list) for value in values):
        yield "profile 6.2 headers as arrays"
    if "status" in message:
        yield "profile 6.2 status"
    if not message["path"].startswith("/"):
        yield "profile 6.2 path, empty too"
    text = "".join(value for value in values if isinstance(value, str))
    if not text.isascii() or any(letter < " " and letter != "\t" for letter in text):
        yield "profile 6.2 headers of any text"


def draft_refusal(
    kind: str, variant: str, message: Members, code: Code, fault: str, why: str, *rows: str, **more: Any
) -> Draft:
    """Return a vector with one fault, under Alice's key unless another is given."""
    requirements = tuple(dict.fromkeys(("AGENT-VERIFY-03", *rows)))
    members_ = {"key": ALICE.hex, **more}
    return draft_message(kind, variant, message, why, requirements, (code,), fault, **members_)


def holds(kind: str, variant: str, message: Members, why: str, *rows: str, **more: Any) -> Draft:
    """Return a vector that holds, under Alice's key unless another is given."""
    requirements = tuple(dict.fromkeys(("AGENT-VERIFY-01", "AGENT-EXPLAIN-02", *rows)))
    return draft_message(f"valid/{kind}", variant, message, why, requirements, **{"key": ALICE.hex, **more})


def get(**changes: Any) -> Members:
    """Return a request without content."""
    message: Members = {
        "method": "GET",
        "authority": "api.example.org",
        "path": "/orders/7?expand=items&page=2",
        "headers": {"Accept": "application/json", "Date": "Wed, 01 Jan 2025 00:00:00 GMT"},
    }
    return {**message, **changes}


def post(body: bytes = BODY, **changes: Any) -> Members:
    """Return a request with content and its digest."""
    message: Members = {
        "method": "POST",
        "authority": "api.example.org",
        "path": "/orders",
        "headers": {
            "Date": "Wed, 01 Jan 2025 00:00:00 GMT",
            "Content-Type": "application/json",
            "Content-Digest": digest_value(body),
        },
        "body_b64": base64.b64encode(body).decode("ascii"),
    }
    return {**message, **changes}


def with_headers(message: Members, *names_to_remove: str, **new_headers: str | list[str]) -> Members:
    """Return a message with header fields removed and added or replaced; `_` in a name stands for `-`."""
    new = {name.replace("_", "-").title(): value for name, value in new_headers.items()}
    dropped_names = {name.lower() for name in (*names_to_remove, *new)}
    other_headers = {name: value for name, value in message["headers"].items() if name.lower() not in dropped_names}
    return {**message, "headers": {**other_headers, **new}}


def with_body(message: Members, body: bytes) -> Members:
    """Return a message with another content and everything else as it was."""
    return {**message, "body_b64": base64.b64encode(body).decode("ascii")}


def sign(
    message: Members,
    components: str,
    parameters: str = PARAMETERS,
    *,
    by: Party | SigningKey = ALICE,
    label: str = "sig1",
    algorithm: str | None = None,
) -> Members:
    """Return a message with a true signature over components, which are given as in Signature-Input.

    Raises:
        ValueError: A component is not in the message: the vector's author is wrong.
    """
    text = f"({components}){parameters}"
    coverage = headers.read_coverage(label, structured.read_dictionary(f"{label}={text}")[label])
    base = signature_base(verify_request_members.message_of(message), coverage, parameters_as_components=True)
    if base.text is None:
        raise ValueError(f"{text}: {base.faults}")
    return attach_signature(message, text, base.text, by=by, label=label, algorithm=algorithm)


def forge(
    message: Members,
    lines: Sequence[tuple[str, str]],
    parameters: str = PARAMETERS,
    *,
    by: Party | SigningKey = ALICE,
    label: str = "sig1",
) -> Members:
    """Return a message signed over lines that are given, as a careless signer and verifier would take them."""
    text = f"({' '.join(identifier for identifier, _ in lines)}){parameters}"
    rows = [*(f"{identifier}: {value}" for identifier, value in lines), f'"@signature-params": {text}']
    return attach_signature(message, text, "\n".join(rows), by=by, label=label)


def attach_signature(
    message: Members,
    signature_input: str,
    base: str,
    *,
    by: Party | SigningKey = ALICE,
    label: str = "sig1",
    algorithm: str | None = None,
) -> Members:
    """Return a message with a signature over any text, after the signatures that it has."""
    key = by.key if isinstance(by, Party) else by
    signature = key.sign(algorithm or key.algorithms[0], base.encode("latin-1"))
    return with_signature(message, f"{label}={signature_input}", f"{label}={structured.write_bare(signature)}")


def with_signature(message: Members, signature_input: str, signature: str) -> Members:
    """Return a message with the text of both fields, after the signatures that it has."""
    headers_by_name = {name.lower(): value for name, value in message["headers"].items()}
    signature_headers = {
        name: [*([before] if isinstance(before, str) else before), text] if before else text
        for name, text in (("Signature-Input", signature_input), ("Signature", signature))
        for before in [headers_by_name.get(name.lower())]
    }
    other_headers = {name: value for name, value in message["headers"].items() if name not in signature_headers}
    return {**message, "headers": {**other_headers, **signature_headers}}


def edit_header(message: Members, name: str, old: str, new: str) -> Members:
    """Return a message with a text inside a header field replaced once.

    Raises:
        ValueError: The text is not there.
    """
    value = message["headers"][name]
    if not isinstance(value, str) or old not in value:
        raise ValueError(f"{name} has no {old!r}")
    return {**message, "headers": {**message["headers"], name: value.replace(old, new, 1)}}


def signature_of(message: Members) -> bytes:
    """Return the bytes of a message's one signature."""
    return base64.b64decode(message["headers"]["Signature"].partition(":")[2].rstrip(":"))


def replace_signature(message: Members, signature: bytes) -> Members:
    """Return a message with other bytes as its one signature."""
    label = message["headers"]["Signature"].partition("=")[0]
    text = f"{label}={structured.write_bare(signature)}"
    return {**message, "headers": {**message["headers"], "Signature": text}}
