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


async def send_quickly(seed: int) -> set[str]:
    """Return the vectors that a quick look sends."""
    check = next(check for check in load_checks() if check.id == "vectors_are_judged")
    names, log, profile = Names(), EventLog(), target.parse(PROFILE)
    client = Client(Agent(), log, check.id, names, Counter())
    session = Session(profile, client, names, seed)
    await session.open()
    await check.function(Case(check, profile, client, log, random.Random(seed), session, quick=seed))
    await session.close()
    return {event["where"]["vector"] for event in log.of("judgement") if "vector" in event["where"]}


async def test_a_quick_look_tries_every_reading_and_one_vector_of_each_kind_of_fault() -> None:
    """A kind is what the names before the last part of an id say; another seed draws others of each."""
    agent_vectors = [one for one in message_signatures() if "agent" in one.doors]
    first, second = await send_quickly(1), await send_quickly(2)
    for vector_ids in (first, second):
        assert {one.id for one in agent_vectors if one.expected.valid} <= vector_ids
        faulty = [one.kind for one in agent_vectors if one.id in vector_ids and not one.expected.valid]
        assert sorted(faulty) == sorted({one.kind for one in agent_vectors if not one.expected.valid})
    assert first != second
