"""The A2A SDK's own clients, line 1 and line 0.3, each a process in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.outside.a2a.environments import python_of

_FOLDER = Path(__file__).parent


class SdkError(Exception):
    """The SDK raised; `kind` is the name of its exception."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class SdkClient:
    """One client process that talks to one agent. Use it as a context manager."""

    def __init__(self, line: str, url: str) -> None:
        """Take the SDK's line, `1` or `0.3`, and the agent's address."""
        script = _FOLDER / f"talk_{line.replace('.', '_')}.py"
        self._process = subprocess.Popen(
            [str(python_of(line)), str(script), url],
            env=os.environ | {"PYTHONPATH": str(_FOLDER.parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._process.communicate(timeout=600)

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
        members = {"metadata": dict(metadata or {}), "extensions": list(extensions)}
        return self._do("send", message_id=str(uuid.uuid4()), parts=list(parts), **place, **members)

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
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise SdkError(answer["error"]["kind"], answer["error"]["text"])
        return dict(answer["ok"])
