"""What a quick look sends of the vectors: every message that holds, and of each kind of fault one."""

from __future__ import annotations

import random

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.vectors import message_signatures
from tests.conformance.checks.agent.scripted_agent import PROFILE, Agent


async def sent(seed: int) -> set[str]:
    """Return the vectors that a quick look sends."""
    one = next(one for one in load_checks() if one.id == "vectors_are_judged")
    names, log, profile = Names(), EventLog(), target.parse(PROFILE)
    client = Client(Agent(), log, one.id, names, Counter())
    session = Session(profile, client, names, seed)
    await session.open()
    await one.function(Case(one, profile, client, log, random.Random(seed), session, quick=seed))
    await session.close()
    return {event["where"]["vector"] for event in log.of("judgement") if "vector" in event["where"]}


async def test_a_quick_look_tries_every_reading_and_one_vector_of_each_kind_of_fault() -> None:
    """A kind is what the names before the last part of an id say; another seed draws others of each."""
    known = [one for one in message_signatures() if "agent" in one.doors]
    first, second = await sent(1), await sent(2)
    for found in (first, second):
        assert {one.id for one in known if one.expected.valid} <= found
        faulty = [one.kind for one in known if one.id in found and not one.expected.valid]
        assert sorted(faulty) == sorted({one.kind for one in known if not one.expected.valid})
    assert first != second
