"""A campaign: worlds that several processes run side by side, written down line by line, and gone on with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Sums:
    """What worlds have come to, by what was written down of each.

    Attributes:
        violations: How many rules were broken, in all of them.
    """

    worlds: int = 0
    operations: int = 0
    requests: int = 0
    transfers: int = 0
    commits: int = 0
    violations: int = 0
    cpu_seconds: float = 0.0

    def add(self, world_entry: dict[str, Any]) -> None:
        """Count one more world."""
        self.worlds += 1
        self.operations += world_entry["operations"]
        self.requests += world_entry["requests"]
        self.transfers += world_entry["transfers"]
        self.commits += world_entry["commits"]
        self.violations += len(world_entry["violations"])
        self.cpu_seconds = round(self.cpu_seconds + world_entry["cpu_seconds"], 2)

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())


@cache
def revision() -> str:
    """Return the commit that worlds are run on, with a plus behind it where files differ; empty outside a clone."""
    result = subprocess.run(
        ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout.strip()


def write_down(world_entry: dict[str, Any], path: Path) -> None:
    """Append a world to a log, which other processes write to as well."""
    with path.open("a") as log:
        log.write(json.dumps({**world_entry, "revision": revision()}) + "\n")


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entry of each world in a log; an incomplete line is ignored."""
    if path.exists():
        for line in path.read_text().splitlines():
            with suppress(ValueError):
                world_entry = json.loads(line)
                if isinstance(world_entry, dict):
                    yield world_entry


def done_before(path: Path, operations: int) -> set[int]:
    """Return the seeds of the worlds with so many operations in a log."""
    return {told["seed"] for told in read_entries(path) if told["operations"] == operations}


def sum_log(path: Path) -> Sums:
    """Return what all worlds of a log have come to."""
    sums = Sums()
    for world_entry in read_entries(path):
        sums.add(world_entry)
    return sums


def side_by_side(jobs: int, seed: int, worlds: int, words: Sequence[str]) -> bool:
    """Share the seeds among so many processes in turn, and return whether every rule held in all of them."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.simulation", *words, "--seed", str(seed + number), "--stride", str(jobs),
             "--worlds", str(len(range(number, worlds, jobs)))],
            cwd=ROOT,
        )
        for number in range(jobs)
    ]  # fmt: skip
    try:
        statuses = [one.wait() for one in processes]
        return not any(statuses)
    finally:
        for process in processes:
            process.terminate()
