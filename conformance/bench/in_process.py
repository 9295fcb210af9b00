"""The in-process figures, from the program that takes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

import orjson

from conformance.bench.ratios import Job


class BenchFault(Exception):
    """The program that measures did not end well; the text is what it said."""


def measure(names: Sequence[str], *, rounds: int, seconds: float) -> tuple[tuple[Job, ...], Mapping[str, str]]:
    """Run `python -m reference.bench` and return its jobs and the versions it measured; its progress is shown.

    Raises:
        BenchFault: It did not end well.
    """
    words = [sys.executable, "-m", "reference.bench", "--json", "--rounds", str(rounds), "--seconds", str(seconds)]
    words += [word for name in names for word in ("--only", name)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)  # noqa: S603 - fixed words
    if done.returncode != 0:
        raise BenchFault(f"python -m reference.bench ended with status {done.returncode}")
    try:
        told = orjson.loads(done.stdout)
        return tuple(Job.read(job) for job in told["jobs"]), dict(told["versions"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as fault:
        raise BenchFault(f"python -m reference.bench told no figures: {fault}") from fault
