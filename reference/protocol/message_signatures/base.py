"""The signature base: one line a covered component, then the parameters (RFC 9421 section 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reference.protocol.message_signatures.components import derived
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.field_components import field_value
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import Component, SignatureInput

_COMPATIBILITY_NAMES = frozenset({"created", "expires"})
_OF_ANOTHER_PLACE = frozenset({"req", "tr"})


class Base(NamedTuple):
    """The signature base as far as it could be made.

    Attributes:
        text: Its text, in ASCII; a component that has no line is left out.
        values: The value of each covered component, in order; None for one that has no line.
        faults: What stood in the way.
    """

    text: str
    values: tuple[str | None, ...]
    faults: tuple[Fault, ...]


def build(message: Message, chosen: SignatureInput) -> Base:
    """Return the signature base of one labelled signature.

    Args:
        message: The message.
        chosen: What the signature covers, and its parameters.
    """
    values: list[str | None] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    if not chosen.components:
        faults.append(Fault("empty_components", "the signature covers nothing"))
    for component in chosen.components:
        identity = component.identity
        try:
            if identity in seen:
                raise Fault("duplicate_component", f"{component.identifier} is covered twice")
            seen.add(identity)
            value = _value(message, chosen, component)
            if not value.isprintable() or not value.isascii():
                _check_line(component, value)
            values.append(value)
        except Fault as fault:
            faults.append(fault)
            values.append(None)
    return Base(text_of(chosen.components, values, chosen.params_text), tuple(values), tuple(faults))


def text_of(components: Sequence[Component], values: Sequence[str | None], params_text: str) -> str:
    """Return the text of a base with these values; a component without one has no line."""
    pairs = zip(components, values)  # noqa: B905 - one of each, and to compare lengths takes as long as three lines
    lines = [f"{one.identifier}: {value}\n" for one, value in pairs if value is not None]
    return f'{"".join(lines)}"@signature-params": {params_text}'


def is_compatibility_name(message: Message, chosen: SignatureInput, component: Component) -> bool:
    """Return whether a component is the parameter `created` or `expires` under its own name (P-AG-07)."""
    return (
        component.name in _COMPATIBILITY_NAMES
        and not component.parameters
        and component.name in chosen.parameters
        and message.fields.combined(component.name) is None
    )


def _value(message: Message, chosen: SignatureInput, component: Component) -> str:
    name, given = component.name, component.parameters
    if not given:
        if name.startswith("@"):
            return derived(message, component)
        if name in _COMPATIBILITY_NAMES and is_compatibility_name(message, chosen, component):
            return str(chosen.parameters[name])
        return field_value(message.fields, component)
    source = message
    if not given.keys().isdisjoint(_OF_ANOTHER_PLACE):
        source = _source(message, component)
    if name.startswith("@"):
        return derived(source, component)
    return field_value(source.trailers if "tr" in given and source.trailers is not None else source.fields, component)


def _source(message: Message, component: Component) -> Message:
    """Return the message that a component with `req` or `tr` is of (RFC 9421 sections 2.1.4 and 2.4).

    Raises:
        Fault: unsupported_component when that message, or its trailers, are not known.
    """
    source = message if "req" not in component.parameters else message.related
    if source is None:
        raise Fault("unsupported_component", f"{component.identifier}: req needs a related request, which is not here")
    if "tr" in component.parameters and source.trailers is None:
        raise Fault("unsupported_component", f"{component.identifier}: tr needs trailers, which are not here")
    return source


def _check_line(component: Component, value: str) -> None:
    """Check that `value` can be part of a line of the base: ASCII, and no other control character than HTAB."""
    if not value.isascii() or not value.replace("\t", " ").isprintable():
        raise Fault("unsupported_component", f"{component.identifier}: the value is not one line of ASCII")
