"""The in-process figures, from the program that takes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from tools.bench.ratios import Job, join_parts, shares


class BenchFault(Exception):
    """The program that measures did not end well; the text is what it said."""


def measure(names: Sequence[str], *, rounds: int, seconds: float) -> tuple[tuple[Job, ...], Mapping[str, str]]:
    """Run `python -m tools.bench.reference` and return its jobs and the versions it measured; its progress is shown.

    The rounds are those of several processes, one after the other (`ratios.shares`).

    Raises:
        BenchFault: It did not end well.
    """
    only = [word for name in names for word in ("--only", name)]
    runs = [_run(["--json", "--rounds", str(share), "--seconds", str(seconds), *only]) for share in shares(rounds)]
    try:
        parts = zip(*([Job.read(job) for job in one["jobs"]] for one in runs), strict=True)
        return tuple(map(join_parts, parts)), dict(runs[0]["versions"])
    except (KeyError, TypeError, ValueError) as fault:
        raise BenchFault(f"python -m tools.bench.reference printed no figures: {fault}") from fault


def profiles(names: Sequence[str]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return where the time of each job goes: `part` and `share`, the largest first.

    Raises:
        BenchFault: The program that profiles did not end well.
    """
    shares: Mapping[str, Sequence[Mapping[str, Any]]] = _run(["profile", *names])
    return shares


def _run(words: Sequence[str]) -> Any:
    command = [sys.executable, "-m", "tools.bench.reference", *words]
    process = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603 - fixed words
    if process.returncode != 0:
        raise BenchFault(f"python -m tools.bench.reference ended with status {process.returncode}")
    try:
        return orjson.loads(process.stdout)
    except orjson.JSONDecodeError as fault:
        raise BenchFault(f"python -m tools.bench.reference printed no figures: {fault}") from fault
