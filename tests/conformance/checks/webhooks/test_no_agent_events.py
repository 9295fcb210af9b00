"""WH-DELIV-09: an event about a call of the agent is recognised by words that occur nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDictProxy

from conformance.checks.webhooks import no_agent_events
from conformance.outcome import Verdict
from conformance.surfaces.gateway import orders
from tests.conformance.checks.agent import scripted_agent
from tests.conformance.checks.agent.scripted_agent import Call, Reply
from tests.conformance.checks.webhooks.scripted_sender import Event, Flaws, Shop, run_check

NAME = "the_agent_tells_nobody"
TASK = "5f0c7a3e-4b1d-4f7e-9a52-0d9d0c6f1b11"
Tells = Callable[[Call, Any], Event | None]


@dataclass
class Town(Shop):
    """A shop and an agent; the agent's events about a call come to the shop's first destination."""

    agent: scripted_agent.Agent = field(default_factory=scripted_agent.Agent)
    tells: Tells = lambda _call, _document: None

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one request at either."""
        if not url.startswith(scripted_agent.BASE):
            return await super().send(method, url, headers, body)
        answer = await self.agent.send(method, url, headers, body)
        event = self.tells(self.agent.calls[-1], json.loads(answer[2]))
        if event is not None:
            await self._deliver(event, self.places[0], int(self.now))
        return answer


@pytest.fixture(autouse=True)
def quick_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WP_TEST_TENANT_KEY", "weld_0123456789abcdef")
    monkeypatch.setattr(orders, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(no_agent_events, "_WAIT_SECONDS", 0.0)


def with_agent(text: str) -> str:
    """Return the profile with the agent claimed as well."""
    claimed_text = text.replace('surfaces = ["gateway", "webhooks"]', 'surfaces = ["agent", "gateway", "webhooks"]')
    return f'{claimed_text}\n[surfaces.agent]\nurl = "{scripted_agent.BASE}"\n'


async def verdict(folder: Path, town: Town, **flaws: Any) -> Verdict:
    """Return what the row comes to."""
    row_verdicts, _ = await run_check(NAME, folder, Flaws(**flaws), shop=town, changed=with_agent)
    return row_verdicts["WH-DELIV-09"]


def task(call: Call, reply: Reply) -> Reply:
    """Give every task an id as long as a UUID."""
    if call.path != "/a2a":
        return reply
    return Reply(200, {**reply.document, "result": {**reply.document["result"], "id": TASK}})


async def test_a_silent_agent_passes(tmp_path: Path) -> None:
    """The gateway's own events, and events that say nothing of the calls, are not the agent's."""
    assert await verdict(tmp_path, Town()) is Verdict.PASS
    other_event: Event = {"type": "payment.confirmed", "data": {"tx_id": "U" * 52, "task": "t"}}
    assert await verdict(tmp_path, Town(tells=lambda _call, _document: other_event)) is Verdict.PASS


def of_verify(call: Call, _: Any) -> Event | None:
    return {"type": "message.verified", "data": {"path": call.members["path"]}} if "verify" in call.path else None


def of_explain(call: Call, _: Any) -> Event | None:
    return {"key": call.members["public_key_hex"].upper()} if call.path.endswith("explain") else None


def of_sign(call: Call, document: Any) -> Event | None:
    return {"signed": document["headers"]["Signature"]} if call.path.endswith("sign") else None


def of_a2a(call: Call, document: Any) -> Event | None:
    return {"task": document["result"]["id"]} if call.path == "/a2a" else None


@pytest.mark.parametrize("tells", [of_verify, of_explain, of_sign, of_a2a])
async def test_an_event_of_any_call_breaks_the_row(tmp_path: Path, tells: Tells) -> None:
    """Whatever it names of what was asked or answered: path, key, signature, or task."""
    assert await verdict(tmp_path, Town(agent=scripted_agent.Agent(task), tells=tells)) is Verdict.FAIL


async def test_an_agent_that_verifies_nothing_shows_nothing(tmp_path: Path) -> None:
    """Who has nothing to tell of is not silent."""
    broken_agent = scripted_agent.Agent(lambda _call, _reply: Reply(500, {"detail": "x"}))
    assert await verdict(tmp_path, Town(agent=broken_agent)) is Verdict.INCONCLUSIVE


async def test_silence_without_a_control_shows_nothing(tmp_path: Path) -> None:
    """Where no event of a paid link comes, nothing is said of the agent."""
    assert await verdict(tmp_path, Town(), page_only=True) is Verdict.INCONCLUSIVE
