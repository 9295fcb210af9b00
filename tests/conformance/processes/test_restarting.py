"""Starting a server under test again by a command of the operator's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.http.client import Client, Counter, Names, Unreachable
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
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


async def restarted(words: Sequence[str], server: Waking) -> None:
    """Restart a server by a command."""
    names = Names()
    names.secret("hunter-two-and-a-half", "SECRET")
    await restart(words, URL, Client(server, EventLog(), "a check", names, Counter()), names)


async def test_the_command_is_run_and_the_server_waited_for(tmp_path: Path) -> None:
    """Whatever it answers, it is there."""
    done, server = tmp_path / "done", Waking()
    await restarted(["sh", "-c", 'touch "$0"', str(done)], server)
    assert done.exists()
    assert server.calls == 3


async def test_a_command_that_fails_decides_nothing_and_tells_no_secret() -> None:
    """Its code and its last words are told."""
    with pytest.raises(Inconclusive, match="ended with 7: no unit of this name") as found:
        await restarted(["sh", "-c", "echo no unit of this name hunter-two-and-a-half; exit 7"], Waking())
    assert "hunter" not in str(found.value)


async def test_a_command_that_is_not_there_decides_nothing() -> None:
    """Nobody is to blame but the profile."""
    with pytest.raises(Inconclusive, match="cannot be run"):
        await restarted(["/no/such/command"], Waking())
