"""Signing: the covered list, the parameters, the base, the two header fields (RFC 9421, 3.1 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.algorithms import SigningKey
from conformance.oracles.message_signatures.base import Coverage, signature_base
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import FIELD, digest_value
from conformance.oracles.message_signatures.message import Message


class CannotSign(ValueError):
    """A message, list or key that cannot be signed with; the sentence says what to change."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message with its new signature.

    Attributes:
        message: The message, its signature added after those it already had.
        label: The signature's label.
        coverage: What it covers.
        base: The signature base.
        signature: The signature's bytes.
        algorithm: The algorithm used.
    """

    message: Message
    label: str
    coverage: Coverage
    base: str
    signature: bytes
    algorithm: str


def default_components(message: Message) -> tuple[Component, ...]:
    """Return what is worth covering in a message (P-SG-02); of a response, its status."""
    names = ["@status"] if message.is_response else ["@method", "@authority", "@path"]
    if not message.is_response and message.query is not None:
        # A message without a query has no @query to lose, and covering it would only make the
        # list longer.
        names.append("@query")
    if message.body or message.field(FIELD) is not None:
        names.append(FIELD)
    return tuple(Component(name) for name in names)


def with_digest(message: Message) -> Message:
    """Return a message whose content, if any, has a Content-Digest."""
    if not message.body or message.field(FIELD) is not None:
        return message
    return replace(message, headers=(*message.headers, ("Content-Digest", digest_value(message.body))))


def sign(
    message: Message,
    key: SigningKey,
    components: Sequence[Component],
    parameters: Mapping[str, structured.BareItem],
    *,
    label: str = "sig",
    algorithm: str | None = None,
) -> SignedMessage:
    """Sign a message.

    Args:
        message: The message; a Content-Digest is not added here.
        key: The key.
        components: What to cover, in order.
        parameters: Signature parameters, in order.
        label: Label of the signature.
        algorithm: Algorithm where the key fits several; default its first.

    Raises:
        CannotSign: A component is not in the message, the label is no key or taken, or the key is for something else.
    """
    coverage = Coverage(tuple(components), tuple(parameters.items()))
    base = signature_base(message, coverage)
    if base.text is None:
        raise CannotSign("; ".join(fault.text for fault in base.faults))
    chosen_algorithm = algorithm or key.algorithms[0]
    try:
        signature = key.sign(chosen_algorithm, base.text.encode("ascii"))
    except ValueError as fault:
        raise CannotSign(str(fault)) from fault
    return SignedMessage(
        attach(message, label, str(coverage), signature), label, coverage, base.text, signature, chosen_algorithm
    )


def attach(message: Message, label: str, signature_input: str, signature: bytes) -> Message:
    """Return a message with one further signature, on new field lines at the end.

    Raises:
        CannotSign: The label is no key of a dictionary, or the message has it already.
    """
    try:
        existing_members = structured.read_dictionary(message.field("signature-input") or "")
        structured.read_dictionary(f"{label}={structured.write_bare(signature)}")
    except structured.Malformed as fault:
        raise CannotSign(f"label {label!r} or the signatures already there: {fault}") from fault
    # A second signature under the same label would replace the first one.
    if label in existing_members:
        raise CannotSign(f"the message already has a signature labelled {label}; choose another label")
    signature_fields = (
        ("Signature-Input", f"{label}={signature_input}"),
        ("Signature", f"{label}={structured.write_bare(signature)}"),
    )
    # Field lines are added at the end, because reordering the others could break their
    # signatures.
    return replace(message, headers=(*message.headers, *signature_fields))
