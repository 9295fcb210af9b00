"""What a run of mutants found: one form for all kinds, a file that keeps it, and the conclusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import orjson

from tools.mutants.choice import Mutant, T

EXIT_CAUGHT, EXIT_UNCAUGHT, EXIT_NO_VERDICT, EXIT_INTERRUPTED = 0, 1, 3, 130
# The outcome of a mutant about which nothing can be said.
NO_VERDICT: Final = "no-verdict"


class Unjudged(Exception):
    """The run says nothing about any mutant; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one mutant.

    Attributes:
        kind: Kind of the mutant, as the command line names it.
        id: The mutant.
        outcome: `killed` if a requirement or a test fails, `warned` if requirements only warn, `survived`,
            `unsettled` if requirements came to no verdict, `unreached` if no requirement reaches it, `no-start` if the
            program does not start, `no-verdict` if the tests fail without it or do not run.
        wrong: In what the outcome differs from what it should be, a line each; empty if it does not.
        killed_by: Requirements or tests that fail, each with what was expected and found.
        warned_by: Requirements that warn, with the same details.
        unsettled: Requirements that came to no verdict, with the same details.
        seconds: How long it took, including the start of the program.
        stack: Stack on which it was run, if the kind has several.
        facts: What only this kind reports.
    """

    kind: str
    id: str
    outcome: str
    wrong: Sequence[str] = ()
    killed_by: Mapping[str, str] = field(default_factory=dict)
    warned_by: Mapping[str, str] = field(default_factory=dict)
    unsettled: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    stack: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON members, those of its kind last."""
        members = asdict(self)
        facts = members.pop("facts")
        return {**members, **facts}

    @property
    def line(self) -> str:
        """One line for people."""
        by = ", ".join([*self.killed_by, *self.warned_by][:6])
        return f"{self.id:64} {self.outcome:9} {self.seconds:6.1f} s  {by}"


class Results:
    """The results of a run, and of earlier runs with the same folder: a line of JSON each in `results.ndjson`."""

    def __init__(self, folder: Path | None = None, *, quiet: bool = True) -> None:
        self._quiet = quiet
        self._path = None if folder is None else folder / "results.ndjson"
        self._by_key: dict[tuple[str, str, str], dict[str, Any]] = {}
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = self._path.read_bytes() if self._path.exists() else b""
        for line in text.split(b"\n")[:-1]:
            self._keep(orjson.loads(line))
        if text and not text.endswith(b"\n"):  # a line that was cut off does not count
            self._path.write_bytes(text[: text.rfind(b"\n") + 1])

    def by_stack(self, kind: str) -> dict[tuple[str, str], dict[str, Any]]:
        """Return the results of a kind, by mutant and stack."""
        return {(name, stack): one for (of, name, stack), one in self._by_key.items() if of == kind}

    def of(self, kind: str, mutants: Iterable[Mutant[T]]) -> list[dict[str, Any]]:
        """Return the results of some mutants of a kind without stacks, in their order."""
        return [found for one in mutants if (found := self._by_key.get((kind, one.id, "")))]

    def mutants_without_result(self, kind: str, mutants: Iterable[Mutant[T]]) -> list[T]:
        """Return the data of those of some mutants of a kind that have no result yet."""
        return [one.data for one in mutants if (kind, one.id, "") not in self._by_key]

    def add(self, result: Result) -> None:
        """Add a result, in place of an earlier one of the same mutant, and print its line."""
        members = result.as_json()
        self._keep(members)
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(orjson.dumps(members) + b"\n")
        if not self._quiet:
            click.echo(result.line)

    def _keep(self, members: dict[str, Any]) -> None:
        self._by_key[members["kind"], members["id"], members["stack"]] = members


def conclude(results: Sequence[Mapping[str, Any]], *, as_json: bool) -> int:
    """Print what came of a run and return the exit code: 0 if every outcome is as it should be, 1 or 3 if not."""
    wrong = [result for result in results if result["wrong"]]
    if as_json:
        click.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2))
    else:
        for result in wrong:
            click.echo("\n    ".join((f"{result['outcome']}: {result['id']}", *result["wrong"])))
        counts = Counter(result["outcome"] for result in results)
        words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        seconds = sum(result["seconds"] for result in results)
        average = seconds / max(1, len(results))
        click.echo(
            f"{len(results)} mutants: {words}; {len(wrong)} not as it should be; {seconds:.0f} s, {average:.1f} s each"
        )
    if any(result["outcome"] == NO_VERDICT for result in results):
        return EXIT_NO_VERDICT
    return EXIT_UNCAUGHT if wrong else EXIT_CAUGHT
