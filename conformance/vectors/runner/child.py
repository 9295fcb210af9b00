"""Child process of a verifier: one line to it, one line from it, and its end in every case."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from conformance.vectors.runner.protocol import LONGEST_LINE, Nonsense

_TAIL_BYTES: Final = 4_000
_LOOK_SECONDS: Final = 0.2
_LAST_WORDS_SECONDS: Final = 10.0


class NotStarted(Exception):
    """The command cannot be started; the text contains the reason."""


class CrashedVerifier(Exception):
    """The process ended, or closed its output; the text contains its fate and the end of its standard error.

    Attributes:
        unfinished: Whether a line was begun.
    """

    def __init__(self, reason: str, *, unfinished: bool) -> None:
        super().__init__(reason)
        self.has_open_line = unfinished


class SilentVerifier(Exception):
    """There was no line in time; the text has the end of its standard error."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a verifier after the end of its input.

    Attributes:
        clean: Whether it exited 0 in time without further output.
        detail: A sentence; empty if it is clean.
    """

    clean: bool
    detail: str = ""


class Child:
    """One process of a verifier."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the process has no pipes")
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        self._tail = b""
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(cls, words: Sequence[str]) -> Child:
        """Start a command.

        Raises:
            NotStarted: It cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                # It leads a process group, which is killed at the end, so that no process which it started remains.
                start_new_session=True,
            )
        except (OSError, ValueError) as fault:
            raise NotStarted(f"{words[0]}: {getattr(fault, 'strerror', None) or fault}") from fault
        return cls(process)

    async def ask(self, line: bytes, seconds: float) -> bytes:
        """Send a line and return the next line of its output.

        Raises:
            Crashed: It ended before.
            SilentVerifier: No line came in so many seconds.
            Nonsense: The line is longer than a line may be.
        """
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            # Without drain: the line waits in memory while the process does not read, so a verifier that only writes
            # cannot block the runner.
            self._stdin.write(line)
        return await self._read_line(seconds)

    async def finish(self, seconds: float) -> Ending:
        """End its input and return its end; the caller still kills its group, since its children may be alive."""
        self._stdin.close()
        try:
            line = await self._read_line(seconds)
        except CrashedVerifier as fault:
            clean = self._process.returncode == 0 and not fault.has_open_line
            return Ending(clean, "" if clean else f"at the end of its input {fault}")
        except SilentVerifier:
            return Ending(clean=False, detail=f"it did not exit within {seconds:g} s of the end of its input")
        except Nonsense as fault:
            return Ending(clean=False, detail=f"at the end of its input it said more: {fault}")
        remainder = line[:80].decode("utf-8", "replace").strip()
        return Ending(clean=False, detail=f"at the end of its input it said more: {remainder!r}")

    async def kill(self) -> None:
        """Kill its process group and wait until the process is gone."""
        self._kill()
        await self._wait_until_gone(_LAST_WORDS_SECONDS)
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening
        # A grandchild that left the group may hold the pipes; closing these ends frees them here.
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public way

    async def _read_line(self, seconds: float) -> bytes:
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        line_task = asyncio.ensure_future(self._stdout.readline())
        try:
            # A child of the process may hold its output open after its end: then no end of file comes.
            while not line_task.done():
                alive = self._process.returncode is None
                seconds_left = ends - loop.time()
                if alive and seconds_left <= 0:
                    raise SilentVerifier(f"no answer in {seconds:g} s{self.last_words}")
                await asyncio.wait({line_task}, timeout=min(_LOOK_SECONDS, seconds_left) if alive else _LOOK_SECONDS)
                if not alive and not line_task.done():
                    break
        finally:
            if not line_task.done():
                line_task.cancel()
        try:
            line = line_task.result() if line_task.done() and not line_task.cancelled() else b""
        except ValueError:
            raise Nonsense(f"a line of more than {LONGEST_LINE} bytes") from None
        if line.endswith(b"\n"):
            return line
        await self._wait_until_gone(_LAST_WORDS_SECONDS)
        fate = self._fate()
        # A child of the process may hold its standard error open: without the kill, it would not end.
        self._kill()
        await asyncio.wait({self._listening}, timeout=_LAST_WORDS_SECONDS)
        place = " in the middle of a line" if line else ""
        raise CrashedVerifier(f"it {fate}{place}{self.last_words}", unfinished=bool(line))

    def _kill(self) -> None:
        # The process leads the group. Killing it separately would also wait for it before asyncio does, which then
        # warns about an unknown process.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _wait_until_gone(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        # Not wait(): in some Python versions it also waits for the pipes, which a grandchild may hold open.
        while self._process.returncode is None and loop.time() < ends:  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)

    def _fate(self) -> str:
        code = self._process.returncode
        if code is None:
            return "closed its output"
        if code >= 0:
            return f"exited with {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    @property
    def last_words(self) -> str:
        """The end of its standard error, after a colon; empty if it wrote nothing."""
        tail = self._tail.decode("utf-8", "replace").strip()
        return f": {tail}" if tail else ""

    async def _listen(self) -> None:
        while chunk := await self._stderr.read(1 << 16):
            self._tail = (self._tail + chunk)[-_TAIL_BYTES:]
