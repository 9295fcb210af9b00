"""Written explanations of a verifier's disagreements, each compared with the run, so that a file cannot become stale.

[[explained]]
id = "receipts/canonical/*"     # one vector, or a pattern over ids; or family = "welds" for a whole family
result = "accepts"
reason = "A JWS library does not look into the payload."
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from conformance.vectors import Vector
from conformance.vectors.runner.judging import Outcome, Result

_EXPLAINABLE = tuple(one.value for one in Outcome if one is not Outcome.AGREE)
_MEMBERS = frozenset({"id", "family", "result", "reason", "depends_on"})


class ExplanationsFault(Exception):
    """A malformed file of explanations; the text names the place."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The reason for some disagreements of a verifier.

    Attributes:
        pattern: Vector id or pattern of ids; None for a family.
        family: Family; None for ids.
        outcome: The only outcome that it explains.
        reason: The reason.
        depends_on: The condition of the answer, such as a version of a library; empty if there is none.
    """

    pattern: str | None
    family: str | None
    outcome: Outcome
    reason: str
    depends_on: str = ""

    @property
    def subject(self) -> str:
        """Its subject, in the words of the file."""
        return f"family {self.family}" if self.pattern is None else str(self.pattern)

    def covers(self, vector: Vector) -> bool:
        """Return whether it covers a vector."""
        if self.pattern is None:
            return vector.family == self.family
        return fnmatchcase(vector.id, self.pattern)

    def fits(self, result: Result) -> bool:
        """Return whether it explains a result."""
        # Only the written outcome is explained: a verifier that begins to accept what it used to refuse needs another
        # reason.
        return result.outcome is self.outcome and self.covers(result.vector)


@dataclass(frozen=True, slots=True)
class Rotten:
    """An explanation that no longer explains a result.

    Attributes:
        explanation: The entry.
        detail: What the run shows instead, in a sentence.
    """

    explanation: Explanation
    detail: str


def read(text: str) -> tuple[Explanation, ...]:
    """Return the explanations of a file.

    Raises:
        ExplanationsFault: It is not TOML, or has other members.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise ExplanationsFault(f"not TOML: {fault}") from fault
    entries = document.pop("explained", [])
    if document:
        raise ExplanationsFault(f"only [[explained]] entries have a place, not {', '.join(sorted(document))}")
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise ExplanationsFault("explained is no list of tables; write [[explained]]")
    return tuple(_explanation(entry, number) for number, entry in enumerate(entries, 1))


def _explanation(entry: Mapping[str, Any], number: int) -> Explanation:
    place = f"entry {number}"
    unknown = entry.keys() - _MEMBERS
    if unknown:
        raise ExplanationsFault(f"{place}: unknown members {', '.join(sorted(unknown))}")
    if ("id" in entry) is ("family" in entry):
        raise ExplanationsFault(f"{place}: give either id or family")
    for name, value in entry.items():
        if not isinstance(value, str) or not value.strip():
            raise ExplanationsFault(f"{place}: {name} is no text, or empty")
    if "reason" not in entry:
        raise ExplanationsFault(f"{place}: there is no reason")
    if entry.get("result") not in _EXPLAINABLE:
        raise ExplanationsFault(f"{place}: result is one of {', '.join(_EXPLAINABLE)}")
    outcome, reason = Outcome(entry["result"]), entry["reason"].strip()
    return Explanation(entry.get("id"), entry.get("family"), outcome, reason, entry.get("depends_on", "").strip())


def apply_explanations(results: Iterable[Result], explanations: Sequence[Explanation]) -> dict[str, str]:
    """Return the reason for each result that has one, by vector id; the first entry that fits counts."""
    reasons = {}
    for result in results:
        reason = next((one.reason for one in explanations if one.fits(result)), None)
        if reason is not None:
            reasons[result.vector.id] = reason
    return reasons


def rotten(
    explanations: Iterable[Explanation], results: Sequence[Result], vectors: Sequence[Vector]
) -> tuple[Rotten, ...]:
    """Return the entries that explain no result.

    Args:
        explanations: The entries.
        results: The results of the run.
        vectors: Every vector of the package, run or not.
    """
    entries = (_rotten(one, results, vectors) for one in explanations)
    return tuple(entry for entry in entries if entry is not None)


def _rotten(one: Explanation, results: Sequence[Result], vectors: Sequence[Vector]) -> Rotten | None:
    covered_results = {vector.id for vector in vectors if one.covers(vector)}
    if not covered_results:
        return Rotten(one, "there is no such vector")
    seen = [result for result in results if result.vector.id in covered_results]
    # An entry that covers vectors which were not run is kept: it may be about these.
    if any(one.fits(result) for result in seen) or len(seen) < len(covered_results):
        return None
    # An entry with a condition is kept if everything that it covers agrees: the condition may not hold here.
    if one.depends_on and all(result.outcome is Outcome.AGREE for result in seen):
        return None
    outcomes = ", ".join(sorted({result.outcome.value for result in seen}))
    return Rotten(one, f"nothing it covers comes to {one.outcome.value}, but to: {outcomes}")
