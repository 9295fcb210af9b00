"""Mutants that the project's tests must notice: mistakes in the suite, the simulators, the launcher and the reference.

They are in `tests/mutants/*.toml`, one file for each area of the product. Members about the past (`caught_before`,
`caught_by` and `behaviour`: whether tests noticed it when it was written down, in which file, and the first line of the
docstring of that test) are for readers. If a test was renamed, the line shows which one is meant.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.mutants.mutant_definitions import EditedMutant, EditFault, load_mutants
from tools.mutants.results import NO_VERDICT, Result, Results, Unjudged
from tools.mutants.scratch import ROOT, Failure, Scratch, scratch_copy

FOLDER = ROOT / "tests" / "mutants"
KIND = "tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantForTests(EditedMutant):
    """One mutant that tests must notice.

    Attributes:
        breaks: What it breaks, in a sentence.
        tests: Test files or node ids that are run first.
        wider: Files or folders that are run if those notice nothing.
        caught_before: Whether the tests noticed it when it was written down.
        caught_by: The test file that noticed it.
        behaviour: First line of the docstring of the test that noticed it.
    """

    breaks: str
    tests: tuple[str, ...]
    wider: tuple[str, ...] = ()
    caught_before: bool = True
    caught_by: str = ""
    behaviour: str = ""

    def edited_texts(self, root: Path) -> dict[str, str]:
        """Return the text of each file that it changes, with its edits.

        Raises:
            EditFault: An edit does not fit, the entry names no test, or a test is missing.
        """
        missing_tests = [test for test in (*self.tests, *self.wider) if not (root / test.partition("::")[0]).exists()]
        if missing_tests or not self.tests:
            raise EditFault(
                f"{self.id}: no test {', '.join(missing_tests)}; name the tests that hold this: {self.behaviour}"
            )
        return EditedMutant.edited_texts(self, root)


def load() -> tuple[MutantForTests, ...]:
    """Return every mutant, file by file.

    Raises:
        ValueError: An entry is malformed, or two have the same id.
    """
    return load_mutants(MutantForTests, sorted(FOLDER.glob("*.toml")))


def run_mutants(mutants: Sequence[MutantForTests], results: Results, root: Path = ROOT) -> None:
    """Put each mutant into a copy of a checkout and run its tests until one fails.

    At the end the tests that failed are run without any mutant, and must pass.

    Raises:
        Unjudged: The copy cannot be used.
    """
    with scratch_copy(root) as scratch:
        tried_results = []
        for mutant in mutants:
            tried_results.append(_try_mutant(scratch, mutant))
            results.add(tried_results[-1])
        for result in _without_verdict(scratch, tried_results):
            results.add(result)


def _try_mutant(scratch: Scratch, mutant: MutantForTests) -> Result:
    start_time = time.monotonic()
    failures: list[Failure] = []
    wrong = []
    try:
        with scratch.hold_texts(mutant.edited_texts(scratch.root)):
            for tests in filter(None, (mutant.tests, mutant.wider)):
                failures = failures or scratch.run_tests(tests)
    except (EditFault, Unjudged) as fault:
        wrong = [str(fault)]
    outcome = NO_VERDICT if wrong else "killed" if failures else "survived"
    return Result(
        KIND,
        mutant.id,
        outcome,
        wrong or ([] if failures else [f"no test fails: {mutant.breaks}"]),
        killed_by={one.node: one.behaviour for one in failures[:1]},
        seconds=round(time.monotonic() - start_time, 1),
        facts={"file": mutant.place, "breaks": mutant.breaks, "caught_before": mutant.caught_before},
    )


def _without_verdict(scratch: Scratch, tried_results: Sequence[Result]) -> Iterator[Result]:
    """Yield the results whose test fails without the mutant, too."""
    nodes = list(dict.fromkeys(node for result in tried_results for node in result.killed_by))
    failing_nodes = {result.node for result in scratch.run_tests(nodes, first=False)} if nodes else set()
    for result in tried_results:
        if failing_nodes & result.killed_by.keys():
            yield replace(
                result, outcome=NO_VERDICT, wrong=[f"{', '.join(result.killed_by)} fails without the mutant, too"]
            )
