"""Structured dictionaries (RFC 8941): common forms by regular expressions, all others by the library."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import http_sf

from reference.protocol.keys import from_base64

# Members as http_sf has them: (value, parameters), where the value of an inner list is a list of such pairs.
Dictionary: TypeAlias = dict[str, Any]

_LABEL = r"([a-z][a-z0-9_-]{0,31})"
_NAME = r'"[a-z0-9@_-]{1,64}"'
_NAMES = re.compile(rf"{_LABEL}=\(({_NAME}(?: {_NAME})*)")
# Two parameters are integers and all others are strings. A parameter of another type does not match, so the whole field
# is then read by the library. The bounds keep the expressions linear.
_TIME_PARAMETER = r";(created|expires)=([1-9][0-9]{0,14})"
_STRING_PARAMETER = r';(?!created=|expires=)([a-z]{1,16})="([ !#-\[\]-~]*)"'
_PARAMETER = re.compile(f"{_TIME_PARAMETER}|{_STRING_PARAMETER}")
_QUOTED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_PADDED_OCTETS = re.compile(r":([A-Za-z0-9+/]*)(=+):")
_LABEL_PREFIX = re.compile(f"{_LABEL}=")


def read_names(text: str) -> tuple[str, list[str]] | None:
    """Return label and names of an inner list in the common form, without its closing bracket, else None."""
    match = _NAMES.fullmatch(text)
    return (match[1], match[2][1:-1].split('" "')) if match else None


def read_parameters(text: str) -> dict[str, int | str] | None:
    """Return parameters in the common form, else None: the two times, and strings without escapes."""
    matches = _PARAMETER.findall(text)
    parameters: dict[str, int | str] = {}
    length = 0
    for time, number, name, string in matches:
        if time:
            parameters[time] = int(number)
            length += len(time) + len(number) + len(";=")
        else:
            parameters[name] = string
            length += len(name) + len(string) + len(';=""')
    # The lengths prove that the matches cover the whole text without a gap, and that no name occurs twice.
    return parameters if length == len(text) and len(parameters) == len(matches) else None


def read_octets(text: str, label: str) -> bytes | None:
    """Return the octets of the one byte sequence, in canonical base64, that is all of `text`, else None."""
    opening = f"{label}=:"
    if not text.startswith(opening) or not text.endswith(":", len(opening)):
        return None
    try:
        return from_base64(text[len(opening) : -1])
    except ValueError:
        return None


def read_dictionary(text: str) -> Dictionary:
    """Return the members of a dictionary.

    Base64 without padding is read, as RFC 8941 section 4.2.7 asks; padding, if present, must be right.

    Raises:
        ValueError: It is not a dictionary, or it names a member or a parameter twice.
    """
    quick = read_everyday(text)
    if quick is not None:
        return quick
    if any(
        (len(digits) + len(padding)) % 4 for digits, padding in _PADDED_OCTETS.findall(_QUOTED_STRING.sub("", text))
    ):
        raise ValueError("a byte sequence has the wrong padding")
    # RFC 8941 lets the last of two equal names win. Readers differ in this, so a repetition is refused (6.3).
    members = http_sf.parse(text.encode("ascii"), tltype="dictionary", on_duplicate_key=_refuse_duplicate)
    if not isinstance(members, dict):
        raise ValueError("not a dictionary")  # noqa: TRY004 - a fault of the text
    return members


def read_everyday(text: str) -> Dictionary | None:
    """Return what the library would, for one canonical member: an inner list of plain names, or a byte sequence.

    Nearly every signed message has these forms, and reading them by the library takes longer than the signature
    itself. None for anything else.
    """
    match = _LABEL_PREFIX.match(text)
    octets = read_octets(text, match[1]) if match else None
    if match and octets is not None:
        return {match[1]: (octets, {})}
    head, bracket, tail = text.partition(")")
    label_and_names, parameters = read_names(head), read_parameters(tail)
    if not bracket or label_and_names is None or parameters is None:
        return None
    return {label_and_names[0]: ([(name, {}) for name in label_and_names[1]], parameters)}


def _refuse_duplicate(name: str, context: str) -> None:
    raise ValueError(f"{context} {name} is there twice")
