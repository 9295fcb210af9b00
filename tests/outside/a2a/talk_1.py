"""An A2A client of the SDK's line 1, in an environment of its own; see `talking` for the form of commands."""

from __future__ import annotations

from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from a2a.client.card_resolver import A2ACardResolver  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from a2a.client.client import Client, ClientCallContext  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from a2a.types import a2a_pb2 as wire  # type: ignore[import-not-found,unused-ignore]  # of its own environment
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped,unused-ignore]  # of its own environment

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
        skills = [skill.id for skill in card.skills]
        return {"name": card.name, "skills": skills, "url": card.supported_interfaces[0].url}

    async def send(self, **members: Any) -> dict[str, Any]:
        """Send a message."""
        message: dict[str, Any] = {"messageId": members["message_id"], "role": "ROLE_USER"}
        message["parts"] = [{"data": part} if isinstance(part, dict) else {"text": part} for part in members["parts"]]
        for name in ("taskId", "contextId", "metadata", "extensions"):
            if members.get(name):
                message[name] = members[name]
        request = ParseDict({"message": message}, wire.SendMessageRequest())
        async for answer in self._open.send_message(request, context=_context(members.get("extensions"))):
            return _task(answer.task)
        raise RuntimeError("no answer")

    async def get(self, task_id: str) -> dict[str, Any]:
        """Get a task."""
        return _task(await self._open.get_task(wire.GetTaskRequest(id=task_id)))

    async def cancel(self, task_id: str) -> dict[str, Any]:
        """Cancel a task."""
        return _task(await self._open.cancel_task(wire.CancelTaskRequest(id=task_id)))

    @property
    def _open(self) -> Client:
        if self._client is None:
            raise RuntimeError("resolve the card first")
        return self._client


def _context(extensions: list[str] | None) -> ClientCallContext | None:
    if not extensions:
        return None
    return ClientCallContext(service_parameters=ServiceParametersFactory.create([with_a2a_extensions(extensions)]))


def _task(task: Any) -> dict[str, Any]:
    shown_task = MessageToDict(task)
    return read_task(shown_task, shown_task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-"))


answer_commands(Talk)
