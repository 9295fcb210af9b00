"""Fields as a signature covers them: the value itself, or its form by sf, key or bs (RFC 9421 section 2.1; P-AG-02)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import http_sf
from http_sf.list import ser_list
from http_sf.retrofit import retrofit

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.signature_input import Component

# The library's table of known structured fields, with those of RFC 9421 and RFC 9530. `sf` needs the type of a field,
# so it works for known fields only (RFC 9421 2.1.1).
STRUCTURED_FIELDS: Mapping[str, str] = {
    **retrofit,
    **dict.fromkeys(("accept-signature", "signature", "signature-input"), "dictionary"),
    **dict.fromkeys(("content-digest", "repr-digest", "want-content-digest", "want-repr-digest"), "dictionary"),
}
_FLAGS = ("sf", "bs", "req", "tr")
_PARAMETERS = frozenset({*_FLAGS, "key"})


def field_value(fields: Fields, component: Component) -> str:
    """Return the value of a covered field.

    Args:
        fields: The fields it is among: headers or, with `tr`, trailers.
        component: Name and parameters.

    Raises:
        Fault: unsupported_component or missing_component.
    """
    text = fields.combine(component.name)
    if text is not None and not component.parameters:
        return text  # a name that is found is in lower case
    _check(component)
    if text is None:
        raise Fault("missing_component", f"{component.identifier} is covered and absent from the message")
    if "key" in component.parameters:
        return _dictionary_member(fields, component)
    if "sf" in component.parameters:
        return _reserialise(fields, component)
    return _wrap_values(fields, component) if "bs" in component.parameters else text


def _check(component: Component) -> None:
    parameters = component.parameters
    flags_are_true = all(parameters.get(flag, True) is True for flag in _FLAGS)
    if (
        component.name != component.name.lower()
        or not parameters.keys() <= _PARAMETERS
        or not flags_are_true
        or type(parameters.get("key", "")) is not str
    ):
        raise Fault("unsupported_component", f"{component.identifier} is not known")
    # RFC 9421 2.1: `bs` takes the raw octets, `sf` and `key` a parsed value. They contradict each other.
    if "bs" in parameters and not parameters.keys().isdisjoint({"sf", "key"}):
        raise Fault("unsupported_component", f"{component.identifier}: bs goes neither with sf nor with key")


def _wrap_values(fields: Fields, component: Component) -> str:
    """Return each value as a byte sequence; a character is the octet of its number."""
    try:
        octets = [value.encode("latin-1") for value in fields.values(component.name)]
    except UnicodeEncodeError as fault:
        raise Fault("unsupported_component", f"{component.identifier}: a value holds more than octets") from fault
    return ", ".join(f":{base64.b64encode(one).decode()}:" for one in octets)


def _reserialise(fields: Fields, component: Component) -> str:
    kind = STRUCTURED_FIELDS.get(component.name)
    structure = None if kind is None else fields.parse_structured(component.name, kind)
    if not structure:
        raise Fault("unsupported_component", f"{component.identifier}: not a known structured field, or malformed")
    return str(http_sf.ser(structure))


def _dictionary_member(fields: Fields, component: Component) -> str:
    members = fields.parse_structured(component.name, "dictionary")
    if members is None:
        raise Fault("unsupported_component", f"{component.identifier}: the field is no dictionary")
    member: Any = members.get(component.parameters["key"])
    if member is None:
        raise Fault("missing_component", f"{component.identifier}: the dictionary has no such key")
    return str(ser_list([member]))
