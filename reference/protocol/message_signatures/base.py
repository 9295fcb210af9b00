"""The signature base: one line for each covered component, then the parameters (RFC 9421 section 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reference.protocol.message_signatures.components import derive_component
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.field_components import field_value
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import Component, SignatureInput

_COMPATIBILITY_NAMES = frozenset({"created", "expires"})
_SOURCE_PARAMETERS = frozenset({"req", "tr"})


class Base(NamedTuple):
    """The signature base as far as it could be built.

    Attributes:
        text: Its text, in ASCII; a component that has no line is left out.
        values: The value of each covered component, in order; None for one that has no line.
        faults: The reasons for missing lines.
    """

    text: str
    values: tuple[str | None, ...]
    faults: tuple[Fault, ...]


def build(message: Message, signature_input: SignatureInput) -> Base:
    """Return the signature base of one labelled signature.

    Args:
        message: The message.
        signature_input: What the signature covers, and its parameters.
    """
    values: list[str | None] = []
    faults: list[Fault] = []
    identities: set[str] = set()
    if not signature_input.components:
        faults.append(Fault("empty_components", "the signature covers nothing"))
    for component in signature_input.components:
        identity = component.identity
        try:
            # Two identifiers that differ only in the order of their parameters are the same component (RFC 9421 2),
            # so identities are compared and not texts.
            if identity in identities:
                raise Fault("duplicate_component", f"{component.identifier} is covered twice")
            identities.add(identity)
            value = _value(message, signature_input, component)
            if not value.isprintable() or not value.isascii():
                _check_line(component, value)
            values.append(value)
        except Fault as fault:
            faults.append(fault)
            # Building goes on after a fault, so that the caller learns all faults at once (6.3). A base without one
            # of its lines is never verified.
            values.append(None)
    return Base(text_of(signature_input.components, values, signature_input.params_text), tuple(values), tuple(faults))


def text_of(components: Sequence[Component], values: Sequence[str | None], params_text: str) -> str:
    """Return the text of a base with these values; a component without a value has no line."""
    pairs = zip(components, values)  # noqa: B905 - one of each, and to compare lengths takes as long as three lines
    lines = [f"{one.identifier}: {value}\n" for one, value in pairs if value is not None]
    return f'{"".join(lines)}"@signature-params": {params_text}'


def is_compatibility_name(message: Message, signature_input: SignatureInput, component: Component) -> bool:
    """Return whether a component is the parameter `created` or `expires` covered by its name (P-AG-07)."""
    return (
        component.name in _COMPATIBILITY_NAMES
        and not component.parameters
        and component.name in signature_input.parameters
        and message.fields.combine(component.name) is None
    )


def _value(message: Message, signature_input: SignatureInput, component: Component) -> str:
    name, parameters = component.name, component.parameters
    if not parameters:
        if name.startswith("@"):
            return derive_component(message, component)
        if name in _COMPATIBILITY_NAMES and is_compatibility_name(message, signature_input, component):
            return str(signature_input.parameters[name])
        return field_value(message.fields, component)
    source = message
    if not parameters.keys().isdisjoint(_SOURCE_PARAMETERS):
        source = _source(message, component)
    if name.startswith("@"):
        return derive_component(source, component)
    return field_value(
        source.trailers if "tr" in parameters and source.trailers is not None else source.fields, component
    )


def _source(message: Message, component: Component) -> Message:
    """Return the message that a component with `req` or `tr` belongs to (RFC 9421 sections 2.1.4 and 2.4).

    Raises:
        Fault: unsupported_component when that message, or its trailers, are not known.
    """
    source = message if "req" not in component.parameters else message.related_request
    if source is None:
        raise Fault("unsupported_component", f"{component.identifier}: req needs a related request, which is not here")
    if "tr" in component.parameters and source.trailers is None:
        raise Fault("unsupported_component", f"{component.identifier}: tr needs trailers, which are not here")
    return source


def _check_line(component: Component, value: str) -> None:
    """Check that `value` can be part of a line of the base: ASCII, and no other control character than HTAB."""
    # A line break in a value could add lines to the base, and so move text from a field into a component that the
    # signer never covered (P-AG-02).
    if not value.isascii() or not value.replace("\t", " ").isprintable():
        raise Fault("unsupported_component", f"{component.identifier}: the value is not one line of ASCII")
