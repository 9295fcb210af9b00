"""Component identifiers and the values they stand for (RFC 9421, section 2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.faults import Code, Refusal
from conformance.oracles.message_signatures.message import DERIVED_NAMES, Message, NoStatus, NotThisKind

# Fields whose structured type their own standard gives; only these can be serialised strictly (`sf`).
STRUCTURED_FIELDS: Final = {
    "accept-ch": "list",
    "accept-signature": "dictionary",
    "cache-status": "list",
    "capsule-protocol": "item",
    "cdn-cache-control": "dictionary",
    "client-cert": "item",
    "client-cert-chain": "list",
    "content-digest": "dictionary",
    "cross-origin-embedder-policy": "item",
    "cross-origin-opener-policy": "item",
    "origin-agent-cluster": "item",
    "priority": "dictionary",
    "proxy-status": "list",
    "repr-digest": "dictionary",
    "signature": "dictionary",
    "signature-input": "dictionary",
    "want-content-digest": "dictionary",
    "want-repr-digest": "dictionary",
}
_FLAGS: Final = frozenset({"sf", "bs", "req", "tr"})
_FIELD_PARAMETERS: Final = frozenset({*_FLAGS, "key"})
# A base is one line of ASCII for each component. Other characters would allow one value to
# imitate several lines.
_FIELD_TEXT = re.compile(r"[\t -~]*")
_DERIVED_TEXT = re.compile(r"[!-~](?:[ -~]*[!-~])?|")
# How a field with `sf` is written: RFC 9421, 2.1.1 demands the strict serialisation of its structured type.
_WRITERS: Final[dict[str, Callable[[str], str]]] = {
    "dictionary": lambda text: structured.write_dictionary(structured.read_dictionary(text)),
    "list": lambda text: structured.write_list(structured.read_list(text)),
    "item": lambda text: structured.write(structured.read_item(text)),
}


@dataclass(frozen=True, slots=True)
class Component:
    """One covered component's identifier.

    Attributes:
        name: Field name or derived name.
        parameters: Its parameters, in their order.
    """

    name: str
    parameters: structured.Parameters = ()

    def __str__(self) -> str:
        return structured.write(structured.Item(self.name, self.parameters))

    @property
    def plain(self) -> str:
        """Its name with its parameters and without quotation marks, as people and libraries write it."""
        return self.name + str(self).removeprefix(structured.write(structured.Item(self.name, ())))

    @property
    def identity(self) -> tuple[str, frozenset[tuple[str, structured.BareItem]]]:
        """What must be unique in a list: the name with its parameters in any order."""
        return self.name, frozenset(self.parameters)

    @property
    def flags(self) -> frozenset[str]:
        """The names of its parameters."""
        return frozenset(name for name, _ in self.parameters)

    def parameter(self, name: str) -> structured.BareItem | None:
        """Return a parameter's value, None when it is not there."""
        return dict(self.parameters).get(name)


def component_of(item: structured.Item) -> Component:
    """Return the component that an item of a covered list names.

    Raises:
        Malformed: The item is no String.
    """
    if not isinstance(item.value, str) or isinstance(item.value, structured.Token):
        raise structured.Malformed(f"{structured.write_bare(item.value)} is no component: components are Strings")
    return Component(item.value, item.parameters)


def read_component(text: str) -> Component:
    """Read an identifier as `"name";parameters`, or a bare name without quotes.

    Raises:
        Malformed: It is not an identifier.
    """
    return component_of(structured.read_item(text, unique=True)) if text.startswith('"') else Component(text)


def value_of(component: Component, message: Message) -> str:
    """Return a component's value in a message, one line of ASCII.

    Raises:
        Refusal: The component is unsupported or missing (RFC 9421, 2.5).
    """
    # RFC 9421, 2.1: these parameters are Booleans, and false is not the same as absent.
    for flag in sorted(_FLAGS & component.flags):
        if component.parameter(flag) is not True:
            raise _unsupported_refusal(component, f"its parameter {flag} is a flag and takes no value")
    if "req" in component.flags:
        return _of_request(component, message)
    if component.name.startswith("@"):
        return _derived_value(component, message)
    return _field(component, message)


def _of_request(component: Component, message: Message) -> str:
    if not message.is_response:
        raise _unsupported_refusal(component, "req speaks of the request behind a response, and this is a request")
    if message.request is None:
        raise _unsupported_refusal(component, "the request that this response answers is not known")
    other_parameters = tuple((name, value) for name, value in component.parameters if name != "req")
    try:
        return value_of(replace(component, parameters=other_parameters), message.request)
    except Refusal as refusal:
        raise Refusal(refusal.fault.code, f"{refusal} (in the related request)", str(component)) from refusal


