"""Readers and writers that share no code with the suite's judge, asked for the same canonical forms.

`orjson` reads and `rfc8785` writes; Node's own JSON reads and writes, as recorded once in `recorded/node.json`; and a
number alone is written from digits that are searched for instead of taken from `repr`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
import rfc8785

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.family import BuildFault

RECORDED_FILE: Final = Path(__file__).parent / "recorded" / "node.json"


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where another reader and writer disagrees with a draft's author.

    Raises:
        BuildFault: Node was never asked about this text.
    """
    data = base64.b64decode(draft.input["json_b64"])
    intended_form = base64.b64decode(draft.values["canonical_b64"]) if draft.valid else None
    opinions = (("orjson and rfc8785", by_rfc8785(data)), ("node", by_node(draft.name, data)))
    for library, form in opinions:
        if form != intended_form:
            yield f"{library}: {_describe(form)}, not {_describe(intended_form)}"
    number = _number(data) if draft.valid else None
    if number is not None and by_search(number).encode() != intended_form:
        yield f"digits searched for: {by_search(number)}, not {_describe(intended_form)}"


def _describe(form: bytes | None) -> str:
    return "refused" if form is None else form[:80].decode("utf-8", "replace")


def by_rfc8785(data: bytes) -> bytes | None:
    """Return the form by a reader in Rust and a writer of Trail of Bits; None where one of them refuses."""
    try:
        return rfc8785.dumps(orjson.loads(data))
    except (ValueError, RecursionError):
        return None


def by_node(name: str, data: bytes) -> bytes | None:
    """Return the form that Node was recorded to give; None where it refused.

    Raises:
        BuildFault: It was asked about another text under this name, or about none.
    """
    answer = _answers().get(name)
    if answer is None or answer["asked"] != hashlib.sha256(data).hexdigest():
        raise BuildFault(f"{name}: node was never asked about this text; record.mjs says how")
    form = answer["canonical_b64"]
    return None if form is None else base64.b64decode(form)


@cache
def _answers() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(RECORDED_FILE.read_text("ascii"))["answers"]
    return answers


def _number(data: bytes) -> float | None:
    """Return the value of a text that is a number alone."""
    value = json.loads(data)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def by_search(number: float) -> str:
    """Return ECMAScript's text of a number (ECMA-262, Number::toString), its digits found by trying 1 to 17 of them."""
    if number == 0:
        return "0"
    sign, size = ("-" if number < 0 else ""), abs(number)
    mantissa, exponent = next(text for text in (f"{size:.{more}e}" for more in range(17)) if float(text) == size).split(
        "e"
    )
    digits = mantissa.replace(".", "").rstrip("0")
    point = int(exponent) + 1  # how many digits stand before the point
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"
