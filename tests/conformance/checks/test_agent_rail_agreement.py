"""X-DIFF-01 between surfaces that have names of their own: which body the rail gets, and where its verdict is read."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance import target
from conformance.checks.shared import agent_rail_agreement
from conformance.checks.shared.agent_rail_agreement import body_for_rail, read_paid_validity
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Answer, Client, Counter, Names, Transport
from conformance.log.events import EventLog
from conformance.oracles.message_signatures.message import Message
from conformance.surfaces.agent import Agent, Subject
from conformance.target import REFERENCE_AGENT

PROFILE = """
[target]
defaults = "{defaults}"
[surfaces.rail]
url = "http://rail.test"
[claims]
surfaces = ["rail"]
lanes = ["base"]
"""
_KEY = bytes(range(32))
_ONE = Subject(Message("GET", "a.example", "https", "/x"), _KEY)
_OWN = REFERENCE_AGENT.model_copy(
    update={"verify_body": {"verb": "{method}", "signer": "{key_hex}"}, "validity_at": "outcome.holds"}
)


def agent(*, ours: bool = False) -> Agent:
    """Return an agent that has names of its own."""
    return Agent(cast("Case", None), "http://agent.test", _OWN, ours)


@pytest.mark.parametrize(
    ("example", "names"),
    [
        (
            {"method": "GET", "authority": "b", "path": "/", "headers": {}, "public_key_hex": ""},
            {"method", "authority"},
        ),
        ({"verb": "GET", "signer": ""}, {"verb", "signer"}),
        ({"method": "GET"}, {"verb", "signer"}),
        (None, {"verb", "signer"}),
    ],
)
def test_the_rail_is_asked_by_the_names_of_its_example(example: Any, names: set[str]) -> None:
    """A rail whose example has the family's names gets them, whatever the agent's are; another gets the agent's."""
    body = body_for_rail(agent(), example, _ONE)
    assert names <= body.keys()
    assert ("verb" in names) is ("verb" in body)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"outcome": {"holds": False}, "valid": True}, False),
        ({"valid": True}, True),
        ({"verdict": "fail"}, False),
        ({"claims": 1}, None),
    ],
)
def test_a_paid_verdict_is_read_where_the_agent_says_it_else_wherever_it_stands(
    result: Any, expected: bool | None
) -> None:
    """The agent's place comes first; a rail that has other names is read by the usual ones."""
    assert read_paid_validity(agent(), result) is expected


def test_our_own_rail_says_it_at_the_bound_place_only() -> None:
    """Where the reference's names apply, nothing is guessed."""
    assert read_paid_validity(agent(ours=True), {"valid": True}) is None


@pytest.mark.parametrize(
    ("free", "paid", "verdict"),
    [
        (True, True, "pass"),
        (False, False, "pass"),
        (True, False, "warn"),
        (True, None, "warn"),
        (None, True, "warn"),
        (None, None, "warn"),
    ],
)
async def test_both_must_say_the_same_and_say_it(
    monkeypatch: pytest.MonkeyPatch, free: bool | None, paid: bool | None, verdict: str
) -> None:
    """Two that say nothing of validity do not agree on it."""
    log, asked = await compare_services(monkeypatch, free, paid, "none")
    assert {event["verdict"] for event in log.of("judgement")} == {verdict}
    assert {one.form for one in asked} == {"hex"}


async def test_a_rail_of_the_reference_is_asked_with_a_did_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key in its other spelling; elsewhere it is not said that a paid call accepts it."""
    log, asked = await compare_services(monkeypatch, True, True, "reference")
    assert {one.form for one in asked} == {"hex", "did"}
    assert "a key as did:key" in {event["where"]["message"] for event in log.of("judgement")}


async def compare_services(
    monkeypatch: pytest.MonkeyPatch, free: bool | None, paid: bool | None, defaults: str
) -> tuple[EventLog, list[Subject]]:
    """Compare an agent and a rail that say this of every message; return the log and what the agent was asked."""
    asked: list[Subject] = []

    def note_subject(one: Subject) -> Any:
        asked.append(one)
        return pass_through(None)

    async def pass_through(value: Any) -> Any:
        return value

    log, names = EventLog(), Names()
    row = Check(
        "made_up",
        ("X-DIFF-01",),
        "rail",
        None,
        Exclusive.NOTHING,
        "Mend it.",
        agent_rail_agreement.agent_and_rail_judge_alike,
    )
    client = Client(cast("Transport", None), log, row.id, names, Counter())
    session = SimpleNamespace(catalog=SimpleNamespace(find_service=lambda _: SimpleNamespace(body=None)))
    case = Case(
        row,
        target.parse(PROFILE.format(defaults=defaults)),
        client,
        log,
        random.Random(1),
        cast("Session", session),
    )
    answering_agent = SimpleNamespace(
        bindings=_OWN,
        is_reference=True,
        verify=note_subject,
        verify_body=lambda _: {},
        validity=lambda _: free,
    )
    answer = Answer(1, 200, CIMultiDictProxy(CIMultiDict[str]()), b"")
    for name, instead in {
        "agent_of": lambda _: pass_through(answering_agent),
        "signed": lambda _: _ONE,
        "challenge": lambda *_, **__: pass_through(None),
        "pay": lambda *_, **__: pass_through(None),
        "redeem": lambda *_, **__: pass_through(answer),
        "result_of": lambda *_: {"outcome": {} if paid is None else {"holds": paid}},
    }.items():
        monkeypatch.setattr(agent_rail_agreement, name, instead)
    await agent_rail_agreement.agent_and_rail_judge_alike(case)
    return log, asked
