"""An A2A client of the SDK's line 0.3, in an environment of its own; see `talking` for the form of commands."""

from __future__ import annotations

from typing import Any

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from a2a.types import Message, Task, TaskIdParams, TaskQueryParams  # type: ignore[import-not-found,unused-ignore]  # of its own environment

from tests.outside.a2a.talking import answer_commands, read_task


class Talk:
    """One conversation with one agent."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        """Take the agent's address."""
        self._http = http
        self._url = url
        self._client: Client | None = None

    async def card(self, path: str) -> dict[str, Any]:
        """Resolve the card at a path and talk to whom it names from then on."""
        card = await A2ACardResolver(self._http, self._url, path).get_agent_card()
        self._client = ClientFactory(ClientConfig(streaming=False, httpx_client=self._http)).create(card)
        return {"name": card.name, "skills": [skill.id for skill in card.skills], "url": card.url}

    async def send(self, **members: Any) -> dict[str, Any]:
        """Send a message."""
        message: dict[str, Any] = {"kind": "message", "messageId": members["message_id"], "role": "user"}
        message["parts"] = [
            {"kind": "data", "data": part} if isinstance(part, dict) else {"kind": "text", "text": part}
            for part in members["parts"]
        ]
        for name in ("taskId", "contextId", "metadata", "extensions"):
            if members.get(name):
                message[name] = members[name]
        async for answer in self._open.send_message(
            Message.model_validate(message), extensions=members.get("extensions") or None
        ):
            if isinstance(answer, tuple):
                return _task(answer[0])
        raise RuntimeError("no task")

    async def get(self, task_id: str) -> dict[str, Any]:
        """Get a task."""
        return _task(await self._open.get_task(TaskQueryParams(id=task_id)))

    async def cancel(self, task_id: str) -> dict[str, Any]:
        """Cancel a task."""
        return _task(await self._open.cancel_task(TaskIdParams(id=task_id)))

    @property
    def _open(self) -> Client:
        if self._client is None:
            raise RuntimeError("resolve the card first")
        return self._client


def _task(task: Task) -> dict[str, Any]:
    shown_task = task.model_dump(mode="json", by_alias=True, exclude_none=True)
    return read_task(shown_task, shown_task["status"]["state"])


answer_commands(Talk)
