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
        Mutant(one.mutant, one.edits[0].file if one.edits else "", f"{one.caught_by}  {one.rule}", one)
        for one in load_kill_lists()
    ]


async def run(kill_lists: Sequence[KillList], seed: int, results: Results) -> None:
    """Run the suite against each mutant and compare the verdicts with its kill list.

    Raises:
        StackFault: The stack did not come up.
    """
    for kill_list in kill_lists:
        started = time.perf_counter()
        verdicts = await verdicts_against(kill_list.mutant, kill_list.surface, seed, kill_list.lanes)
        failed, warned = (
            [row for row, verdict in verdicts.items() if verdict is one] for one in (Verdict.FAIL, Verdict.WARN)
        )
        results.add(
            Result(
                KIND,
                kill_list.mutant,
                "killed" if failed else "warned" if warned else "survived",
                kill_list.list_differences(verdicts),
                killed_by=dict.fromkeys(failed, ""),
                warned_by=dict.fromkeys(warned, ""),
                seconds=round(time.perf_counter() - started, 1),
                facts={"rule": kill_list.rule, "caught_by": kill_list.caught_by},
            )
        )
