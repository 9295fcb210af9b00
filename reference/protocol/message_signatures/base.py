"""The signature base: one line a covered component, then the parameters (RFC 9421 section 2.5)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import http_sf
from http_sf.list import ser_list
from http_sf.retrofit import retrofit

from reference.protocol.message_signatures.components import DERIVED, query_parameter
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.request import MessageRequest
from reference.protocol.message_signatures.signature_input import Component, Identity, SignatureInput

# The library's table of known structured fields, and those of RFC 9421 and RFC 9530.
_STRUCTURED: Mapping[str, str] = {
    **retrofit,
    **dict.fromkeys(("accept-signature", "signature", "signature-input"), "dictionary"),
    **dict.fromkeys(("content-digest", "repr-digest", "want-content-digest", "want-repr-digest"), "dictionary"),
}
_FIELD_PARAMETERS = frozenset({"sf", "key", "bs"})


@dataclass(frozen=True, slots=True)
class Base:
    """The signature base as far as it could be made.

    Attributes:
        text: Its text, in ASCII; a component that has no line is left out.
        faults: What stood in the way.
    """

    text: str
    faults: tuple[Fault, ...]


def build(
    request: MessageRequest,
    fields: Fields,
    chosen: SignatureInput,
    derived: Mapping[str, Callable[[MessageRequest], str]] = DERIVED,
) -> Base:
    """Return the signature base of one labelled signature.

    Args:
        request: The message.
        fields: Its fields.
        chosen: What the signature covers, and its parameters.
        derived: How derived components are made; another table than the standard's shows what a signer did wrong.
    """
    lines: list[str] = []
    faults: list[Fault] = []
    seen: set[Identity] = set()
    if not chosen.components:
        faults.append(Fault("empty_components", "the signature covers nothing"))
    for component in chosen.components:
        identity = component.identity
        try:
            if identity in seen:
                raise Fault("duplicate_component", f"{component.identifier} is covered twice")
            value = _value(request, fields, chosen, component, derived)
            lines.append(f"{component.identifier}: {_line(component, value)}")
        except Fault as fault:
            faults.append(fault)
        seen.add(identity)
    lines.append(f'"@signature-params": {chosen.params_text}')
    return Base("\n".join(lines), tuple(faults))


def is_compatibility_name(fields: Fields, chosen: SignatureInput, component: Component) -> bool:
    """Return whether a component is the parameter `created` or `expires` under its own name (P-AG-07)."""
    return (
        component.name in {"created", "expires"}
        and not component.parameters
        and component.name in chosen.parameters
        and fields.combined(component.name) is None
    )


def _value(
    request: MessageRequest,
    fields: Fields,
    chosen: SignatureInput,
    component: Component,
    derived: Mapping[str, Callable[[MessageRequest], str]],
) -> str:
    derive = derived.get(component.name)
    if derive is not None and not component.parameters:
        return derive(request)
    if component.parameters and not component.parameters.keys().isdisjoint({"req", "tr"}):
        raise Fault("unsupported_component", f"{component.identifier}: req and tr need a message that is not here")
    if component.name == "@query-param":
        return query_parameter(request, component)
    if component.name.startswith("@"):
        raise Fault("unsupported_component", f"{component.identifier} is not known")
    if is_compatibility_name(fields, chosen, component):
        return str(chosen.parameters[component.name])
    return _field(fields, component)


def _line(component: Component, value: str) -> str:
    """Return `value` when it can stand on a line of the base, which is ASCII and has no other control than HTAB."""
    if not value.isascii() or not (value.isprintable() or value.replace("\t", " ").isprintable()):
        raise Fault("unsupported_component", f"{component.identifier}: the value is not one line of ASCII")
    return value


def _field(fields: Fields, component: Component) -> str:
    if component.parameters or component.name != component.name.lower():
        _check(component)
    text = fields.combined(component.name)
    if text is None:
        raise Fault("missing_component", f"{component.identifier} is covered and absent from the message")
    if not component.parameters:
        return text
    if "key" in component.parameters:
        return _dictionary_member(fields, component)
    if "sf" in component.parameters:
        return _reserialised(fields, component)
    return _wrapped(fields, component)


def _check(component: Component) -> None:
    given = component.parameters
    flags_are_true = all(given.get(flag, True) is True for flag in ("sf", "bs"))
    if (
        component.name != component.name.lower()
        or not given.keys() <= _FIELD_PARAMETERS
        or not flags_are_true
        or type(given.get("key", "")) is not str
    ):
        raise Fault("unsupported_component", f"{component.identifier} is not known")
    if "bs" in given and len(given) > 1:
        raise Fault("unsupported_component", f"{component.identifier}: bs stands alone")


def _wrapped(fields: Fields, component: Component) -> str:
    """Return each value as a byte sequence; a character stands for the octet of its number."""
    try:
        octets = [value.encode("latin-1") for value in fields.values(component.name)]
    except UnicodeEncodeError as fault:
        raise Fault("unsupported_component", f"{component.identifier}: a value holds more than octets") from fault
    return ", ".join(f":{base64.b64encode(one).decode()}:" for one in octets)


def _reserialised(fields: Fields, component: Component) -> str:
    kind = _STRUCTURED.get(component.name)
    parsed = None if kind is None else fields.structured(component.name, kind)
    if not parsed:
        raise Fault("unsupported_component", f"{component.identifier}: not a known structured field, or malformed")
    return str(http_sf.ser(parsed))


def _dictionary_member(fields: Fields, component: Component) -> str:
    parsed = fields.structured(component.name, "dictionary")
    if parsed is None:
        raise Fault("unsupported_component", f"{component.identifier}: the field is no dictionary")
    member: Any = parsed.get(component.parameters["key"])
    if member is None:
        raise Fault("missing_component", f"{component.identifier}: the dictionary has no such key")
    return str(ser_list([member]))
