"""The A2A SDK's own clients, line 1 and line 0.3, each in an environment of its own in the user's cache.

The environments are made at first use from pinned versions and kept under the digest of the pins, so that later runs
need no network. Nothing of them ever gets into the project's environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

LINES = ("1", "0.3")
_HERE = Path(__file__).parent
_SECONDS = 600


class SdkError(Exception):
    """The SDK raised; `kind` is the name of its exception."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class SdkClient:
    """One client process that talks to one agent. Use it as a context manager."""

    def __init__(self, line: str, url: str) -> None:
        """Take the SDK's line, `1` or `0.3`, and the agent's address."""
        script = _HERE / f"talk_{line.replace('.', '_')}.py"
        self._process = subprocess.Popen(
            [str(_python(line)), str(script), url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._process.communicate(timeout=30)

    def card(self, path: str = "/.well-known/agent-card.json") -> dict[str, Any]:
        """Resolve the card at a path: `name`, `skills`, `url`; from then on talk to whom it names."""
        return self._do("card", path=path)

    def send(
        self,
        *parts: Mapping[str, Any] | str,
        task: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        extensions: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Send a message of data parts and texts, perhaps carrying a task on.

        Returns:
            The task: `id`, `contextId`, `state` by its name in 0.3, `message` (parts of the status message),
            `message_metadata`, `metadata`, and `artifacts`, each the data or text of its parts.
        """
        place = {} if task is None else {"taskId": task["id"], "contextId": task["contextId"]}
        known = {"metadata": dict(metadata or {}), "extensions": list(extensions)}
        return self._do("send", message_id=str(uuid.uuid4()), parts=list(parts), **place, **known)

    def get(self, task_id: str) -> dict[str, Any]:
        """Get a task."""
        return self._do("get", task_id=task_id)

    def cancel(self, task_id: str) -> dict[str, Any]:
        """Cancel a task."""
        return self._do("cancel", task_id=task_id)

    def _do(self, name: str, **members: Any) -> dict[str, Any]:
        """Carry out one command.

        Raises:
            SdkError: The SDK raised.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": name, **members}) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        if "error" in told:
            raise SdkError(told["error"]["kind"], told["error"]["text"])
        return dict(told["ok"])


def _python(line: str) -> Path:
    """Return the interpreter of a line's environment, making it at first use; without it the test fails."""
    pins = _HERE / f"requirements-{line}.txt"
    digest = hashlib.sha256(pins.read_bytes() + f"{sys.base_prefix} {platform.python_version()}".encode())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "weldproof" / "a2a" / digest.hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    python = home / "venv" / "bin" / "python"
    with (home / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            _run([sys.executable, "-m", "venv", "--clear", str(home / "venv")], home)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--no-deps"]
            _run([*pip, "-r", str(pins)], home)
            (home / "complete").touch()
    return python


def _run(words: list[str], home: Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        pytest.fail(
            f"{' '.join(words[:4])} failed; see that this machine reaches its package registry, or copy {home} from one"
            f" that does. It said: {done.stderr.strip()[-400:]}"
        )
