"""Suspects among covered fields: changes by signers and intermediaries (RFC 9421 section 2.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reference.protocol.message_signatures import components, content_digest
from reference.protocol.message_signatures.diagnosis.suspect_trial import Case, Suspect, clip
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.field_components import STRUCTURED_FIELDS, field_value
from reference.protocol.message_signatures.signature_input import Component

_ADVICE = "Trim each value, join repeated fields by a comma and a space, change nothing else (RFC 9421 section 2.1)."


def fields(case: Case) -> Iterator[Suspect]:
    """The value of each covered field in another form."""
    for index, component in enumerate(case.signature_input.components):
        value = case.base.values[index]
        if value is None or component.name.startswith("@") or component.parameters:
            continue
        for cause, signed_value in _forms(case, component.name, value):
            values = [*case.base.values[:index], signed_value, *case.base.values[index + 1 :]]
            yield Suspect(
                f"The signature holds with {component.identifier} {clip(repr(signed_value))} instead of"
                f" {clip(repr(value))}: {cause}.",
                case.with_all(values),
            )


def parameters_of_fields(case: Case) -> Iterator[Suspect]:
    """Fields covered by sf, key or bs, whose plain value was signed, or the other way round."""
    for index, component in enumerate(case.signature_input.components):
        if component.name.startswith("@") or case.base.values[index] is None:
            continue
        for parameters in ({}, {"sf": True}, {"bs": True}):
            try:
                signed_value = field_value(case.message.fields, Component(component.name, parameters))
            except Fault:
                continue
            values = [*case.base.values[:index], signed_value, *case.base.values[index + 1 :]]
            how = f"parameter {next(iter(parameters))}" if parameters else "no parameter"
            yield Suspect(
                f"The signature holds with the value that {component.identifier} has with {how},"
                f" {clip(signed_value)}. Name"
                " the component with the parameter by which its value was made (RFC 9421 section 2.1).",
                case.with_all(values),
            )


def missing_fields(case: Case) -> Iterator[Suspect]:
    """A covered field that is missing in the message, with values that it usually has."""
    for index, component in enumerate(case.signature_input.components):
        if case.base.values[index] is not None or component.parameters:
            continue
        for signed_value in _usual(case, component.name):
            values = [*case.base.values[:index], signed_value, *case.base.values[index + 1 :]]
            yield Suspect(
                f"The signature holds with {component.identifier} {clip(repr(signed_value))}, which is not in the"
                " message:"
                " something on the way removed it, or it was not passed on. Send it, or leave it out of the covered"
                " components.",
                case.with_all(values),
            )


def _forms(case: Case, name: str, value: str) -> Iterator[tuple[str, str]]:
    raw_values = case.message.fields.raw_values(name)
    single = case.message.fields.values(name)
    yield f"white space around it was signed. {_ADVICE}", ", ".join(raw_values)
    if len(single) > 1:
        yield f"repeated values were joined without a space. {_ADVICE}", ",".join(single)
        yield f"repeated values were joined by a semicolon. {_ADVICE}", "; ".join(single)
        yield "repeated values came in another order; nothing between may change it", ", ".join(reversed(single))
        yield "the last value was added, or the signer did not see it", ", ".join(single[:-1])
        yield "the first value was added, or the signer did not see it", ", ".join(single[1:])
        yield f"only the last of several values was signed. {_ADVICE}", single[-1]
        yield f"only the first of several values was signed. {_ADVICE}", single[0]
    parts = [part.strip() for part in value.split(",")]
    yield "a list was joined again with other spaces, which nothing between may do", ",".join(parts)
    yield "a list was joined again with other spaces, which nothing between may do", ", ".join(parts)
    yield "the items of the list came in another order; nothing between may change it", ", ".join(reversed(parts))
    yield "white space inside it was changed", re.sub(r"[ \t]+", " ", value)
    yield "white space inside it was changed", re.sub(r"[ \t]+", "", value)
    yield "its letters changed their case", value.lower()
    yield "its letters changed their case", value.upper()
    yield "quotation marks were added or removed", value.strip('"')
    yield "quotation marks were added or removed", f'"{value}"'
    yield from _by_name(case, name, value)
    if name in STRUCTURED_FIELDS:
        yield from _serialise_again(case, name)
    if not value.isascii():
        return
    yield "the field was signed as if it were empty", ""


def _by_name(case: Case, name: str, value: str) -> Iterator[tuple[str, str]]:
    if name == "content-type":
        media = value.partition(";")[0].strip()
        yield "a parameter like charset was added after signing", media
        for charset in ("; charset=utf-8", ";charset=utf-8", "; charset=UTF-8", ";charset=UTF-8"):
            yield "its charset was taken away after signing", media + charset
    elif name == "content-length":
        yield "the body had another length, or the field has the wrong one", str(len(case.message.content))
    elif name == content_digest.FIELD:
        for digest in _digests(case):
            yield "the field was changed after signing; this is the digest of the body as it is", digest
    elif name == "host":
        yield "the host was changed after signing; this is the authority", case.message.authority or ""
    elif name in {"accept-encoding", "connection", "via", "x-forwarded-for", "user-agent"}:
        yield "it was set after signing; do not cover what intermediaries change", ""


def _serialise_again(case: Case, name: str) -> Iterator[tuple[str, str]]:
    try:
        signed_value = field_value(case.message.fields, Component(name, {"sf": True}))
    except Fault:
        return
    yield "the signer serialised the structured field again; cover it with parameter sf for that", signed_value


def _usual(case: Case, name: str) -> Iterator[str]:
    if name == "host" and case.message.authority is not None:
        yield case.message.authority
        yield components.authority(case.message)
    elif name == "content-length":
        yield str(len(case.message.content))
    elif name == content_digest.FIELD:
        yield from _digests(case)
    elif name == "content-type":
        yield "application/json"
        yield "application/json; charset=utf-8"
    elif name == "accept":
        yield "*/*"
        yield "application/json"
    yield ""


def _digests(case: Case) -> Iterator[str]:
    for name in content_digest.ALGORITHMS:
        yield f"{name}=:{content_digest.compute(name, case.message.content)}:"
