"""Notes on Signature-Input and Signature: repairs that were tried (RFC 9421 section 4)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from reference.protocol.message_signatures import structured
from reference.protocol.message_signatures.algorithms import ExpectedKey
from reference.protocol.message_signatures.base import build
from reference.protocol.message_signatures.diagnosis.suspect_trial import clip
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import SignatureInput, select_signature

_INPUT, _SIGNATURE = "signature-input", "signature"
# Repairs are regular expressions over the whole field. Longer fields are left alone.
_LONGEST = 8192
_MOST_LABELS = 8
_CODES = ("malformed_signature_input", "malformed_signature", "missing_signature_input", "missing_signature")


def header_notes(code: str, message: Message, key: ExpectedKey | None, wanted_label: str | None) -> Iterator[str]:
    """Yield what can be said about a fault in the two headers.

    Args:
        code: The fault.
        message: The message.
        key: The expected key, if there is one.
        wanted_label: The label that the caller asked for.
    """
    fields = message.fields
    input_field, signature_field = fields.combine(_INPUT) or "", fields.combine(_SIGNATURE) or ""
    if max(len(input_field), len(signature_field)) > _LONGEST:
        return
    if code in {"label_mismatch", "multiple_labels"}:
        yield from _labels(message, key, input_field, signature_field, wanted_label)
    if code in {*_CODES, "label_mismatch"}:
        yield from _repairs(message, key, input_field, signature_field, wanted_label)
    if code == "missing_signature_input" and fields.combine("authorization"):
        yield "Authorization may hold an older kind of signature; RFC 9421 uses Signature-Input and Signature."


def _labels(
    message: Message, key: ExpectedKey | None, input_field: str, signature_field: str, wanted_label: str | None
) -> Iterator[str]:
    inputs, signatures = _names(input_field), _names(signature_field)
    yield (
        f"Signature-Input carries {_join_labels(inputs)}, Signature carries {_join_labels(signatures)}"
        + ("." if wanted_label is None else f", and {clip(wanted_label)} was asked for.")
    )
    if key is None:
        return
    valid_labels = [label for label in inputs[:_MOST_LABELS] if label in signatures and _holds(message, key, label)]
    if valid_labels:
        yield (
            f"Under the expected key the signature of label {_join_labels(valid_labels)} holds; name it in member"
            " label."
        )


def _repairs(
    message: Message, key: ExpectedKey | None, input_field: str, signature_field: str, wanted_label: str | None
) -> Iterator[str]:
    readable: str | None = None
    for advice, input_text, signature_text in _list_repairs(input_field, signature_field):
        if (input_text, signature_text) == (input_field, signature_field):
            continue
        repaired_message = _with(message, {_INPUT: input_text, _SIGNATURE: signature_text})
        signature_input = _select_or_none(repaired_message, wanted_label)
        if signature_input is None:
            continue
        if key is not None and _verifies(repaired_message, signature_input, key):
            yield f"{advice}: then the signature holds. Send it so."
            return
        # Without a key no repair can be proven. The first one after which the fields can be read is reported as
        # that and no more.
        readable = readable or f"{advice}: then the two fields can be read."
    if readable:
        yield readable


def _list_repairs(input_field: str, signature_field: str) -> Iterator[tuple[str, str, str]]:
    """Yield ways to write the two headers, each with a sentence about it."""
    label = _label_of(input_field) or _label_of(signature_field) or "sig"
    inputs = dict(_inputs(input_field, label))
    signatures = dict(_signatures(signature_field, label))
    for advice, text in inputs.items():
        yield advice, text, signature_field
    for advice, text in signatures.items():
        yield advice, input_field, text
    input_label, signature_label = _label_of(input_field), _label_of(signature_field)
    if input_label and signature_label and input_label != signature_label:
        renamed_signature = f"{input_label}{signature_field[len(signature_label) :]}"
        yield (
            f"Write the label {input_label} in Signature, as Signature-Input has it, instead of {signature_label}",
            input_field,
            renamed_signature,
        )
    yield "Signature-Input and Signature have changed places", signature_field, input_field


def _inputs(text: str, label: str) -> Iterator[tuple[str, str]]:
    if text.startswith("("):
        yield f"Write a label in front of Signature-Input, like {label}=(…)", f"{label}={text}"
    head, mark, tail = text.partition("(")
    inside, closing_mark, after = tail.partition(")")
    if mark and closing_mark:
        names = re.findall(r"[^\s,\"';()]+", inside)
        quoted_names = " ".join(f'"{name.lower()}"' for name in names)
        yield "Leave nothing behind the parameters", f"{head}({inside}){after.rstrip('; ,')}"
        yield "Separate the components of Signature-Input by spaces", f"{head}({inside.replace(',', ' ')}){after}"
        yield (
            "Write the components of Signature-Input as quoted strings in lower case",
            f"{head}({quoted_names}){after}",
        )
        bare = re.sub(r'(created|expires)="?@?(\d+)(?:\.\d+)?"?', r"\1=\2", after)
        yield "Write created and expires as plain integers", f"{head}({inside}){bare}"
        strings = re.sub(r'(alg|keyid|nonce|tag)=([^";]+)', r'\1="\2"', after)
        yield "Write alg, keyid, nonce and tag as quoted strings", f"{head}({inside}){strings}"
        both = re.sub(r'(created|expires)="?@?(\d+)(?:\.\d+)?"?', r"\1=\2", strings)
        yield "Write components and parameters in their types", f"{head}({quoted_names}){both.rstrip('; ')}"
        yield "Separate parameters by semicolons", f"{head}({inside}){after.replace(',', ';')}"
    lower_case_text = re.sub(r"^\s*([A-Za-z][A-Za-z0-9_.*-]*)\s*=\s*", lambda found: found[1].lower() + "=", text)
    yield "Write the label in lower case, without spaces around its equals sign", lower_case_text


def _signatures(text: str, label: str) -> Iterator[tuple[str, str]]:
    own, mark, value = text.partition("=")
    bare = value.strip().strip(":\"'")
    standard = bare.replace("-", "+").replace("_", "/")
    padded_base64 = standard.rstrip("=") + "=" * (-len(standard.rstrip("=")) % 4)
    if mark and re.fullmatch(r"[a-z*][a-z0-9_.*-]*", own):
        yield "Write the signature between colons", f"{own}=:{bare}:"
        yield "Write the signature in base64's own alphabet and not in base64url's", f"{own}=:{padded_base64}:"
        yield "Write the signature without white space in it", f"{own}=:{''.join(padded_base64.split())}:"
        if re.fullmatch(r"[0-9a-fA-F]{128}", bare):
            yield (
                "Write the signature in base64 and not in hex",
                f"{own}=:{base64.b64encode(bytes.fromhex(bare)).decode()}:",
            )
    plain = text.strip().strip(":\"'").replace("-", "+").replace("_", "/")
    yield f"Write a label in front of the signature, like {label}=:…:", f"{label}=:{plain}:"
    lower_case_text = re.sub(r"^\s*([A-Za-z][A-Za-z0-9_.*-]*)\s*=\s*", lambda found: found[1].lower() + "=", text)
    yield "Write the label of Signature in lower case, without spaces around its equals sign", lower_case_text


def _with(message: Message, changes: Mapping[str, str]) -> Message:
    other_fields = {name: list(message.fields.values(name)) for name in message.fields.names() if name not in changes}
    return replace(message, fields=Fields({**other_fields, **changes}))


def _select_or_none(message: Message, label: str | None) -> SignatureInput | None:
    try:
        return select_signature(message.fields, label)
    except Fault:
        return None


def _verifies(message: Message, signature_input: SignatureInput, key: ExpectedKey) -> bool:
    base = build(message, signature_input)
    try:
        return not base.faults and key.verify(base.text.encode("ascii"), signature_input.signature)
    except ValueError:
        return False


def _holds(message: Message, key: ExpectedKey, label: str) -> bool:
    signature_input = _select_or_none(message, label)
    return signature_input is not None and _verifies(message, signature_input, key)


def _names(text: str) -> list[str]:
    try:
        return list(structured.read_dictionary(text))
    except ValueError:
        return []


def _label_of(text: str) -> str | None:
    match = re.match(r"([a-z*][a-z0-9_.*-]*)=", text)
    return match[1] if match else None


def _join_labels(names: list[str]) -> str:
    labels = ", ".join(clip(name) for name in names[:_MOST_LABELS])
    return labels or "none"
