"""Whole runs in rotation: what is kept of them, and that the conditions are put in force."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from tools.steady.conditions import ROTATION, Condition, family, in_force

ROOT = Path(__file__).parents[3]

# Stands in for the suite: it writes a report in which each row has the verdict that its number asks for.
SCRIPT = """
import json, pathlib, sys
words = dict(zip(sys.argv[2::2], sys.argv[3::2]))
seed, folder = int(words["--seed"]), pathlib.Path(words["--report-dir"])
broken = seed == int(sys.argv[1])
verdicts = {"X-JSON-01": "pass", "GW-DOC-01": "documented", "RAIL-WELD-02": "inconclusive" if broken else "pass"}
rows = [{"extra": {"requirement": {"id": name}, "verdict": word, "reason": None}} for name, word in verdicts.items()]
(folder / "report.json").write_text(json.dumps({"results": {"tests": rows}}))
print("workers", words.get("--workers"))
sys.exit(3 if broken else 0)
"""

# Tells each time that it was stopped: its own clock went on, and it did not.
WATCHFUL = """
import time
before = time.monotonic()
while True:
    time.sleep(0.01)
    now = time.monotonic()
    if now - before > 0.4:
        print("stopped", flush=True)
    before = now
"""


def steady(folder: Path, *options: str, broken: int = 0) -> tuple[int, list[dict[str, Any]]]:
    """Run the tool over the stand-in, and return its exit code and its runs."""
    words = [sys.executable, "-c", SCRIPT, str(broken)]
    result = subprocess.run(
        [sys.executable, "-m", "tools.steady", "--folder", str(folder), *options, "--", *words], cwd=ROOT, check=False
    )
    return result.returncode, [orjson.loads(line) for line in (folder / "runs.ndjson").read_bytes().splitlines()]


def test_runs_take_turns_and_each_has_a_seed_of_its_own(tmp_path: Path) -> None:
    """Conditions follow each other in the order of the rotation, seeds count up; reports of sound runs are deleted."""
    code, runs = steady(tmp_path, "--runs", "6", "--first-seed", "11")
    assert code == 0
    names = [condition.name for condition in ROTATION]
    assert [run["condition"] for run in runs] == [*names, names[0]]
    assert [run["seed"] for run in runs] == [11, 12, 13, 14, 15, 16]
    assert all(run["counts"] == {"pass": 2, "documented": 1} for run in runs)
    assert [path.name for path in tmp_path.iterdir()] == ["runs.ndjson"]


def test_what_differs_is_told_and_kept(tmp_path: Path) -> None:
    """A row that is not sound is named with its verdict, its report stays, and the series ends with 1."""
    code, runs = steady(tmp_path, "--runs", "2", "--condition", "workers-8", broken=2)
    assert code == 1
    assert runs[0]["different"] == {}
    assert runs[1]["different"] == {"RAIL-WELD-02": "inconclusive: None"}
    assert runs[1]["exit_code"] == 3
    kept_folder = tmp_path / "002-workers-8-2"
    assert (kept_folder / "report.json").exists()
    assert (kept_folder / "output.txt").read_text("utf-8") == "workers 8\n"


def test_a_run_without_a_report_differs(tmp_path: Path) -> None:
    """A command that ends well and writes nothing is not taken for a sound run."""
    words = [sys.executable, "-m", "tools.steady", "--runs", "1", "--folder", str(tmp_path), "--", "true"]
    assert subprocess.run(words, cwd=ROOT, check=False).returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_series_ends_its_run(tmp_path: Path, number: signal.Signals) -> None:
    """After a signal the series ends with 130, and nothing that it started runs on."""
    words = [sys.executable, "-m", "tools.steady", "--runs", "1", "--condition", "busy", "--folder", str(tmp_path)]
    command = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
    series = subprocess.Popen([*words, "--", *command], cwd=ROOT, start_new_session=True)
    while len(started_pids := family(series.pid)) < 1 + 1 + 4:  # the series, its run, four loops
        assert series.poll() is None
        time.sleep(0.02)
    series.send_signal(number)
    assert series.wait() == 130
    # A loop whose start the signal met is ended by its pipe alone, which closes when the series is gone.
    deadline = time.monotonic() + 60
    while remaining_pids := [pid for pid in started_pids if family(pid)]:
        assert time.monotonic() < deadline, remaining_pids
        time.sleep(0.02)


def test_a_stalled_process_stands_still_and_goes_on() -> None:
    """Under stalls a process is stopped for half a second again and again, and runs afterwards."""
    process = subprocess.Popen([sys.executable, "-u", "-c", WATCHFUL], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        with in_force(Condition("stalls", stalls=True), process, seed=3) as stalls:
            assert process.stdout.readline() == b"stopped\n"
            assert process.stdout.readline() == b"stopped\n"
        assert len(stalls) >= 2
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_busy_loops_end_with_their_series() -> None:
    """Loops run while a run is in force, and end with it."""
    process = subprocess.Popen(["sleep", "600"])
    code = (
        "import os, subprocess, sys\n"
        "from tools.steady.conditions import Condition, in_force\n"
        "process = subprocess.Popen(['sleep', '600'])\n"
        "with in_force(Condition('busy', busy=2), process, 1):\n"
        "    print('in force', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    series = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert series.stdout is not None
    try:
        series.stdout.readline()
        started_pids = family(series.pid)
        assert len(started_pids) == 4
        series.kill()  # it can clean up nothing
        series.wait()
        loops = [pid for pid in started_pids[1:] if b"sleep" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
        while any(family(pid) for pid in loops):
            time.sleep(0.02)
    finally:
        for pid in started_pids[1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
