"""Signature-Input and Signature, read strictly (RFC 9421 section 4; RFC 8941)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import http_sf
from http_sf.parameters import ser_params

from reference.protocol.message_signatures import structured
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields

_NOT_IN_RFC_8941 = frozenset({dt.datetime, http_sf.DisplayString})
# RFC 9421 2.3 fixes the types of these parameters. A time as a string would be compared with a number.
_KINDS: Mapping[str, type] = {"created": int, "expires": int, "alg": str, "keyid": str, "nonce": str, "tag": str}
# Bounds of the caches below, so that a caller cannot fill them with long names.
_LONGEST_KEPT = 64
_LONGEST_COVER_KEPT = 512


@dataclass(frozen=True, slots=True)
class Component:
    """A covered component.

    Attributes:
        name: Its name.
        parameters: Its parameters, in order.
        identifier: Both, as they are in the signature base.
        identity: Its identifier with sorted parameters, because their order does not matter (RFC 9421 section 2).
        plain: Its name with its parameters and without quotation marks, as people and libraries write it.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    identifier: str = field(init=False)
    identity: str = field(init=False)
    plain: str = field(init=False)

    def __post_init__(self) -> None:
        name, parameters = http_sf.ser(self.name), ser_params(dict(self.parameters))
        object.__setattr__(self, "identifier", name + parameters)
        # Two covered components are equal if they differ only in the order of their parameters (RFC 9421 2).
        object.__setattr__(self, "identity", name + ser_params(dict(sorted(self.parameters.items()))))
        object.__setattr__(self, "plain", self.name + parameters)

    @classmethod
    def from_text(cls, text: str) -> Component:
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


@lru_cache(maxsize=512)
def _plain(name: str) -> Component:
    return Component(name)


class SignatureInput(NamedTuple):
    """One labelled signature.

    Attributes:
        label: Its label.
        components: What it covers, in order.
        parameters: Its parameters, in order.
        signature: The signature's bytes.
        inner_list_text: Its inner list as it came, when that is how it is serialised; else empty.
    """

    label: str
    components: tuple[Component, ...]
    parameters: Mapping[str, Any]
    signature: bytes
    inner_list_text: str = ""

    @property
    def params_text(self) -> str:
        """The value of `@signature-params` (P-AG-03)."""
        return self.inner_list_text or params_text(self.components, self.parameters)


def params_text(components: Iterable[Component], parameters: Mapping[str, Any]) -> str:
    """Return the inner list that `@signature-params` and a member of Signature-Input both hold.

    RFC 9421 section 2.3 requires to serialise it again: types, order and values as received, spacing as in RFC 8941.
    """
    return f"({' '.join([one.identifier for one in components])}){''.join(map(_parameter, parameters.items()))}"


def _parameter(parameter: tuple[str, Any]) -> str:
    name, value = parameter
    if type(value) is int:
        return f";{name}={value}"
    if type(value) is str and '"' not in value and "\\" not in value:
        return f';{name}="{value}"'
    return str(ser_params({name: value}))


def select_signature(fields: Fields, label: str | None) -> SignatureInput:
    """Return the signature that the caller means.

    Raises:
        Fault: One of the header codes.
    """
    everyday = _everyday(fields)
    # The common form is read without the library, whose parsing takes longer than the signature check. Anything
    # else goes through the strict reading below.
    if everyday is not None and label in {None, everyday.label}:
        return everyday
    inputs = _dictionary(fields, "signature-input", "malformed_signature_input", "missing_signature_input")
    signatures = _dictionary(fields, "signature", "malformed_signature", "missing_signature")
    if set(inputs) != set(signatures):
        raise Fault("label_mismatch", "Signature-Input and Signature do not carry the same labels")
    chosen_label = label
    if chosen_label is None:
        if len(inputs) > 1:
            raise Fault("multiple_labels", "the message carries several signatures; name one by its label")
        chosen_label = next(iter(inputs))
    if chosen_label not in inputs:
        raise Fault("label_mismatch", "the message carries no signature with that label")
    components, parameters = _inner_list(inputs[chosen_label])
    value = signatures[chosen_label]
    raw = value[0] if isinstance(value, tuple) else None
    if not isinstance(raw, bytes):
        raise Fault("malformed_signature", "the signature is not a byte sequence")
    return SignatureInput(chosen_label, components, parameters, raw)


def _everyday(fields: Fields) -> SignatureInput | None:
    """Return the signature of a message in the common form, else None.

    In this form the inner list is serialised as it is written, and each parameter has its type. Malformed fields give
    None, too: `select_signature` then reports their fault.
    """
    text = fields.combine("signature-input") or ""
    head, bracket, parameters_text = text.partition(")")
    cover = _read_cover(head) if bracket and len(head) <= _LONGEST_COVER_KEPT else None
    parameters = structured.read_parameters(parameters_text)
    if cover is None or parameters is None:
        return None
    label, components = cover
    signature = structured.read_octets(fields.combine("signature") or "", label)
    if signature is None:
        return None
    return SignatureInput(label, components, parameters, signature, text[len(label) + 1 :])


@lru_cache(maxsize=512)
def _read_cover(head: str) -> tuple[str, tuple[Component, ...]] | None:
    """Return label and components of a list in the common form; signers cover the same ones again and again."""
    label_and_names = structured.read_names(head)
    return (
        None if label_and_names is None else (label_and_names[0], tuple([_plain(name) for name in label_and_names[1]]))
    )


def _dictionary(fields: Fields, name: str, malformed_code: str, missing_code: str) -> structured.Dictionary:
    text = fields.combine(name)
    if not text:
        raise Fault(missing_code, f"the message has no {name} field")
    try:
        return structured.read_dictionary(text)
    except ValueError as fault:
        raise Fault(malformed_code, f"{name} is not a structured dictionary, or it names a member twice") from fault


def _inner_list(value: Any) -> tuple[tuple[Component, ...], dict[str, Any]]:
    if not isinstance(value, tuple) or not isinstance(value[0], list):
        raise Fault("malformed_signature_input", "the label's value is not an inner list")
    items, parameters = value
    of_components = [one for _, own in items if own for one in own.values()]
    if not _NOT_IN_RFC_8941.isdisjoint(map(type, (*parameters.values(), *of_components))):
        # RFC 9421 builds on RFC 8941, which has neither type; the library reads RFC 9651 (P-AG-09).
        raise Fault("malformed_signature_input", "a parameter is a Date or a Display String, which RFC 8941 has not")
    if any(type(value) is not _KINDS.get(name, type(value)) for name, value in parameters.items()):
        raise Fault("malformed_signature_input", "created and expires are integers; alg, keyid, nonce and tag strings")
    if {str}.issuperset([type(name) for name, _ in items]):
        return tuple([_component(*item) for item in items]), parameters
    raise Fault("malformed_signature_input", "a covered component is not a string")


def _component(name: str, own: Mapping[str, Any]) -> Component:
    return Component(name, own) if own or len(name) > _LONGEST_KEPT else _plain(name)
