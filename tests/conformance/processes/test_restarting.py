"""Starting a server under test again by a command of the operator's."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Client, Counter, Names, Unreachable
from conformance.http.workers import Workers
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.processes import restarting
from conformance.processes.process_cleanup import ProcessWatch
from conformance.processes.restarting import restart

URL = "http://server.test/"


class Waking:
    """A server that answers from its third call on."""

    def __init__(self) -> None:
        self.calls = 0

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request."""
        del method, url, headers, body
        self.calls += 1
        if self.calls < 3:
            raise Unreachable("refused")
        return 404, CIMultiDictProxy(CIMultiDict[str]()), b""


async def restart_server(words: Sequence[str], server: Waking) -> None:
    """Restart a server by a command."""
    names = Names()
    names.secret("hunter-two-and-a-half", "SECRET")
    await restart(words, URL, Client(server, EventLog(), "a check", names, Counter()), names)


async def test_the_command_is_run_and_the_server_waited_for(tmp_path: Path) -> None:
    """Whatever it answers, it is there."""
    done_file, server = tmp_path / "done", Waking()
    await restart_server(["sh", "-c", 'touch "$0"', str(done_file)], server)
    assert done_file.exists()
    assert server.calls == 3


async def test_every_worker_is_waited_for() -> None:
    """A command that restarts several workers is done when the last one answers."""
    urls, names = ["http://a.test", "http://b.test"], Names()
    asked: list[str] = []

    class Pair(Waking):
        async def send(
            self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
        ) -> tuple[int, CIMultiDictProxy[str], bytes]:
            asked.append(url)
            return await super().send(method, url, headers, body)

    client = Client(Pair(), EventLog(), "a check", names, Counter())
    client.workers = Workers(1, {"http://server.test": urls})
    await restart(["true"], URL, client, names)
    assert asked == ["http://a.test/"] * 3 + ["http://b.test/"]


async def test_a_command_that_fails_decides_nothing_and_tells_no_secret() -> None:
    """Its code and its last output are reported."""
    with pytest.raises(Inconclusive, match="ended with 7: no unit of this name") as error:
        await restart_server(["sh", "-c", "echo no unit of this name hunter-two-and-a-half; exit 7"], Waking())
    assert "hunter" not in str(error.value)


async def test_a_command_that_is_not_there_decides_nothing() -> None:
    """The profile is to blame."""
    with pytest.raises(Inconclusive, match="cannot be run"):
        await restart_server(["/no/such/command"], Waking())


STARTS = 'env > "$0/env"; setsid sleep 60 & echo $! > "$0/pid"'


def alive(folder: Path) -> bool:
    """Return whether what the command started runs, and end it."""
    process = int((folder / "pid").read_text())
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


async def wait_until_written(file: Path) -> None:
    """Wait until something was written into a file."""
    async with asyncio.timeout(30):
        while not file.exists() or not file.read_text():  # noqa: ASYNC110 - a shell writes it
            await asyncio.sleep(0.01)


async def test_what_the_command_started_is_the_operators(tmp_path: Path) -> None:
    """It bears no mark of the run, and is there when the run has ended what it started itself."""
    watch = ProcessWatch()
    try:
        await restart_server(["sh", "-c", STARTS, str(tmp_path)], Waking())
    finally:
        watch.close()
    assert alive(tmp_path)
    assert "WELDPROOF_RUN" not in (tmp_path / "env").read_text()


async def test_an_interrupted_run_lets_the_command_come_to_its_end(tmp_path: Path) -> None:
    """The server may be down already, and would not come up again."""
    watch = ProcessWatch()
    command = 'echo yes > "$0/begun"; while [ ! -e "$0/go" ]; do sleep 0.05; done; ' + STARTS
    task = asyncio.create_task(restart_server(["sh", "-c", command, str(tmp_path)], Waking()))
    await wait_until_written(tmp_path / "begun")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    watch.kill()
    watch.close()
    (tmp_path / "go").touch()
    await wait_until_written(tmp_path / "pid")
    assert alive(tmp_path)


async def test_a_command_without_an_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what it started, because that may or may not be the server."""
    monkeypatch.setattr(restarting, "RESTART_SECONDS", 1.0)
    monkeypatch.setattr(restarting, "_END_SECONDS", 0.5)
    words = ["sh", "-c", STARTS + '; echo $$ > "$0/own"; exec sleep 60', str(tmp_path)]
    with pytest.raises(Inconclusive, match="does not answer"):
        await restart_server(words, Waking())
    assert alive(tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "own").read_text()), 0)