def _derived_value(component: Component, message: Message) -> str:
    if component.name not in DERIVED_NAMES:
        reason = "it is always the last line and never in the list" if component.name == "@signature-params" else ""
        raise _unsupported_refusal(component, reason or "RFC 9421 has no derived component of that name")
    try:
        value = _query_parameter(component, message) if component.name == "@query-param" else None
        if value is None:
            _refuse_other_parameters(component, frozenset())
            value = message.derived_value(component.name)
    except NoStatus as fault:
        raise Refusal(Code.MISSING_COMPONENT, str(fault), str(component)) from fault
    except NotThisKind as fault:
        raise _unsupported_refusal(component, str(fault)) from fault
    if not _DERIVED_TEXT.fullmatch(value):
        raise _unsupported_refusal(component, "its value has characters other than printable ASCII, or space at an end")
    return value


def _query_parameter(component: Component, message: Message) -> str:
    _refuse_other_parameters(component, frozenset({"name"}))
    name = component.parameter("name")
    if not isinstance(name, str) or isinstance(name, structured.Token):
        raise _unsupported_refusal(component, "it needs the parameter name, a String")
    values = message.query_parameters(name)
    if not values:
        raise Refusal(Code.MISSING_COMPONENT, f"the query has no parameter {name!r}", str(component))
    # RFC 9421, 2.2.8 forbids a repeated parameter, because a server may use either value.
    if len(values) > 1:
        raise _unsupported_refusal(component, f"the query has {name!r} {len(values)} times; cover @query instead")
    return values[0]


def _field(component: Component, message: Message) -> str:
    # RFC 9421, 2.1 demands lower case, so that each field has one identifier.
    if component.name != component.name.lower():
        raise _unsupported_refusal(component, "field names are written in lower case")
    _refuse_other_parameters(component, _FIELD_PARAMETERS)
    # `bs` covers the raw lines, and the other two cover a parsed value (RFC 9421, 2.1.3).
    if "bs" in component.flags and component.flags & {"sf", "key"}:
        raise _unsupported_refusal(component, "bs keeps the lines raw and cannot go with sf or key")
    trailer = "tr" in component.flags
    if trailer and message.trailers is None:
        raise _unsupported_refusal(component, "the message comes without its trailers")
    lines = message.field_lines(component.name, trailer=trailer)
    if not lines:
        where = "trailer" if trailer else "header"
        raise Refusal(Code.MISSING_COMPONENT, f"the message has no {where} field {component.name}", str(component))
    value = _bytes(component, lines) if "bs" in component.flags else _field_value(component, ", ".join(lines))
    if not _FIELD_TEXT.fullmatch(value):
        raise _unsupported_refusal(component, "its value is not one line of printable ASCII; cover it with bs")
    return value


def _bytes(component: Component, lines: list[str]) -> str:
    try:
        # Each line becomes a byte sequence, so that joined lines and one line with a comma
        # differ.
        return structured.write_list(structured.Item(line.encode("latin-1")) for line in lines)
    except UnicodeEncodeError as fault:
        raise _unsupported_refusal(component, "its value has characters beyond one byte") from fault


def _field_value(component: Component, text: str) -> str:
    try:
        if "key" in component.flags:
            return _member(component, text)
        if "sf" in component.flags:
            return _strict(component, text)
    except structured.Malformed as fault:
        raise _unsupported_refusal(component, f"the field is not the structured field it should be: {fault}") from fault
    return text


def _member(component: Component, text: str) -> str:
    key = component.parameter("key")
    if not isinstance(key, str) or isinstance(key, structured.Token):
        raise _unsupported_refusal(component, "its parameter key is a String")
    if STRUCTURED_FIELDS.get(component.name, "dictionary") != "dictionary":
        raise _unsupported_refusal(component, f"{component.name} is no Dictionary")
    members = structured.read_dictionary(text)
    if key not in members:
        raise Refusal(Code.MISSING_COMPONENT, f"{component.name} has no member {key!r}", str(component))
    return structured.write(members[key])


def _strict(component: Component, text: str) -> str:
    kind = STRUCTURED_FIELDS.get(component.name)
    # A field is written strictly only if its type is known. A guess could change the value.
    if kind is None:
        raise _unsupported_refusal(component, f"{component.name} is not known to be a structured field")
    return _WRITERS[kind](text)


def _refuse_other_parameters(component: Component, known_names: frozenset[str]) -> None:
    unknown = component.flags - known_names
    if unknown:
        raise _unsupported_refusal(component, f"it takes no parameter {', '.join(sorted(unknown))}")


def _unsupported_refusal(component: Component, reason: str) -> Refusal:
    return Refusal(Code.UNSUPPORTED_COMPONENT, f"{component} cannot be covered: {reason}", str(component))
