"""Recorded answers: the file they are in, and how two sets of answers differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "recorded"
_MISSING_MEMBER = "<no such member>"

Answers = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """A member of an answer that two nodes give differently.

    Attributes:
        case: Name of the case.
        member: Where in the answer: `status`, `body.message`, `body.assets.0.amount`.
        left: Its value in the first set of answers.
        right: Its value in the second.
    """

    case: str
    member: str
    left: Any
    right: Any

    def __str__(self) -> str:
        """One line."""
        return f"{self.case}: {self.member}: {self.left!r} | {self.right!r}"


@dataclass(frozen=True)
class Allowed:
    """Differences that stay, and why.

    Attributes:
        cases: Names of cases, with `*`.
        members: Members, with `*`.
        reason: What no client of the simulator needs.
    """

    cases: str
    members: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Return whether a difference is one of these."""
        member = difference.member
        within = fnmatchcase(member, self.members) or fnmatchcase(member, f"{self.members}.*")
        return fnmatchcase(difference.case, self.cases) and within


def differences(left_answers: Answers, right: Answers) -> Iterator[Difference]:
    """Yield what differs between two sets of answers."""
    for case in dict.fromkeys([*left_answers, *right]):
        ours, theirs = dict(_leaves(left_answers.get(case, {}))), dict(_leaves(right.get(case, {})))
        for member in sorted(ours.keys() | theirs.keys()):
            left_value, right_value = ours.get(member, _MISSING_MEMBER), theirs.get(member, _MISSING_MEMBER)
            if (type(left_value), left_value) != (type(right_value), right_value):
                yield Difference(case, member, left_value, right_value)


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value that is not a map or a list with its place; empty ones too."""
    if isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _leaves(member, f"{at}.{name}" if at else str(name))
    elif isinstance(value, list) and value:
        for place, member in enumerate(value):
            yield from _leaves(member, f"{at}.{place}")
    elif value != {} or at:
        yield at, value


def load(name: str) -> dict[str, Any]:
    """Return a recording: `node`, `consensus`, `mode`, `recorded` and `answers`.

    A recording that names another as its `base` holds only the answers that differ from it.
    """
    answers: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    if "base" in answers:
        answers["answers"] = {**load(answers["base"])["answers"], **answers["answers"]}
    return answers


def save(name: str, answers: Mapping[str, Any], base: str | None = None) -> None:
    """Write a recording, without what is the same in the recording named `base`."""
    kept_answers = dict(answers)
    if base is not None:
        base_answers = load(base)["answers"]
        kept_answers["base"] = base
        kept_answers["answers"] = {
            case: answer for case, answer in kept_answers["answers"].items() if base_answers.get(case) != answer
        }
        assert not base_answers.keys() - answers["answers"].keys()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(kept_answers, indent=1, ensure_ascii=False) + "\n")
