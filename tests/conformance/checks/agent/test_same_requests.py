"""A run's seed decides what is sent: later, in another order, the agent gets the same requests."""

from __future__ import annotations

import json
import random
import time
from collections import Counter as Tally

import pytest

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.http.curl_and_templates import make_template
from conformance.log.events import EventLog
from tests.conformance.checks.agent.scripted_agent import FOREIGN, Agent, Foreign, Look

CHECKS = [
    one
    for one in load_checks()
    if one.surface == "agent" and all(row.startswith("AGENT-") for row in one.rows) and one.id != "vectors_are_judged"
]


async def count_templates(look: Look, profile: str, *, backwards: bool) -> Tally[str]:
    """Return the templates of all requests of a run, each with how often it was sent."""
    agent, log, names, counter = Agent(look=look), EventLog(), Names(), Counter()
    read = target.parse(profile)
    session = Session(read, Client(agent, log, "discovery", names, counter), names, 1)
    await session.open()
    for check in CHECKS[::-1] if backwards else CHECKS:
        rng = random.Random(f"1:{check.id}")
        await check.function(Case(check, read, Client(agent, log, check.id, names, counter), log, rng, session))
    return Tally(json.dumps(make_template(event["request"])) for event in log.of("exchange"))


async def test_another_time_and_order_send_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times and signatures differ and are named in the log; all else is the same, names found by asking too."""
    first = await count_templates(Foreign(), FOREIGN, backwards=False)
    later = time.time() + 7
    monkeypatch.setattr(time, "time", lambda: later)
    assert await count_templates(Foreign(), FOREIGN, backwards=True) == first
