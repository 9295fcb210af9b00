"""Recording which checks reach which line: one check after the other, over services that note what they run."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from tools.mutation.reach import START_CHECK, Reach, gather
from tools.mutation.service.tracing import ASK_SIGNAL
from tools.mutation.stacks import StackKind
from tools.mutation.stand import RUNNER, start_stand

_TELLING_SECONDS = 20.0


async def record(kind: StackKind, seed: int, say: Callable[[str], None], only: Collection[str] = ()) -> Reach:
    """Return what reaches what on a stand of some surfaces and lanes.

    Args:
        kind: What is run.
        seed: Seed of the runs.
        say: Takes a line for each check.
        only: Names of the checks to record, without their lanes; if empty, all checks.
    """
    with tempfile.TemporaryDirectory(prefix="weldproof-lines-") as name:
        notes = Notes(Path(name))
        async with start_stand(kind.surfaces, kind.lanes) as stand:
            await stand.renew([RUNNER, "trace", name])
            lines_by_check = {START_CHECK: await notes.since(stand.services)}
            for check in [one for one in stand.checks() if not only or one.id.partition("[")[0] in only]:
                judgements = await stand.judge([check], seed)
                lines_by_check[check.id] = await notes.since(stand.services)
                unsound = [f"{row}: {reason}" for row, reason in judgements.reasons.items()]
                say(f"{check.id}: {len(lines_by_check[check.id])} lines, {judgements.seconds} s {' '.join(unsound)}")
    return Reach(kind.surfaces, kind.lanes, gather(lines_by_check))


class Notes:
    """The folder in which traced processes note their lines: those of the stack, and those that checks start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    async def since(self, pids: Sequence[int]) -> set[tuple[str, int]]:
        """Return the lines, as (file, line), that were run since this was last asked.

        Args:
            pids: Processes that go on, and are asked to begin a new list of their lines.

        Raises:
            TimeoutError: One does not answer.
        """
        answers = {*self._folder.glob("*.told")}
        for pid in pids:
            await self._ask(pid)
        # A process that is not asked goes on with its file, or has ended.
        own = {self._folder / f"{pid}.lines" for pid in pids}
        other_files = {*self._folder.glob("*.lines")} - own
        text = "".join(self._further(path) for path in [*({*self._folder.glob("*.told")} - answers), *other_files])
        places = [line.rpartition(":") for line in text.splitlines()]
        return {(file, int(number)) for file, _, number in places}

    async def _ask(self, pid: int) -> None:
        before = len([*self._folder.glob(f"{pid}.*.told")])
        with suppress(ProcessLookupError):
            os.kill(pid, ASK_SIGNAL)
            async with asyncio.timeout(_TELLING_SECONDS):
                while len([*self._folder.glob(f"{pid}.*.told")]) == before:  # noqa: ASYNC110 - another process writes it
                    await asyncio.sleep(0.02)

    def _further(self, path: Path) -> str:
        """Return what a process noted since its file was last read, whole lines of it."""
        pid = path.name.partition(".")[0]
        data = path.read_bytes()[self._read.get(pid, 0) :]
        data = data[: data.rfind(b"\n") + 1]
        if path.suffix == ".lines":
            self._read[pid] = self._read.get(pid, 0) + len(data)
        return data.decode("utf-8")
