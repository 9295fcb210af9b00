"""A run that is ended by a signal: its evidence is kept and says so, and nothing that it started is left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from conformance.log.events import LOG, read_log
from tests.conformance.cli.ending import find_processes_using

RUN = [sys.executable, "-m", "conformance", "run", "CP", "--reference"]
KINDS = ("html", "json", "junit", "markdown", "sarif", "badge")
_LONG = 600.0
# A program that ends neither when it is asked to nor when its starter does, in a session of its own.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
if len(sys.argv) == 1:
    subprocess.Popen([sys.executable, __file__, "again"], start_new_session=True)
open(os.path.join(os.environ["TMPDIR"], f"started-{len(sys.argv)}"), "w").close()
time.sleep(3600)
"""

# Something that has not noticed the end starts a program when the work is over.
LATE = """
import asyncio, os, signal, subprocess, sys
from conformance.processes import interrupt
from conformance.processes.launching import make_environment
async def work():
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(3600)
try:
    interrupt.run_interruptible(work())
except asyncio.CancelledError:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], env=make_environment({}))
interrupt.end_interrupted()
"""


@contextmanager
def start_run(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run with its temporary files in `folder`."""
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen([*RUN, *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def until(ready: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until something is so; the process must not have ended before."""
    ends = time.monotonic() + _LONG
    while not ready():
        assert process is None or process.poll() is None, "it ended by itself"
        assert time.monotonic() < ends, "it never got there"
        time.sleep(0.02)


def at_work(folder: Path) -> Callable[[], bool]:
    """Return whether a run has a hub of a check's own among its folders, beside its stack."""
    return lambda: any(folder.glob("weldproof-hub-*/data/*"))


def find_leftovers(folder: Path) -> list[object]:
    """Return what a run has left: processes, folders, and whether a server still listens at its stack's address."""
    leftovers: list[object] = [*find_processes_using(folder), *folder.glob("weldproof-*"), *folder.glob("wp-*")]
    first_events = read_log(folder / "report" / LOG)[:1]
    for url in (url for event in first_events for url in event["target"]["surfaces"].values()):
        address = urlsplit(url)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", address.port or 0)) == 0:
                leftovers.append(url)
    return leftovers


def test_the_first_signal_keeps_the_evidence(tmp_path: Path) -> None:
    """The run ends with 130, its log and each report say that it was interrupted, and nothing is left."""
    keeps_its_evidence(tmp_path, signal.SIGINT)


@pytest.mark.slow
def test_a_first_sigterm_keeps_the_evidence(tmp_path: Path) -> None:
    """It is taken as Ctrl-C is."""
    keeps_its_evidence(tmp_path, signal.SIGTERM)


def keeps_its_evidence(folder: Path, number: signal.Signals) -> None:
    """Interrupt a run by a signal, and hold it to what it must leave and must not."""
    with start_run(folder, *(word for kind in KINDS for word in ("--report", kind))) as process:
        until(at_work(folder), process)
        process.send_signal(number)
        assert process.wait(_LONG) == 130
        assert find_leftovers(folder) == []
    events = read_log(folder / "report" / LOG)
    assert (events[-1]["event"], events[-1]["interrupted"]) == ("run.finished", True)
    reports = [one for one in (folder / "report").iterdir() if one.name != LOG]
    assert len(reports) == len(KINDS)
    assert [one.name for one in reports if "interrupted" not in one.read_text("utf-8").lower()] == []


def test_the_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Not even the reports are written then, and yet nothing is left."""
    ends_at_once(tmp_path, signal.SIGTERM, signal.SIGINT)


@pytest.mark.slow
def test_a_sigterm_after_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    """Which of the two comes first makes no difference."""
    ends_at_once(tmp_path, signal.SIGINT, signal.SIGTERM)


def ends_at_once(folder: Path, *numbers: signal.Signals) -> None:
    """Send a run two signals, and hold that nothing is left of it."""
    with start_run(folder) as process:
        until(at_work(folder), process)
        for number in numbers:
            process.send_signal(number)
        assert process.wait(_LONG) == 130
        assert find_leftovers(folder) == []
    assert read_log(folder / "report" / LOG)[0]["event"] == "run.started"


def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """Where it cannot clean up itself, the process beside it does."""
    with start_run(tmp_path) as process:
        until(at_work(tmp_path), process)
        process.kill()
        process.wait()
        until(lambda: find_leftovers(tmp_path) == [])


def test_what_is_started_after_the_end_of_the_work_ends_too(tmp_path: Path) -> None:
    """A check may start a program again because the one before was killed: the run leaves neither behind."""
    result = subprocess.run([sys.executable, "-c", LATE], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert result.returncode == 130
    assert find_processes_using(tmp_path) == []


def test_a_stack_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """The services of `weldproof up` end with it, however it ends."""
    words = ["--surface", "control_plane", "--no-addons", "--json", "--port-base", "0"]
    command = [*RUN[:3], "up", *words]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b'"ready":true' in process.stdout.readline()
        assert len(find_processes_using(tmp_path)) > 1
        process.kill()
        process.wait()
        until(lambda: find_processes_using(tmp_path) == [])


def test_a_program_that_will_not_end_is_killed(tmp_path: Path) -> None:
    """The run does not wait for it, nor for what it started in a separate session."""
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    words = ["CP-ADDON", "--addon", "--", sys.executable, str(tmp_path / "stubborn.py")]
    run = [*RUN[:4], *words]
    with subprocess.Popen(run, cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)}) as process:
        until(lambda: len([*tmp_path.glob("started-*")]) == 2, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_LONG) == 130
    assert [*find_processes_using(tmp_path), *tmp_path.glob("weldproof-*")] == []
