"""Notes on the two headers: how they would have to be written, tried out (RFC 9421 section 4)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from reference.protocol.message_signatures import structured
from reference.protocol.message_signatures.algorithms import ExpectedKey
from reference.protocol.message_signatures.base import build
from reference.protocol.message_signatures.diagnosis.case import shown
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.message import Message
from reference.protocol.message_signatures.signature_input import SignatureInput, read

_INPUT, _SIGNATURE = "signature-input", "signature"
_LONGEST = 8192
_MOST_LABELS = 8
_CODES = ("malformed_signature_input", "malformed_signature", "missing_signature_input", "missing_signature")


def header_notes(code: str, message: Message, key: ExpectedKey | None, wanted: str | None) -> Iterator[str]:
    """Yield what can be said about a fault in the two headers.

    Args:
        code: The fault.
        message: The message.
        key: The expected key, if there is one.
        wanted: The label that the caller asked for.
    """
    fields = message.fields
    given, signed = fields.combined(_INPUT) or "", fields.combined(_SIGNATURE) or ""
    if max(len(given), len(signed)) > _LONGEST:
        return
    if code in {"label_mismatch", "multiple_labels"}:
        yield from _labels(message, key, given, signed, wanted)
    if code in {*_CODES, "label_mismatch"}:
        yield from _repairs(message, key, given, signed, wanted)
    if code == "missing_signature_input" and fields.combined("authorization"):
        yield "Authorization may hold an older kind of signature; RFC 9421 uses Signature-Input and Signature."


def _labels(message: Message, key: ExpectedKey | None, given: str, signed: str, wanted: str | None) -> Iterator[str]:
    inputs, signatures = _names(given), _names(signed)
    yield (
        f"Signature-Input carries {_listed(inputs)}, Signature carries {_listed(signatures)}"
        + ("." if wanted is None else f", and {shown(wanted)} was asked for.")
    )
    if key is None:
        return
    holding = [label for label in inputs[:_MOST_LABELS] if label in signatures and _holds(message, key, label)]
    if holding:
        yield f"Under the expected key the signature of label {_listed(holding)} holds; name it in member label."


def _repairs(message: Message, key: ExpectedKey | None, given: str, signed: str, wanted: str | None) -> Iterator[str]:
    readable: str | None = None
    for what, input_text, signature_text in _written(given, signed):
        if (input_text, signature_text) == (given, signed):
            continue
        repaired = _with(message, {_INPUT: input_text, _SIGNATURE: signature_text})
        chosen = _read(repaired, wanted)
        if chosen is None:
            continue
        if key is not None and _verifies(repaired, chosen, key):
            yield f"{what}: then the signature holds. Send it so."
            return
        readable = readable or f"{what}: then the two fields can be read."
    if readable:
        yield readable


def _written(given: str, signed: str) -> Iterator[tuple[str, str, str]]:
    """Yield ways to write the two headers, each with a sentence about it."""
    label = _label_of(given) or _label_of(signed) or "sig"
    inputs = dict(_inputs(given, label))
    signatures = dict(_signatures(signed, label))
    for what, text in inputs.items():
        yield what, text, signed
    for what, text in signatures.items():
        yield what, given, text
    own, other = _label_of(given), _label_of(signed)
    if own and other and own != other:
        renamed = f"{own}{signed[len(other) :]}"
        yield f"Write the label {own} in Signature, as Signature-Input has it, instead of {other}", given, renamed
    yield "Signature-Input and Signature have changed places", signed, given


def _inputs(text: str, label: str) -> Iterator[tuple[str, str]]:
    if text.startswith("("):
        yield f"Write a label in front of Signature-Input, like {label}=(…)", f"{label}={text}"
    head, mark, tail = text.partition("(")
    inside, closing, after = tail.partition(")")
    if mark and closing:
        names = re.findall(r"[^\s,\"';()]+", inside)
        quoted = " ".join(f'"{name.lower()}"' for name in names)
        yield "Leave nothing behind the parameters", f"{head}({inside}){after.rstrip('; ,')}"
        yield "Separate the components of Signature-Input by spaces", f"{head}({inside.replace(',', ' ')}){after}"
        yield "Write the components of Signature-Input as quoted strings in lower case", f"{head}({quoted}){after}"
        bare = re.sub(r'(created|expires)="?@?(\d+)(?:\.\d+)?"?', r"\1=\2", after)
        yield "Write created and expires as plain integers", f"{head}({inside}){bare}"
        strings = re.sub(r'(alg|keyid|nonce|tag)=([^";]+)', r'\1="\2"', after)
        yield "Write alg, keyid, nonce and tag as quoted strings", f"{head}({inside}){strings}"
        both = re.sub(r'(created|expires)="?@?(\d+)(?:\.\d+)?"?', r"\1=\2", strings)
        yield "Write components and parameters in their types", f"{head}({quoted}){both.rstrip('; ')}"
        yield "Separate parameters by semicolons", f"{head}({inside}){after.replace(',', ';')}"
    lowered = re.sub(r"^\s*([A-Za-z][A-Za-z0-9_.*-]*)\s*=\s*", lambda found: found[1].lower() + "=", text)
    yield "Write the label in lower case, without spaces around its equals sign", lowered


def _signatures(text: str, label: str) -> Iterator[tuple[str, str]]:
    own, mark, value = text.partition("=")
    bare = value.strip().strip(":\"'")
    standard = bare.replace("-", "+").replace("_", "/")
    padded = standard.rstrip("=") + "=" * (-len(standard.rstrip("=")) % 4)
    if mark and re.fullmatch(r"[a-z*][a-z0-9_.*-]*", own):
        yield "Write the signature between colons", f"{own}=:{bare}:"
        yield "Write the signature in base64's own alphabet and not in base64url's", f"{own}=:{padded}:"
        yield "Write the signature without white space in it", f"{own}=:{''.join(padded.split())}:"
        if re.fullmatch(r"[0-9a-fA-F]{128}", bare):
            yield (
                "Write the signature in base64 and not in hex",
                f"{own}=:{base64.b64encode(bytes.fromhex(bare)).decode()}:",
            )
    plain = text.strip().strip(":\"'").replace("-", "+").replace("_", "/")
    yield f"Write a label in front of the signature, like {label}=:…:", f"{label}=:{plain}:"
    lowered = re.sub(r"^\s*([A-Za-z][A-Za-z0-9_.*-]*)\s*=\s*", lambda found: found[1].lower() + "=", text)
    yield "Write the label of Signature in lower case, without spaces around its equals sign", lowered


def _with(message: Message, changed: Mapping[str, str]) -> Message:
    others = {name: list(message.fields.values(name)) for name in message.fields.names() if name not in changed}
    return replace(message, fields=Fields({**others, **changed}))


def _read(message: Message, label: str | None) -> SignatureInput | None:
    try:
        return read(message.fields, label)
    except Fault:
        return None


def _verifies(message: Message, chosen: SignatureInput, key: ExpectedKey) -> bool:
    built = build(message, chosen)
    try:
        return not built.faults and key.verify(built.text.encode("ascii"), chosen.signature)
    except ValueError:
        return False


def _holds(message: Message, key: ExpectedKey, label: str) -> bool:
    chosen = _read(message, label)
    return chosen is not None and _verifies(message, chosen, key)


def _names(text: str) -> list[str]:
    try:
        return list(structured.read(text))
    except ValueError:
        return []


def _label_of(text: str) -> str | None:
    found = re.match(r"([a-z*][a-z0-9_.*-]*)=", text)
    return found[1] if found else None


def _listed(names: list[str]) -> str:
    told = ", ".join(shown(name) for name in names[:_MOST_LABELS])
    return told or "none"
