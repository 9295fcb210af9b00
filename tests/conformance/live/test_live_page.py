"""The page that follows a run: its events, whom it answers, and that a target cannot act on its reader."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from typing import Any

import aiohttp
import pytest

from conformance.live.page_messages import MessageFeed, make_message
from conformance.live.server import serve_page
from conformance.log.events import Event

RUN_STARTED: Event = {
    "event": "run.started",
    "rows": ["RAIL-402-01", "RAIL-402-02"],
    "checks": [("unpaid_call_is_challenged", "together")],
    "target": {"name": "x", "surfaces": {"rail": "http://127.0.0.1:9"}},
}
SCRIPT = "</script><script>alert(1)</script>"
JUDGEMENT: Event = {
    "event": "judgement",
    "check": "unpaid_call_is_challenged",
    "row": "RAIL-402-01",
    "verdict": "fail",
    "expected": "402",
    "found": SCRIPT + "x" * 5000,
    "hint": "Answer 402.",
}
ROW: Event = {"event": "row", "id": "RAIL-402-01", "verdict": "fail", "reason": None}


def test_it_is_told_what_it_shows() -> None:
    """The rows of the round with their sentences, the breaches cut short, verdicts; nothing of exchanges and passes."""
    round_message, finding, row = (make_message(one) for one in (RUN_STARTED, JUDGEMENT, ROW))
    assert round_message is not None
    assert [one["id"] for one in round_message["rows"]] == ["RAIL-402-01", "RAIL-402-02"]
    assert (round_message["checks"], round_message["target"]) == (1, {"rail": "http://127.0.0.1:9"})
    assert finding is not None
    assert (finding["row"], len(finding["found"]) < 700) == ("RAIL-402-01", True)
    assert row == {"kind": "row", "row": "RAIL-402-01", "verdict": "fail", "reason": None}
    assert make_message({**JUDGEMENT, "verdict": "pass"}) is None
    assert make_message({"event": "exchange", "request": {}, "response": {}}) is None


async def _read(url: str, count: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    async with aiohttp.ClientSession() as client, client.get(f"{url}events") as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        async for line in answer.content:
            if line.startswith(b"data: "):
                messages.append(json.loads(line.removeprefix(b"data: ")))
            if len(messages) == count:
                break
    return messages


async def test_whoever_comes_later_is_told_the_round_so_far() -> None:
    """Two readers see the same; events before the round are not sent."""
    feed = MessageFeed()
    async with serve_page(feed, 0) as url:
        feed.publish({"kind": "said", "text": "of the round before"})
        feed.process(RUN_STARTED)
        feed.process(JUDGEMENT)
        early = asyncio.ensure_future(_read(url, 3))
        assert [one["kind"] for one in await asyncio.wait_for(_read(url, 2), 600)] == ["round", "finding"]
        feed.process(ROW)
        assert [one["kind"] for one in await asyncio.wait_for(early, 600)] == ["round", "finding", "row"]


async def test_it_answers_to_this_machines_names_alone() -> None:
    """A page of another site that has its name resolve to this machine gets nothing."""
    async with serve_page(MessageFeed(), 0) as url, aiohttp.ClientSession() as client:
        for host, status in (("127.0.0.1", 200), ("localhost:1", 200), ("evil.example", 403)):
            async with client.get(url, headers={"Host": host}) as answer:
                assert answer.status == status, host
        async with client.get(f"{url}events", headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403


async def test_its_policy_lets_run_its_own_script_alone() -> None:
    """The digests are those of what the page holds, and the script never makes elements of text."""
    async with serve_page(MessageFeed(), 0) as url, aiohttp.ClientSession() as client, client.get(url) as answer:
        text, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    for name in ("style", "script"):
        (inside,) = re.findall(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(", text)


async def test_a_port_that_is_taken_is_told() -> None:
    """As the system says it."""
    async with serve_page(MessageFeed(), 0) as url:
        port = int(url.rsplit(":", 1)[1].strip("/"))
        with pytest.raises(OSError, match="in use"):
            async with serve_page(MessageFeed(), port):
                pass
