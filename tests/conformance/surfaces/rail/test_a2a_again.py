"""A payment over A2A that is undecided is sent again, and a run's log is the same however often that was."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance import target
from conformance.engine.check import Case
from conformance.engine.check_loading import load_checks
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.http.curl_and_templates import make_template
from conformance.log.events import EventLog
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.purchase import name_live_values
from tests.conformance.checks.rail.scripted_rail import PROFILE

PROOF = {"tx_id": "A" * 52, "payment_reference": "1767225600:0011223344556677:" + "ab" * 32}


class Undecided:
    """A door at which a task stays submitted for some calls, and is completed then."""

    def __init__(self, calls: int) -> None:
        self.left = calls
        self.ids: list[str] = []

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Answer one message."""
        del method, url, headers
        question = json.loads(body or b"")
        self.ids.append(question["params"]["message"]["messageId"])
        self.left -= 1
        status = "payment-completed" if self.left < 0 else "payment-submitted"
        state = "completed" if self.left < 0 else "working"
        task = {"id": "task-1", "status": {"state": state, "message": {"metadata": {a2a.STATUS_KEY: status}}}}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": task}
        return 200, CIMultiDictProxy(CIMultiDict[str]()), json.dumps(answer).encode()


async def settle_task(calls: int, before: int, proof: Mapping[str, Any] = PROOF) -> tuple[Undecided, EventLog]:
    """Pay a task that stays undecided for some calls, in a run that counted so far before."""
    door, log, names = Undecided(calls), EventLog(), Names()
    profile = target.parse(PROFILE)
    client = Client(door, log, "test", names, Counter())
    session = Session(profile, client, names, 1)
    for _ in range(before):
        session.count()
    case = Case(load_checks()[0], profile, client, log, random.Random(1), session)
    name_live_values(case, proof)
    assert (await a2a.settle_task(case, "task-1", proof)).state == "completed"
    return door, log


def first_requests(log: EventLog) -> list[Any]:
    """Return what was sent, but for what the target asked to be sent again."""
    return [make_template(event["request"]) for event in log.of("exchange") if not event["retry"]]


async def test_what_is_sent_again_is_a_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request counts, however often it stays undecided; each message has an id of its own, which no log shows."""
    monkeypatch.setattr(a2a, "_AGAIN", 0.0)
    decided_outcome, once = await settle_task(0, before=0)
    undecided_outcome, often = await settle_task(3, before=7)
    assert (len(decided_outcome.ids), len(set(undecided_outcome.ids))) == (1, 4)
    assert [event["retry"] for event in often.of("exchange")] == [False, True, True, True]
    assert first_requests(once) == first_requests(often)
    assert len(first_requests(once)) == 1
    assert decided_outcome.ids[0] not in json.dumps(once.events, default=str)


def authorize_calls(payer: str, until: str, nonce: str) -> Mapping[str, Any]:
    """Return a proof on Base."""
    terms = {"from": payer, "to": "0x" + "ee" * 20, "value": "50000", "validAfter": "0", "validBefore": until}
    return {"authorization": {**terms, "nonce": nonce}, "signature": "0x" + nonce[2:] * 2, "challenge_token": nonce * 2}


async def test_two_payers_authorizations_are_alike_in_the_log() -> None:
    """Who pays on Base, until when and for which challenge, is of one run, and hidden inside a message too."""
    _, first_templates = await settle_task(0, 0, authorize_calls("0x" + "a1" * 20, "1795304333", "0x" + "b2" * 32))
    _, second_templates = await settle_task(0, 0, authorize_calls("0x" + "c3" * 20, "1795306283", "0x" + "d4" * 32))
    assert first_requests(first_templates) == first_requests(second_templates)
