"""Signature-Input and Signature read together (RFC 9421, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.base import Coverage
from conformance.oracles.message_signatures.components import component_of
from conformance.oracles.message_signatures.faults import Code, Refusal
from conformance.oracles.message_signatures.message import Message

INTEGERS: Final = ("created", "expires")
STRINGS: Final = ("nonce", "alg", "keyid", "tag")


@dataclass(frozen=True, slots=True)
class LabelledSignature:
    """The signature chosen from a message.

    Attributes:
        label: Its label, which is not signed.
        coverage: What it covers.
        signature: Its bytes.
    """

    label: str
    coverage: Coverage
    signature: bytes


def read(message: Message, label: str | None = None) -> LabelledSignature:
    """Return the signature of a message, the only one or the one named.

    Raises:
        Refusal: The message has no readable signature.
    """
    inputs = _dictionary(message, "signature-input", Code.MISSING_SIGNATURE_INPUT, Code.MALFORMED_SIGNATURE_INPUT)
    signatures = _dictionary(message, "signature", Code.MISSING_SIGNATURE, Code.MALFORMED_SIGNATURE)
    # RFC 9421, 4.2: each member of Signature has its member of Signature-Input. A label
    # without its partner may be the rest of a removed signature.
    if set(inputs) != set(signatures):
        text = f"Signature-Input is labelled {_names(inputs)}, Signature {_names(signatures)}"
        raise Refusal(Code.LABEL_MISMATCH, text)
    if label is not None and label not in inputs:
        raise Refusal(Code.LABEL_MISMATCH, f"no signature is labelled {label}; there is {_names(inputs)}")
    # The caller must choose: judging any one of several signatures would let an attacker add
    # a signature.
    if label is None and len(inputs) > 1:
        raise Refusal(Code.MULTIPLE_LABELS, f"there are several signatures, {_names(inputs)}: name one")
    chosen_label = next(iter(inputs)) if label is None else label
    return LabelledSignature(
        chosen_label, read_coverage(chosen_label, inputs[chosen_label]), _bytes(chosen_label, signatures[chosen_label])
    )


def _dictionary(message: Message, name: str, missing_code: Code, malformed_code: Code) -> dict[str, structured.Member]:
    value = message.field(name)
    if value is None:
        raise Refusal(missing_code, f"the message has no {name} field")
    try:
        members = structured.read_dictionary(value, unique=True)
    except structured.Malformed as fault:
        raise Refusal(malformed_code, f"{name} is no structured dictionary: {fault}") from fault
    if not members:
        raise Refusal(missing_code, f"{name} is empty, which is as good as absent (RFC 8941 4.1.2)")
    return members


def read_coverage(label: str, member: structured.Member) -> Coverage:
    """Return what a member of Signature-Input covers.

    Raises:
        Refusal: It is no list of Strings, or a parameter is of another type than RFC 9421 2.3 gives it.
    """
    if not isinstance(member, structured.InnerList):
        text = f"Signature-Input's {label} is no list in parentheses"
        raise Refusal(Code.MALFORMED_SIGNATURE_INPUT, text)
    try:
        components = tuple(component_of(item) for item in member.items)
    except structured.Malformed as fault:
        raise Refusal(Code.MALFORMED_SIGNATURE_INPUT, str(fault)) from fault
    # A wrong type, such as a text for `created`, would pass unchecked through comparisons of
    # numbers.
    for name, value in member.parameters:
        if name in INTEGERS and (not isinstance(value, int) or isinstance(value, bool)):
            raise Refusal(Code.MALFORMED_SIGNATURE_INPUT, f"{name} is an Integer of seconds, not {value!r}")
        if name in STRINGS and (not isinstance(value, str) or isinstance(value, structured.Token)):
            raise Refusal(Code.MALFORMED_SIGNATURE_INPUT, f"{name} is a String in double quotes, not {value!r}")
    return Coverage(components, member.parameters)


def _bytes(label: str, member: structured.Member) -> bytes:
    if not isinstance(member, structured.Item) or not isinstance(member.value, bytes):
        raise Refusal(Code.MALFORMED_SIGNATURE, f"Signature's {label} is no byte sequence such as :…base64…:")
    return member.value


def _names(members: dict[str, structured.Member]) -> str:
    return ", ".join(members)
