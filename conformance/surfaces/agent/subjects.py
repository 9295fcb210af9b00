"""Signed messages that the suite makes for a run, with the key that the caller expects."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric import ed25519

from conformance.engine.check import Case
from conformance.oracles.message_signatures import signing, structured
from conformance.oracles.message_signatures.algorithms import ED25519, SigningKey
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.message import Fields, Message
from conformance.surfaces.agent.templates import KeyForm

BODY = b'{"order":7,"items":["a","b"]}'
TARGET = "/orders/7?expand=items&page=2"
# Fields of a usual request. The date is fixed: the age of a signature is its own parameter, not the Date.
FIELDS: Fields = (
    ("Date", "Wed, 01 Jan 2025 00:00:00 GMT"),
    ("Content-Type", "application/json"),
    ("Accept", "application/json"),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A signed message about which an agent is asked.

    Attributes:
        message: The message with its signature.
        key: The 32 bytes of the key that the caller expects, or None.
        form: The form in which the key is sent.
        base: The signature base that was signed.
        components: Identifiers of the covered components, in signed order, without quotes and parameters.
        parameters: Signature parameters, in signed order.
    """

    message: Message
    key: bytes | None
    form: KeyForm = "hex"
    base: str = ""
    components: tuple[str, ...] = ()
    parameters: Mapping[str, structured.BareItem] | None = None

    def with_changes(self, **members: object) -> Subject:
        """Return the subject with members of its message changed after it was signed."""
        return replace(self, message=replace(self.message, **members))  # type: ignore[arg-type]

    def with_field(self, name: str, value: str | None) -> Subject:
        """Return the subject with a field changed, added, or (None) taken away after it was signed."""
        headers = tuple(pair for pair in self.message.headers if pair[0].lower() != name.lower())
        return self.with_changes(headers=headers if value is None else (*headers, (name, value)))

    def with_expected_key(self, key: bytes | None, form: KeyForm = "hex") -> Subject:
        """Return the subject with another expected key."""
        return replace(self, key=key, form=form)


def signer(case: Case) -> SigningKey:
    """Return a fresh Ed25519 key, drawn from the run's seed."""
    return SigningKey((ED25519,), ed25519.Ed25519PrivateKey.from_private_bytes(case.rng.randbytes(32)))


def raw_public(key: SigningKey) -> bytes:
    """Return the 32 bytes of a key's public half."""
    material = key.public.material
    assert isinstance(material, bytes)  # noqa: S101 - an Ed25519 key of our own
    return material


def name_signature(case: Case, raw: bytes) -> None:
    """Give a signature a name in the log, because it differs from run to run."""
    # In a field the signature follows a colon. With the colon, the text begins a word, which a name
    # must.
    case.client.names.name(":" + base64.b64encode(raw).decode().rstrip("="), "SIGNATURE")


def subject(
    case: Case,
    key: SigningKey | None = None,
    *,
    method: str = "POST",
    target: str = TARGET,
    authority: str = "api.example.org",
    fields: Fields = FIELDS,
    body: bytes = BODY,
    algorithm: str | None = "sha-256",
    components: Sequence[str | Component] | None = None,
    parameters: Mapping[str, structured.BareItem] | None = None,
    label: str = "sig1",
) -> Subject:
    """Return a valid message, signed now.

    Args:
        case: The case whose randomness makes the key and whose log gets the names of live values.
        key: The signing key; a new one if None.
        method: Its method.
        target: Its path and query.
        authority: Its authority.
        fields: Its fields, without digest and signature.
        body: Its content.
        algorithm: Algorithm of its Content-Digest; None for a message without one.
        components: The covered components; by default method, authority, path, query and the digest.
        parameters: Signature parameters in addition to `created`.
        label: The signature's label.
    """
    # A key for each message keeps one check's key from being known to another.
    owner = key or signer(case)
    digest = (("Content-Digest", digest_value(body, algorithm)),) if body and algorithm else ()
    message = Message(method=method, authority=authority, target=target, headers=(*fields, *digest), body=body)
    given_components = [one if isinstance(one, Component) else Component(one) for one in components or ()]
    component_list = tuple(given_components) if components is not None else signing.default_components(message)
    creation_time = int(time.time())
    while case.client.names.stands_for_another(
        str(creation_time), "CREATED"
    ):  # for example the end of an authorization
        creation_time -= 1
    case.client.names.name(str(creation_time), "CREATED")
    outcome = signing.sign(
        message, owner, component_list, {"created": creation_time, **(parameters or {})}, label=label
    )
    name_signature(case, outcome.signature)
    return Subject(
        message=outcome.message,
        key=raw_public(owner),
        base=outcome.base,
        components=tuple(one.name for one in component_list),
        parameters=dict(outcome.coverage.parameters),
    )
