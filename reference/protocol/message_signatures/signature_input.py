"""Signature-Input and Signature, read strictly (RFC 9421 section 4; RFC 8941)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import http_sf
from http_sf.errors import StructuredFieldError
from http_sf.list import ser_list

from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields


@dataclass(frozen=True, slots=True)
class Component:
    """A covered component: its name and parameters."""

    name: str
    parameters: tuple[tuple[str, Any], ...]

    @property
    def identifier(self) -> str:
        """Its identifier as it stands in the signature base."""
        return str(http_sf.ser((self.name, dict(self.parameters))))

    def parameter(self, name: str) -> Any:
        """Return a parameter, or None."""
        return dict(self.parameters).get(name)


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
        inner: list[Any] = [(component.name, dict(component.parameters)) for component in self.components]
        return str(ser_list([(inner, dict(self.parameters))]))


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
    components = []
    for item in value[0]:
        if not isinstance(item, tuple) or type(item[0]) is not str:
            raise Fault("malformed_signature_input", "a covered component is no string")
        components.append(Component(item[0], tuple(item[1].items())))
    if any(isinstance(member, dt.datetime) for member in value[1].values()):
        # RFC 9421 builds on RFC 8941, which has no Dates (P-AG-09).
        raise Fault("malformed_signature_input", "a signature parameter is a Date")
    if any(not isinstance(value[1].get(name, 0), int) for name in ("created", "expires")):
        raise Fault("malformed_signature_input", "created and expires are integers")
    if any(type(value[1].get(name, "")) is not str for name in ("alg", "keyid", "nonce", "tag")):
        raise Fault("malformed_signature_input", "alg, keyid, nonce and tag are strings")
    return tuple(components), dict(value[1])
