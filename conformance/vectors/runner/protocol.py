"""Line protocol of vector runs: the questions to a verifier and its answers (specified in PROTOCOL.md). Pure.

Each line is one JSON object. The verifier answers the greeting with its name and families, then one question at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from conformance.oracles.strict_json import JsonTextFault, strict_json
from conformance.text.target_text_escaping import shorten

PROTOCOL: Final = "weldproof-vectors/1"
# Bytes. A verifier that writes without end must not fill the runner's memory.
LONGEST_LINE: Final = 1 << 20
VALID: Final = "valid"
INVALID: Final = "invalid"
UNSUPPORTED: Final = "unsupported"
_VERDICTS: Final = (VALID, INVALID, UNSUPPORTED)
_SHOWN_CHARACTERS: Final = 80
_LONGEST_WHY: Final = 1_000


class Nonsense(Exception):
    """A line that does not answer the question; the text contains the reason.

    Attributes:
        in_step: Whether it nevertheless belongs to the open question, so that the next line belongs to the next one.
    """

    def __init__(self, reason: str, *, in_step: bool = False) -> None:
        super().__init__(reason)
        self.in_step = in_step


@dataclass(frozen=True, slots=True)
class Hello:
    """The greeting of a verifier.

    Attributes:
        verifier: Its name and version.
        families: The families that it can judge, including unknown ones.
    """

    verifier: str
    families: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a verifier to one vector.

    Attributes:
        verdict: `valid`, `invalid` or `unsupported`.
        codes: Codes of the refusal; empty if it returns none.
        stage: The stage that refused; None if it returns none.
        values: Computed values, by name: texts, numbers, truth values, null.
        why: The beginning of its explanation.
    """

    verdict: str
    codes: tuple[str, ...] = ()
    stage: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    why: str | None = None


def encode_greeting(families: Iterable[str]) -> bytes:
    """Return the first line for a verifier."""
    return _line({"protocol": PROTOCOL, "families": list(families)})


def encode_question(n: int, family: str, input_: Mapping[str, Any]) -> bytes:
    """Return the line that asks for the verdict on one vector."""
    # Without the vector's id: ids contain the fault, so a verifier could answer from the id alone.
    return _line({"n": n, "family": family, "input": input_})


def parse_hello(line: bytes) -> Hello:
    """Return the greeting of a verifier.

    Raises:
        Nonsense: The line is not a greeting.
    """
    message = _object(line)
    name, families = message.get("verifier"), message.get("families")
    if not isinstance(name, str) or not name.strip():
        raise Nonsense('the greeting contains no name in "verifier"')
    if not _texts(families):
        raise Nonsense('the greeting\'s "families" are no list of texts')
    return Hello(name, tuple(dict.fromkeys(families)))


def parse_answer(line: bytes, n: int) -> Answer:
    """Return a verifier's answer to question `n`.

    Raises:
        Nonsense: The line is not an answer.
    """
    message = _object(line)
    number = message.get("n")
    # In Python True == 1, so the answer `"n": true` would match question 1.
    if isinstance(number, bool) or number != n:
        raise Nonsense(f"it answers question {json.dumps(number)[:_SHOWN_CHARACTERS]}, not {n}")
    verdict = message.get("verdict")
    if verdict not in _VERDICTS:
        raise Nonsense(f"its verdict is {json.dumps(verdict)[:_SHOWN_CHARACTERS]}", in_step=True)
    codes, stage, values, why = (message.get(name) for name in ("codes", "stage", "values", "why"))
    for name, right in (
        ("codes", codes is None or _texts(codes)),
        ("stage", stage is None or isinstance(stage, str)),
        ("values", values is None or _values(values)),
        ("why", why is None or isinstance(why, str)),
    ):
        if not right:
            raise Nonsense(f'its "{name}" is {json.dumps(message[name])[:_SHOWN_CHARACTERS]}', in_step=True)
    return Answer(verdict, tuple(codes or ()), stage, values or {}, None if why is None else shorten(why, _LONGEST_WHY))


def _line(value: Mapping[str, Any]) -> bytes:
    # ASCII, so that a lone surrogate in a vector stays the escape that it is.
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    try:
        # Strict, so that duplicate members or NaN in an answer are nonsense and not one of two readings.
        message = strict_json(line)
    except JsonTextFault as fault:
        raise Nonsense(f"it says {line[:_SHOWN_CHARACTERS].decode('utf-8', 'replace').strip()!r}: {fault}") from fault
    if not isinstance(message, dict):
        raise Nonsense(f"it says {line[:_SHOWN_CHARACTERS].decode('utf-8', 'replace').strip()!r}, which is no object")
    return message


def _values(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(one, list | dict) for one in value.values())


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
