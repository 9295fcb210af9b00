"""The webhook receiver that is there to be broken does what a receiver must (P-WH-13)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from aiohttp.test_utils import TestClient, TestServer

from conformance.selftest.kill_lists import load_kill_lists
from reference.protocol.service_word import ServiceWord
from reference.protocol.webhook_signature import header_value
from reference.variants.mutants.edit_mutants import load_mutants
from reference.variants.receiver.webhook_receiver import Receiver

SECRET = "weldw_a-secret-of-this-test"
BODY = json.dumps({"id": "evt_1", "type": "payment.confirmed"}).encode()
HEADER = "X-Weldproof-Signature"


def sign_body(body: bytes = BODY, *, away: int = 0, word: ServiceWord | None = None) -> str:
    """Return a genuine signature of a moment `away` seconds from now."""
    return header_value(SECRET, body, t=int(time.time()) + away, word=word)


async def effects(*deliveries: tuple[bytes, str | None]) -> tuple[list[int], int]:
    """Deliver and return the statuses, and how many effects the event had."""
    async with TestClient(TestServer(Receiver(SECRET, ServiceWord()).app())) as client:
        statuses = []
        for body, value in deliveries:
            answer = await client.post("/hook", data=body, headers={} if value is None else {HEADER: value})
            statuses.append(answer.status)
        return statuses, int(await (await client.get("/effects/evt_1")).text())


async def test_an_event_has_one_effect_however_often_it_comes() -> None:
    """The same event again, with a new signature, in other bytes, and with a second signature."""
    other_body = json.dumps(json.loads(BODY), indent=1).encode()
    again = [
        (BODY, sign_body()),
        (BODY, sign_body(away=-9)),
        (other_body, sign_body(other_body)),
        (BODY, sign_body(word=ServiceWord())),
    ]
    assert await effects(*again) == ([204] * 4, 1)


@pytest.mark.parametrize(
    "value",
    [
        lambda: None,
        lambda: "",
        lambda: "t=1",
        lambda: "v1=",
        lambda: sign_body(b"{}"),
        lambda: sign_body(away=-301),
        lambda: sign_body(away=330),
    ],
    ids=("none", "empty", "a time alone", "a mac alone", "another body's", "too old", "of later"),
)
async def test_what_is_not_signed_has_no_effect(value: Callable[[], str | None]) -> None:
    """No signature, a part of one, another body's, and one that is too old or of a later time."""
    assert await effects((BODY, value())) == ([401], 0)
    assert await effects((BODY, value()), (BODY, sign_body())) == ([401, 204], 1)


def test_the_selftest_puts_these_mutants_under_test_as_receivers() -> None:
    """A kill list that forgot to say so would judge the suite's own listener, which is clean."""
    broken_receivers = {mutant.id for mutant in load_mutants() if mutant.surface == "variants.receiver"}
    assert broken_receivers
    assert {one.mutant for one in load_kill_lists() if one.receiver} == broken_receivers
