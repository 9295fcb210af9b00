"""Structured dictionaries (RFC 8941), each read once: the everyday forms at a glance, all others by the library."""

from __future__ import annotations

import binascii
import re
from typing import Any, TypeAlias

import http_sf

# Members as http_sf has them: (value, parameters), where the value of an inner list is a list of such pairs.
Dictionary: TypeAlias = dict[str, Any]

_LABEL = r"([a-z][a-z0-9_-]{0,31})"
_NAME = r'"[a-z0-9@_-]{1,64}"'
_PARAMETER = r';[a-z]{1,16}=(?:[1-9][0-9]{0,14}|"[ !#-\[\]-~]*")'
_ONE_INNER_LIST = re.compile(rf"{_LABEL}=\(({_NAME}(?: {_NAME})*)\)((?:{_PARAMETER})*)")
_PARAMETERS = re.compile(r';([a-z]+)=(?:([0-9]+)|"([^"]*)")')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PADDED = re.compile(r":([A-Za-z0-9+/]*)(=+):")
_ONE_BYTE_SEQUENCE = re.compile(rf"{_LABEL}=:([A-Za-z0-9+/]*={{0,2}}):")


def read_signature(signature_input: str, signature: str) -> tuple[str, str, str, dict[str, int | str], bytes] | None:
    """Return one everyday signature: label, covered names, its whole inner list, parameters and octets.

    The names and the inner list are as they are written, which in this form is how they are serialised. None for
    anything else, malformed fields too: what `read` says of them counts.
    """
    told, signed = _ONE_INNER_LIST.fullmatch(signature_input), _ONE_BYTE_SEQUENCE.fullmatch(signature)
    if told is None or signed is None or told[1] != signed[1] or len(signed[2]) % 4:
        return None
    pairs = _PARAMETERS.findall(told[3])
    parameters: dict[str, int | str] = {name: int(number) if number else string for name, number, string in pairs}
    if len(parameters) != len(pairs):
        return None
    return told[1], told[2], signature_input[len(told[1]) + 1 :], parameters, binascii.a2b_base64(signed[2])


def read(text: str) -> Dictionary:
    """Return the members of a dictionary.

    Base64 without padding is read, as RFC 8941 section 4.2.7 asks; padding that is there must be the right one.

    Raises:
        ValueError: It is not one, or names a member or a parameter twice: RFC 8941 lets the last one win, which other
            readers may see otherwise.
    """
    quick = read_everyday(text)
    if quick is not None:
        return quick
    if any((len(digits) + len(padding)) % 4 for digits, padding in _PADDED.findall(_QUOTED.sub("", text))):
        raise ValueError("a byte sequence has the wrong padding")
    parsed = http_sf.parse(text.encode("ascii"), tltype="dictionary", on_duplicate_key=_refuse_duplicate)
    if not isinstance(parsed, dict):
        raise ValueError("not a dictionary")  # noqa: TRY004 - a fault of the text
    return parsed


def read_everyday(text: str) -> Dictionary | None:
    """Return what the library would, for one canonical member: an inner list of plain names, or a byte sequence.

    Nearly every signed message has these forms, and reading them by the library takes longer than the signature
    itself. None for anything else.
    """
    found = _ONE_BYTE_SEQUENCE.fullmatch(text)
    if found:
        return {found[1]: (binascii.a2b_base64(found[2]), {})} if len(found[2]) % 4 == 0 else None
    found = _ONE_INNER_LIST.fullmatch(text)
    if not found:
        return None
    pairs = _PARAMETERS.findall(found[3])
    parameters = {name: int(number) if number else string for name, number, string in pairs}
    if len(parameters) != len(pairs):
        return None
    return {found[1]: ([(name, {}) for name in found[2][1:-1].split('" "')], parameters)}


def _refuse_duplicate(name: str, context: str) -> None:
    raise ValueError(f"{context} {name} is there twice")
