"""However a command ends, its exit code reports no false breach, and every process that it started has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.log.events import LOG, EventLog
from tests.conformance.cli.ending import find_processes_using
from tests.reserved_port import reserved_port

WELDPROOF = [sys.executable, "-m", "conformance"]
_LONG = 300.0
CHECK = "keys_are_published"


@contextmanager
def replace_list_command(monkeypatch: pytest.MonkeyPatch, end: BaseException) -> Iterator[None]:
    """Let the command `list` end with an exception."""

    @click.command("list")
    def command() -> None:
        raise end

    monkeypatch.setattr("conformance.cli.list.command", command)
    yield


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "weldproof: interrupted"),
        (AttributeError("no such thing"), 4, "AttributeError: no such thing"),
        (click.UsageError("not so"), 2, "not so"),
        (click.exceptions.Exit(3), 3, ""),
    ],
)
def test_how_a_command_ends_is_told(monkeypatch: pytest.MonkeyPatch, end: BaseException, code: int, says: str) -> None:
    """An interrupt before the first check is 130, a fault of a command 4, never the 1 of a breach."""
    with replace_list_command(monkeypatch, end):
        result = CliRunner().invoke(main, ["list"])
    assert result.exit_code == code
    assert says in result.output


def unread(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose standard output is not read."""
    reading, write_end = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*WELDPROOF, *words],
            cwd=folder,
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=_LONG,
        )
    finally:
        os.close(write_end)


def test_output_that_nobody_reads_changes_no_verdict(tmp_path: Path) -> None:
    """A run's code and reports are the same without a reader; another command ends as by SIGPIPE, without a trace."""
    with reserved_port() as port:
        run = unread(tmp_path, "run", "RAIL-KEY", "--target", f"rail=http://127.0.0.1:{port}")
    assert run.returncode == 3, run.stderr
    assert (tmp_path / "report" / "index.html").exists()
    for words in (("list",), ("report", "show", "report")):
        result = unread(tmp_path, *words)
        assert (result.returncode, result.stderr) == (141, ""), words


def test_a_report_folder_that_cannot_be_written_is_a_usage_fault(tmp_path: Path) -> None:
    """It is reported before anything is asked of the target."""
    (tmp_path / "file").write_text("in the way")
    words = ["run", "RAIL-KEY", "--target", "rail=http://127.0.0.1:9", "--report-dir", str(tmp_path / "file" / "in")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, result.output
    assert "--report-dir: cannot write" in result.output


def record_exchange(folder: Path) -> str:
    """Write a log with one exchange, and return how `weldproof replay` names it."""
    log = EventLog(folder / "report" / LOG)
    log.add("run.started", seed=5, options={}, rows=["RAIL-KEY-01"])
    request: dict[str, Any] = {"method": "GET", "url": "http://h/x", "path": "/x", "headers": [], "body": None}
    response = {"status": 200, "headers": [], "body": "", "body_bytes": 0, "milliseconds": 1.0}
    exchange_members = {"request": request, "response": response, "error": None}
    log.add("exchange", n=1, check=CHECK, ordinal=1, retry=False, **exchange_members)
    log.close()
    return "report#1"


def interrupt_command(folder: Path, words: list[str], ready: Callable[[], bool]) -> tuple[int, str]:
    """Run a command with its temporary files in `folder`, interrupt it once it is ready for that, and wait for it."""
    environment = os.environ | {"TMPDIR": str(folder)}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        ends = time.monotonic() + _LONG
        while not ready():
            assert process.poll() is None, "it ended by itself"
            assert time.monotonic() < ends, "it never got there"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=_LONG)
    return process.returncode, output


def test_130_when_a_replay_is_interrupted_while_its_stack_comes_up(tmp_path: Path) -> None:
    """The stack that it was starting is gone with its folder, and nothing is compared."""
    words = [*WELDPROOF, "replay", record_exchange(tmp_path), "--reference"]
    code, output = interrupt_command(tmp_path, words, lambda: any(tmp_path.glob("weldproof-*/rail/*")))
    assert (code, output) == (130, "")
    assert not list(tmp_path.glob("weldproof-*"))
    assert find_processes_using(tmp_path) == []


def test_130_when_a_replay_is_interrupted_in_its_check(tmp_path: Path) -> None:
    """A target that takes the request and says nothing is left alone at once."""
    name = record_exchange(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        (tmp_path / "t.toml").write_text(
            f'[surfaces.rail]\nurl = "{url}"\n[claims]\nsurfaces = ["rail"]\nlanes = []\n[budgets]\nrequest = {_LONG}\n'
        )
        taken_connections: list[socket.socket] = []

        def is_asked() -> bool:
            with contextlib.suppress(BlockingIOError):
                taken_connections.append(server.accept()[0])
            return bool(taken_connections)

        code, output = interrupt_command(tmp_path, [*WELDPROOF, "replay", name, "--config", "t.toml"], is_asked)
        for connection in taken_connections:
            connection.close()
    assert (code, output) == (130, "")
    assert find_processes_using(tmp_path) == []


def test_a_log_without_its_beginning_is_a_usage_fault(tmp_path: Path) -> None:
    """A log that does not tell how its run began cannot be replayed, and that is said."""
    log = EventLog(tmp_path / LOG)
    log.add("exchange", n=1, check=CHECK)
    log.close()
    result = CliRunner().invoke(main, ["replay", f"{tmp_path}#1"])
    assert result.exit_code == 2, result.output
    assert "does not contain the beginning of the run" in result.output
