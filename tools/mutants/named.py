"""Named mutants of the reference: exactly the requirements of its kill list must notice each.

`weldproof selftest` runs the same mutants in the same way, from the wheel as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from conformance.cli.selftest.execution import verdicts_against
from conformance.outcome import Verdict
from conformance.selftest.kill_lists import KillList, load_kill_lists
from tools.mutants.results import Result, Results

KIND = "named"


@dataclass(frozen=True, slots=True)
class NamedMutant:
    """A mutant with its kill list."""

    kill_list: KillList

    @property
    def id(self) -> str:
        """Its name."""
        return self.kill_list.mutant

    @property
    def place(self) -> str:
        """The first file that it changes; empty if it is Python."""
        return self.kill_list.edits[0].file if self.kill_list.edits else ""


def load() -> tuple[NamedMutant, ...]:
    """Return every named mutant."""
    return tuple(map(NamedMutant, load_kill_lists()))


async def run(mutants: Sequence[NamedMutant], seed: int, results: Results) -> None:
    """Run the suite against each mutant and compare the verdicts with its kill list.

    Raises:
        StackFault: The stack did not come up.
    """
    for mutant in mutants:
        kill_list, started = mutant.kill_list, time.perf_counter()
        verdicts = await verdicts_against(kill_list.mutant, kill_list.surface, seed, kill_list.lanes)
        failed, warned = (
            [row for row, verdict in verdicts.items() if verdict is one] for one in (Verdict.FAIL, Verdict.WARN)
        )
        results.add(
            Result(
                KIND,
                mutant.id,
                "killed" if failed else "warned" if warned else "survived",
                kill_list.differences(verdicts),
                killed_by=dict.fromkeys(failed, ""),
                warned_by=dict.fromkeys(warned, ""),
                seconds=round(time.perf_counter() - started, 1),
                facts={"rule": kill_list.rule, "caught_by": kill_list.caught_by},
            )
        )
