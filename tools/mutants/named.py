"""Named mutants of the reference: exactly the requirements of its kill list must notice each.

`weldproof selftest` runs the same mutants in the same way, from the wheel as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from conformance.cli.selftest.execution import verdicts_against
from conformance.outcome import Verdict
from conformance.selftest.kill_lists import KillList, load_kill_lists
from tools.mutants.choice import Mutant
from tools.mutants.results import Result, Results

KIND = "named"


def load() -> list[Mutant[KillList]]:
    """Return every named mutant; one in Python has no place."""
    return [
        Mutant(
            kill_list.mutant,
            kill_list.edits[0].file if kill_list.edits else "",
            f"{kill_list.caught_by}  {kill_list.rule}",
            kill_list,
        )
        for kill_list in load_kill_lists()
    ]


async def run_kill_lists(kill_lists: Sequence[KillList], seed: int, results: Results) -> None:
    """Run the suite against each mutant and compare the verdicts with its kill list.

    Raises:
        StackFault: The stack did not come up.
    """
    for kill_list in kill_lists:
        start_time = time.perf_counter()
        verdicts = await verdicts_against(kill_list.mutant, kill_list.surface, seed, kill_list.lanes)
        failing_rows, warning_rows = (
            [row for row, verdict in verdicts.items() if verdict is verdict_kind]
            for verdict_kind in (Verdict.FAIL, Verdict.WARN)
        )
        results.add(
            Result(
                KIND,
                kill_list.mutant,
                "killed" if failing_rows else "warned" if warning_rows else "survived",
                kill_list.list_differences(verdicts),
                killed_by=dict.fromkeys(failing_rows, ""),
                warned_by=dict.fromkeys(warning_rows, ""),
                seconds=round(time.perf_counter() - start_time, 1),
                facts={"rule": kill_list.rule, "caught_by": kill_list.caught_by},
            )
        )
