"""Recording which checks reach which line: one check after the other, over services that note what they run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from tools.mutation.reach import STARTING, Reach, gathered
from tools.mutation.stand import RUNNER, standing


async def recorded(
    surfaces: Sequence[str], lanes: Sequence[str], seed: int, say: Callable[[str], None], only: Collection[str] = ()
) -> Reach:
    """Return what reaches what on a stand of some surfaces and lanes.

    Args:
        surfaces: Surfaces whose rows are run.
        lanes: Lanes that are offered.
        seed: Seed of the runs.
        say: Takes a line for each check.
        only: Names of checks, without their lanes, that alone are recorded; all where there are none.
    """
    with tempfile.TemporaryDirectory(prefix="weldproof-lines-") as name:
        folder = Path(name)
        async with standing(surfaces, lanes) as stand:
            await stand.renew([RUNNER, "trace", name])
            seen = {STARTING: await stand.lines(0, folder)}
            chosen = [one for one in stand.checks() if not only or one.id.partition("[")[0] in only]
            for number, check in enumerate(chosen, start=1):
                judged = await stand.judge([check], seed)
                seen[check.id] = await stand.lines(number, folder)
                unsound = [f"{row}: {reason}" for row, reason in judged.reasons.items()]
                say(f"{check.id}: {len(seen[check.id])} lines, {judged.seconds} s {' '.join(unsound)}")
    return Reach(tuple(surfaces), tuple(lanes), gathered(seen))
