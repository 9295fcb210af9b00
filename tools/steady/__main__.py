"""`python -m tools.steady --runs N`: whole runs of the suite in rotation, and what differed.

Each run has a seed of its own, and one condition of the rotation (`tools.steady.conditions`). A line of `runs.ndjson`
says what came of it; the report of a run that differed is kept beside it, the others' are deleted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import click
import orjson

from conformance.outcome import SOUND
from tools.steady.conditions import ROTATION, Condition, in_force

_NAMES = [condition.name for condition in ROTATION]
_END_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run came to.

    Attributes:
        number: Its place in the series, from 1.
        condition: Name of what it was put under.
        seed: Its seed.
        exit_code: What it ended with.
        seconds: How long it took, the start of the stack among it.
        processor: CPU seconds of all its processes.
        counts: Rows by verdict.
        different: What was not as it should be: the verdict and the reason by row.
        stalls: Stalls that it was put under.
    """

    number: int
    condition: str
    seed: int
    exit_code: int
    seconds: float
    processor: float
    counts: Mapping[str, int]
    different: Mapping[str, str] = field(default_factory=dict)
    stalls: Sequence[str] = ()

    @property
    def sound(self) -> bool:
        """Whether every row was judged, and none was found broken."""
        return self.exit_code == 0 and not self.different

    @property
    def line(self) -> str:
        """One line of the table."""
        counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.counts.items())) or "no report"
        word = "sound" if self.sound else "DIFFERS"
        head = f"{self.number:4} {self.condition:10} seed {self.seed:<10} exit {self.exit_code:<3}"
        return f"{head} {self.seconds:6.1f} s {self.processor:6.1f} s CPU  {word:8} {counts}"


def run_once(number: int, condition: Condition, seed: int, words: Sequence[str], folder: Path) -> Outcome:
    """Run the command once under a condition, and read its report.

    Args:
        number: Its place in the series.
        condition: What it is put under.
        seed: Its seed.
        words: The command; seed, options and report folder are added.
        folder: Where its report and its output go.
    """
    folder.mkdir(parents=True)
    command = [*words, "--seed", str(seed), *condition.options, "--report", "json", "--report-dir", str(folder)]
    began = time.monotonic()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # noqa: S603 - the caller's words
        try:
            with in_force(condition, process, seed) as stalls:
                _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _end(process)
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    counts, different = read_report(folder / "report.json")
    return Outcome(
        number,
        condition.name,
        seed,
        process.returncode,
        round(time.monotonic() - began, 1),
        round(usage.ru_utime + usage.ru_stime, 1),
        counts,
        different,
        tuple(stalls),
    )


def read_report(path: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Return the rows of a JSON report by verdict, and what is not sound in it by row."""
    if not path.exists():
        return {}, {"": "the run wrote no report"}
    rows: list[dict[str, Any]] = [test["extra"] for test in orjson.loads(path.read_bytes())["results"]["tests"]]
    different = {
        str(row["requirement"]["id"]): f"{row['verdict']}: {row['reason']}"
        for row in rows
        if row["verdict"] not in SOUND
    }
    return dict(Counter(str(row["verdict"]) for row in rows)), different


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return a table by condition: runs, sound ones, the median and the longest time, CPU."""
    lines = [f"{'condition':10} {'runs':>5} {'sound':>6} {'median s':>9} {'longest s':>10} {'median CPU s':>13}"]
    for name in dict.fromkeys(outcome.condition for outcome in outcomes):
        of = [outcome for outcome in outcomes if outcome.condition == name]
        seconds, processor = (
            sorted(values) for values in zip(*((one.seconds, one.processor) for one in of), strict=True)
        )
        sound, middle = sum(outcome.sound for outcome in of), len(of) // 2
        figures = f"{seconds[middle]:9.1f} {seconds[-1]:10.1f} {processor[middle]:13.1f}"
        lines.append(f"{name:10} {len(of):5} {sound:6} {figures}")
    return "\n".join(lines)


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="How many runs.")
@click.option(
    "--first-seed", type=int, default=1, show_default=True, help="Seed of the first run; each later one has the next."
)
@click.option(
    "--condition", "names", multiple=True, type=click.Choice(_NAMES), help="Only this condition of the rotation."
)
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("steady"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print each run as a line of JSON, nothing else.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def main(
    runs: int, first_seed: int, names: Sequence[str], folder: Path, words: Sequence[str], *, as_json: bool
) -> None:
    """Repeat whole runs in rotation: quiet, beside busy loops, beside stalls, with 2 and with 8 workers.

    WORDS is the command that is repeated, `weldproof run --reference` by default; it takes --seed, --report and
    --report-dir.

    Exit codes: 0 every run was sound, 1 one differed, 130 interrupted.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    rotation = [condition for condition in ROTATION if not names or condition.name in names]
    command = list(words) or [str(Path(sys.executable).with_name("weldproof")), "run", "--reference"]
    folder.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with contextlib.suppress(KeyboardInterrupt), (folder / "runs.ndjson").open("ab") as log:
        for number in range(1, runs + 1):
            outcome = _run_and_keep(
                number, rotation[(number - 1) % len(rotation)], first_seed + number - 1, command, folder
            )
            outcomes.append(outcome)
            log.write(orjson.dumps(asdict(outcome)) + b"\n")
            log.flush()
            click.echo(orjson.dumps(asdict(outcome)).decode() if as_json else outcome.line)
    is_interrupted = len(outcomes) < runs
    if not as_json:
        click.echo(f"\n{summary(outcomes)}" if outcomes else "no run came to its end")
    sys.exit(130 if is_interrupted else int(not all(outcome.sound for outcome in outcomes)))


def _run_and_keep(number: int, condition: Condition, seed: int, command: Sequence[str], folder: Path) -> Outcome:
    """Run once, and keep the report where something differed."""
    with tempfile.TemporaryDirectory(prefix="steady-", dir=folder) as scratch:
        place = Path(scratch) / f"{number:03}-{condition.name}-{seed}"
        outcome = run_once(number, condition, seed, command, place)
        if not outcome.sound:
            shutil.move(place, folder / place.name)
    return outcome


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
