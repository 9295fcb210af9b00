"""The conditions of a run: its number of workers, and the other load on the machine."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BUSY_LOOPS = 4
_STALL_SECONDS = 0.5
# On average so long between two stalls, of whichever process: in a minute each process of a run has had one or two.
_BETWEEN_STALLS = 1.0
# Ends with the process that started it: it reads a pipe that is never written to.
_LOOP: Final = (
    "import os, threading; threading.Thread(target=lambda: (os.read(0, 1), os._exit(0))).start()\nwhile True: pass"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """What one run of the rotation is put under.

    Attributes:
        name: Its name, for the table.
        options: Further options of `weldproof run`.
        busy: Loops that take whole processors meanwhile.
        stalls: Whether processes of the run are stopped for half a second now and then.
    """

    name: str
    options: tuple[str, ...] = ()
    busy: int = 0
    stalls: bool = False


ROTATION: Final = (
    Condition("quiet"),
    Condition("busy", busy=_BUSY_LOOPS),
    Condition("stalls", stalls=True),
    Condition("workers-2", ("--workers", "2")),
    Condition("workers-8", ("--workers", "8")),
)


@contextmanager
def in_force(condition: Condition, process: subprocess.Popen[bytes], seed: int) -> Iterator[list[str]]:
    """Put a run under a condition until it is left.

    Args:
        condition: The condition.
        process: The run, which began just now.
        seed: Seed of when and whom a stall meets.

    Yields:
        The stalls so far, a line each: seconds since the start, the process and its command.
    """
    stalls: list[str] = []
    with contextlib.ExitStack() as ends:
        for _ in range(condition.busy):
            ends.enter_context(_busy_loop())
        if condition.stalls:
            ends.enter_context(_stall_processes(process.pid, random.Random(seed), stalls))  # noqa: S311 - repeatable
        yield stalls


@contextmanager
def _busy_loop() -> Iterator[None]:
    loop = subprocess.Popen([sys.executable, "-c", _LOOP], stdin=subprocess.PIPE)  # noqa: S603 - our own words
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


@contextmanager
def _stall_processes(root: int, rng: random.Random, stalls: list[str]) -> Iterator[None]:
    over = threading.Event()
    stopper = threading.Thread(target=_stall_until, args=(over, root, rng, stalls))
    stopper.start()
    try:
        yield
    finally:
        over.set()
        stopper.join()


def _stall_until(over: threading.Event, root: int, rng: random.Random, stalls: list[str]) -> None:
    stall_counts: dict[int, int] = {}
    at = 0.0
    while not over.wait(pause := rng.expovariate(1 / _BETWEEN_STALLS)):
        at += pause
        pids = family(root)
        if not pids:
            continue
        # Who had the fewest so far is next, so that every process has its turn, also one that lives for seconds.
        fewest = min(stall_counts.get(pid, 0) for pid in pids)
        pid = rng.choice([pid for pid in pids if stall_counts.get(pid, 0) == fewest])
        stall_counts[pid] = stall_counts.get(pid, 0) + 1
        stalls.append(f"{at:.2f} s: {pid} {command_of(pid)}")
        stall(pid, over)
        at += _STALL_SECONDS


def stall(pid: int, over: threading.Event) -> None:
    """Stop a process for half a second, or until `over` is set; one that ended meanwhile is not stopped."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        try:
            over.wait(_STALL_SECONDS)
        finally:
            os.kill(pid, signal.SIGCONT)


def family(root: int) -> list[int]:
    """Return the ids of a process and of everything that it started, by /proc; the dead are left out."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                state, parent = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents[int(entry.name)] = int(parent)
    pids = [root] if root in parents else []
    for pid in pids:
        pids += [child for child, parent in parents.items() if parent == pid]
    return pids


def command_of(pid: int) -> str:
    """Return the first words of a process' command."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        command = " ".join(word.rsplit("/", 1)[-1] for word in words[:4]).strip()
        # The services of a stack are forks, distinguished only by their names.
        return (
            f"{command} ({Path(f'/proc/{pid}/comm').read_text().strip()})" if "localnet.prepared" in words else command
        )
    return ""
