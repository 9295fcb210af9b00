"""Mutants of the canonical form: encoders of JSON that stand in for RFC 8785 (specification P-CV-07)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import rfc8785

from reference.protocol import canonical_json, receipt_verification
from reference.variants.mutants.addons import VERIFIER
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

_FOR_PAGES = re.compile("[&<>\u2028\u2029]")


def _text(value: str) -> str:
    return rfc8785.dumps(value).decode()


def _number(value: float) -> str:
    return rfc8785.dumps(value).decode()


def _by_code_units(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-16-be"))


def _for_pages(value: str) -> str:
    """Escape a text as Go's json.Marshal does, so that it can be put into a page."""
    return _FOR_PAGES.sub(lambda found: f"\\u{ord(found.group()):04x}", _text(value))


def _written_by(
    text: Callable[[str], str] = _text,
    order: Callable[[Iterable[str]], Iterable[str]] = _by_code_units,
    number: Callable[[float], str] = _number,
) -> Callable[[], None]:
    """Return what writes every form by RFC 8785 but for the parts that are given."""

    def form(value: Any) -> str:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, Mapping):
            return "{" + ",".join(f"{text(name)}:{form(value[name])}" for name in order(value)) + "}"
        if isinstance(value, list | tuple):
            return "[" + ",".join(map(form, value)) + "]"
        return json.dumps(value) if value is None or isinstance(value, bool) else number(value)

    def forming(form_of: Callable[..., bytes]) -> Callable[..., bytes]:
        def formed(value: Any, *, plain: bool) -> bytes:
            form_of(value, plain=plain)  # which refuses what has no form
            return form(value).encode()

        return formed

    return lambda: replace(canonical_json, "_form_of", forming)


def _judged_by(apply: Callable[[], None]) -> Callable[[], None]:
    """Return what judges payloads of receipts by a form that `apply` puts in, without the way for plain ones."""

    def judged() -> None:
        apply()
        replace(receipt_verification, "parse_canonical", lambda _: lambda _: None)

    return judged


_RULE = "hashes are over the RFC 8785 form (P-CV-07): "
MUTANTS = (
    Mutant("form-escaped-for-pages", _RULE + "&, <, > and U+2028 stand as they are", _written_by(text=_for_pages)),
    Mutant("form-in-ascii", _RULE + "letters beyond ASCII stand as they are", _written_by(text=json.dumps)),
    Mutant("form-by-code-points", _RULE + "members are sorted by UTF-16 code units", _written_by(order=sorted)),
    Mutant("form-numbers-by-repr", _RULE + "numbers are written as ECMAScript does", _written_by(number=repr)),
    Mutant(
        "receipts-in-form-for-pages",
        "a payload is in RFC 8785 form (2.4, step 7): &, <, > and U+2028 stand as they are",
        _judged_by(_written_by(text=_for_pages)),
        surface="gateway",
    ),
    Mutant(
        "verifier-form-for-pages",
        "a credential's signature is over RFC 8785 (P-AD-06): &, <, > and U+2028 stand as they are",
        _written_by(text=_for_pages),
        surface=VERIFIER,
    ),
    Mutant(
        "verifier-form-by-code-points",
        "a credential's signature is over RFC 8785 (P-AD-06): members are sorted by UTF-16 code units",
        _written_by(order=sorted),
        surface=VERIFIER,
    ),
    Mutant(
        "verifier-form-numbers-by-repr",
        "a credential's signature is over RFC 8785 (P-AD-06): numbers are written as ECMAScript does",
        _written_by(number=repr),
        surface=VERIFIER,
    ),
)
