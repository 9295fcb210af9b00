"""Comparison of verifiers: the outcomes of each kind of vector, and of each vector on which they differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.vectors.runner.document import Document, ResultLine
from conformance.vectors.runner.judging import Outcome

Cell = tuple[tuple[Outcome, int], ...]


class ComparisonFault(ValueError):
    """Results that cannot be compared; the text contains the reason."""


@dataclass(frozen=True, slots=True)
class Line:
    """The outcomes of one subject in each verifier, in their order.

    Attributes:
        name: The subject: a family, a kind or a vector's id.
        cells: Each outcome with its count; empty if nothing of it was run.
        details: For a vector, the sentence of each result with its reason; otherwise empty.
    """

    name: str
    cells: tuple[Cell, ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """Vectors of one kind.

    Attributes:
        line: All of them together.
        vectors: Each.
        differs: Whether verifiers that judged them came to different results on a vector.
    """

    line: Line
    vectors: tuple[Line, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class Family:
    """Vectors of one family: all of them together, and by kind."""

    line: Line
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of verifiers.

    Attributes:
        labels: The name of each; with the file if two have the same name.
        sentences: Each run in a sentence.
        vectors_version: The version of the package of all runs.
        families: Everything that any of them ran.
    """

    labels: tuple[str, ...]
    sentences: tuple[str, ...]
    vectors_version: str
    families: tuple[Family, ...]

    @property
    def as_json(self) -> dict[str, Any]:
        """The comparison as a JSON value."""
        return {
            "format": "weldproof-vectors-comparison/1",
            "vectors_version": self.vectors_version,
            "verifiers": list(self.labels),
            "sentences": list(self.sentences),
            "families": [
                {
                    "family": family.line.name,
                    "results": _cells(family.line),
                    "kinds": [
                        {
                            "kind": kind.line.name,
                            "differs": kind.differs,
                            "results": _cells(kind.line),
                            "vectors": [
                                {"id": one.name, "results": _cells(one), "details": list(one.details)}
                                for one in kind.vectors
                                if kind.differs
                            ],
                        }
                        for kind in family.kinds
                    ],
                }
                for family in self.families
            ],
        }


def compare(documents: Mapping[str, Document]) -> Comparison:
    """Compare results.

    Args:
        documents: The results by file name.

    Raises:
        ComparisonFault: They are of different versions of the vectors.
    """
    # Other versions may ask other questions under the same kinds.
    versions = sorted({one.vectors_version for one in documents.values()})
    if len(versions) != 1:
        raise ComparisonFault(f"the results are of different versions of the vectors: {', '.join(versions)}")
    by_id = [{one.id: one for one in document.results} for document in documents.values()]
    # Reversed, so that the first file that has a vector describes it.
    every = {one.id: one for results in reversed(by_id) for one in results.values()}
    # The order of the first file, then what only later files have. Two comparisons of the same files are equal.
    order = list(dict.fromkeys(one for results in by_id for one in results))
    families: dict[str, dict[str, list[str]]] = {}
    for name in order:
        kinds = families.setdefault(every[name].family, {})
        kinds.setdefault(every[name].kind, []).append(name)
    return Comparison(
        _labels(documents),
        tuple(one.sentence for one in documents.values()),
        versions[0],
        tuple(_family(name, kinds, by_id) for name, kinds in families.items()),
    )


def _labels(documents: Mapping[str, Document]) -> tuple[str, ...]:
    often = Counter(one.verifier for one in documents.values())
    return tuple(
        one.verifier if often[one.verifier] == 1 else f"{one.verifier} ({file})" for file, one in documents.items()
    )


def _family(name: str, kinds: Mapping[str, Sequence[str]], by_id: Sequence[Mapping[str, ResultLine]]) -> Family:
    every = [one for vectors in kinds.values() for one in vectors]
    return Family(_line(name, every, by_id), tuple(_kind(kind, vectors, by_id) for kind, vectors in kinds.items()))


def _kind(name: str, vectors: Sequence[str], by_id: Sequence[Mapping[str, ResultLine]]) -> Kind:
    # A verifier that does not judge a family has no result to compare.
    differs = any(len({run[one].outcome for run in by_id if one in run} - {Outcome.UNSUPPORTED}) > 1 for one in vectors)
    lines = tuple(
        Line(one, _line(one, [one], by_id).cells, tuple(_detail(run.get(one)) for run in by_id)) for one in vectors
    )
    return Kind(_line(name, vectors, by_id), lines, differs)


def _detail(one: ResultLine | None) -> str:
    if one is None or one.outcome is Outcome.AGREE:
        return ""
    pinned = "only the profile decides: " if one.pinned else ""
    return f"{pinned}{one.detail}" if one.explained is None else f"{pinned}{one.detail}; explained: {one.explained}"


def _line(name: str, vectors: Iterable[str], by_id: Sequence[Mapping[str, ResultLine]]) -> Line:
    vector_ids = list(vectors)
    return Line(name, tuple(_cell(run[one].outcome for one in vector_ids if one in run) for run in by_id))


def _cell(outcomes: Iterable[Outcome]) -> Cell:
    often = Counter(outcomes)
    return tuple((outcome, often[outcome]) for outcome in Outcome if often[outcome])


def _cells(line: Line) -> list[dict[str, int]]:
    return [{outcome.value: count for outcome, count in cell} for cell in line.cells]
