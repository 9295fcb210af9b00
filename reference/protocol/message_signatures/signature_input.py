"""Signature-Input and Signature, read strictly (RFC 9421 section 4; RFC 8941)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import http_sf
from http_sf.errors import StructuredFieldError
from http_sf.parameters import ser_params

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields

# A component's name and parameters without their order, which does not tell two apart (RFC 9421 section 2).
Identity: TypeAlias = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Component:
    """A covered component.

    Attributes:
        name: Its name.
        parameters: Its parameters, in order.
        identifier: Both, as they stand in the signature base.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    identifier: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identifier", http_sf.ser(self.name) + ser_params(dict(self.parameters)))

    @classmethod
    def named(cls, text: str) -> Component:
        """Return the component that `text` names: an identifier, or its name in any case without the quotation marks.

        Raises:
            ValueError: It names none.
        """
        if not text.startswith('"'):
            name, mark, parameters = text.partition(";")
            text = f'"{name.lower()}"{mark}{parameters}'
        value: Any = http_sf.parse(text.encode("ascii"), tltype="item")
        if type(value[0]) is not str or not value[0]:
            raise ValueError("a component is named by a string")
        return cls(*value)

    @property
    def identity(self) -> Identity:
        """What two identifiers of the same component share."""
        return self.name, frozenset((name, http_sf.ser(value)) for name, value in self.parameters.items())


@dataclass(frozen=True, slots=True)
class SignatureInput:
    """One labelled signature.

    Attributes:
        label: Its label.
        components: What it covers, in order.
        parameters: Its parameters, in order.
        signature: The signature's bytes.
    """

    label: str
    components: tuple[Component, ...]
    parameters: Mapping[str, Any]
    signature: bytes

    @property
    def params_text(self) -> str:
        """The value of `@signature-params` (P-AG-03)."""
        return params_text(self.components, self.parameters)


def params_text(components: Iterable[Component], parameters: Mapping[str, Any]) -> str:
    """Return the inner list that `@signature-params` and a member of Signature-Input both hold.

    RFC 9421 section 2.3 has it serialised anew: types, order and values as received, spacing as RFC 8941 writes it.
    """
    identifiers = " ".join(component.identifier for component in components)
    return f"({identifiers}){ser_params(dict(parameters))}"


def read(fields: Fields, label: str | None) -> SignatureInput:
    """Return the one signature that is meant.

    Raises:
        Fault: One of the header codes.
    """
    inputs = _dictionary(fields, "signature-input", "malformed_signature_input", "missing_signature_input")
    signatures = _dictionary(fields, "signature", "malformed_signature", "missing_signature")
    if set(inputs) != set(signatures):
        raise Fault("label_mismatch", "Signature-Input and Signature do not carry the same labels")
    chosen = label
    if chosen is None:
        if len(inputs) > 1:
            raise Fault("multiple_labels", "the message carries several signatures; name one by its label")
        chosen = next(iter(inputs))
    if chosen not in inputs:
        raise Fault("label_mismatch", "the message carries no signature with that label")
    components, parameters = _inner_list(inputs[chosen])
    value = signatures[chosen]
    raw = value[0] if isinstance(value, tuple) else None
    if not isinstance(raw, bytes):
        raise Fault("malformed_signature", "the signature is no byte sequence")
    return SignatureInput(chosen, components, parameters, raw)


def _dictionary(fields: Fields, name: str, malformed: str, missing: str) -> dict[str, Any]:
    text = fields.combined(name)
    if text is None or not text.strip():
        raise Fault(missing, f"the message has no {name} field")
    duplicates: list[str] = []
    try:
        parsed = http_sf.parse(
            text.encode("ascii"), tltype="dictionary", on_duplicate_key=lambda key, _: duplicates.append(key)
        )
    except (StructuredFieldError, UnicodeEncodeError, ValueError) as fault:
        raise Fault(malformed, f"{name} is no structured dictionary") from fault
    if duplicates or not isinstance(parsed, dict) or not parsed:
        raise Fault(malformed, f"{name} names a label twice or none")
    return parsed


def _inner_list(value: Any) -> tuple[tuple[Component, ...], dict[str, Any]]:
    if not isinstance(value, tuple) or not isinstance(value[0], list):
        raise Fault("malformed_signature_input", "the label's value is no inner list")
    items, parameters = value
    if any(isinstance(one, dt.datetime | http_sf.DisplayString) for one in _bare_values(items, parameters)):
        # RFC 9421 builds on RFC 8941, which has neither (P-AG-09).
        raise Fault("malformed_signature_input", "a parameter is a Date or a Display String, which RFC 8941 has not")
    if any(type(name) is not str for name, _ in items):
        raise Fault("malformed_signature_input", "a covered component is no string")
    if any(type(parameters.get(name, 0)) is not int for name in ("created", "expires")):
        raise Fault("malformed_signature_input", "created and expires are integers")
    if any(type(parameters.get(name, "")) is not str for name in ("alg", "keyid", "nonce", "tag")):
        raise Fault("malformed_signature_input", "alg, keyid, nonce and tag are strings")
    return tuple(Component(*item) for item in items), parameters


def _bare_values(items: Iterable[tuple[Any, Mapping[str, Any]]], parameters: Mapping[str, Any]) -> Iterable[Any]:
    yield from parameters.values()
    for name, own in items:
        yield name
        yield from own.values()
