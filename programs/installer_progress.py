"""Running an installer so that a waiting user sees that it works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from programs.missing import Missing

Say = Callable[[str], None]

_SECONDS = 900.0
_SILENT_SECONDS = 4.0
_LAST_LINES = 12
# As uv and pip name what is large enough to be reported.
_LARGE = re.compile(r"^\s*Downloading (\S+) \((\d+(?:\.\d+)? ?[MG]i?B)\)")


def to_stderr(line: str) -> None:
    """Say a line where it mixes with no command's output."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the installer's own voice


def run_installer(
    description: str,
    words: Sequence[str | Path],
    *,
    say: Say,
    remedy: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run an installer to its end, saying what it downloads, and every few seconds that it still works.

    Args:
        description: What is being done, for these lines.
        words: The installer's command.
        say: Takes a line.
        remedy: What to do when it fails.
        cwd: Where it runs.
        environment: Its whole environment; this process's own by default.

    Raises:
        Missing: It cannot be started, fails, or takes a quarter of an hour.
    """
    progress = _Progress(description, say)
    try:
        process = subprocess.Popen(  # noqa: S603 - words of the caller's own
            [str(word) for word in words],
            cwd=cwd,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as fault:
        raise Missing(f"{description}: {words[0]} does not start: {fault}", remedy) from fault
    with process, progress:
        limit = threading.Timer(_SECONDS, process.kill)
        limit.start()
        try:
            assert process.stdout is not None  # noqa: S101 - piped above
            for line in process.stdout:
                progress.line(line)
            code = process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
    if code != 0:
        raise Missing(f"{description}: {Path(words[0]).name} ended with {code}. It said: {progress.end()}", remedy)


class _Progress:
    """Keeps the end of what a child says, passes on what it downloads, and breaks every silence."""

    def __init__(self, description: str, say: Say) -> None:
        self._doing = description
        self._say = say
        self._lines: list[str] = []
        self._started = self._last = time.monotonic()
        self._over = threading.Event()
        self._beat = threading.Thread(target=self._break_silence, daemon=True)

    def __enter__(self) -> None:
        self._beat.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._beat.join()

    def line(self, text: str) -> None:
        """Take a line of the child's."""
        self._lines = [*self._lines, text.rstrip()][-_LAST_LINES:]
        large = _LARGE.match(text)
        if large:
            self._tell(f"  {large[1]}, {large[2]}")

    def end(self) -> str:
        """Return the child's last words."""
        return "\n".join(filter(None, self._lines)) or "nothing"

    def _tell(self, text: str) -> None:
        self._last = time.monotonic()
        self._say(text)

    def _break_silence(self) -> None:
        while not self._over.wait(0.5):
            now = time.monotonic()
            if now - self._last >= _SILENT_SECONDS:
                self._tell(f"  {self._doing}: {now - self._started:.0f} s so far")


def megabytes(folder: Path) -> int:
    """Return what lies in a folder, in MB; a file that several names have counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = (Path(place) / name).lstat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return round(sum(sizes.values()) / 1e6)
