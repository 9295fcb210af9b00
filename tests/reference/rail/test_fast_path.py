"""The front answers what the app behind it would, byte for byte, and takes the plain case only."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from reference.rail.paid_fast_path import PaidFastPath
from reference.web.http.asgi_envelope import Message
from tests.reference.rail.fast_and_slow_path import JSON, PATHS, Asked, Doors, Header, answer, doors_of, stand_still


@pytest.fixture
def freeze_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers can be equal."""
    stand_still(monkeypatch)


@pytest.fixture
async def doors(freeze_answers: None, tmp_path: Path) -> AsyncIterator[Doors]:
    """Both rails without limits of rate."""
    del freeze_answers
    async with AsyncExitStack() as exits:
        yield await doors_of(exits, tmp_path, rate_limits=False, body_limit=2_000)


def combine(**choices: Iterable[Any]) -> list[Asked]:
    """Return every combination of the given members."""
    return [Asked(**dict(zip(choices, some, strict=True))) for some in itertools.product(*choices.values())]


METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "get", "X")
PLACES = (*PATHS, PATHS[0] + "/", "/" + PATHS[0], "/pay/v1/index", "/nowhere", "/", PATHS[0].upper())
QUERIES = (b"", b"a=1", b"%ff&=&&", b"\xff\xfe", b"q=" + b"x" * 9_000)
BODIES: Sequence[tuple[bytes, ...]] = (
    (b"",),
    (b'{"jws":"e30.e30.AA"}',),
    (b'{"jws":', b'"e30.e30.AA"}'),
    (b'{"jws":"a","jws":"b"}',),
    (b'{"jws":1e999}',),
    (b'{"unknown":1}',),
    (b"[" * 40 + b"]" * 40,),
    (b"\xff",),
    (b"x" * 2_001,),
    (b"x" * 1_000, b"x" * 1_001),
    (),
)
HEADERS: Sequence[tuple[Header, ...]] = (
    (),
    (JSON,),
    (JSON, JSON),
    ((b"content-type", b"Application/JSON; charset=UTF-8"),),
    ((b"content-type", b"application/json; charset=latin-1"),),
    ((b"content-type", b"text/plain"),),
    (JSON, (b"x-payment", b"bm9wZQ==")),
    (JSON, (b"x-payment", b"")),
    (JSON, (b"x-payment", b"a"), (b"x-payment", b"b")),
    (JSON, (b"X-Payment", b"bm9wZQ==")),
    (JSON, (b"payment-signature", b"bm9wZQ==")),
    (JSON, (b"x-forwarded-for", b"10.0.0.1, 10.0.0.2")),
    (JSON, (b"x-request-id", b"mine")),
    (JSON, (b"x-odd", b"\xe9\xff")),
    (JSON, (b"content-encoding", b"gzip")),
    (JSON, (b"content-length", b"2001")),
    (JSON, (b"content-length", b"nonsense")),
    (JSON, (b"x-large", b"x" * 17_000)),
    (JSON, (b"authorization", b"Bearer mine")),
    (JSON, (b"expect", b"100-continue"), (b"transfer-encoding", b"chunked")),
)


@pytest.mark.parametrize(
    "some",
    [
        combine(method=METHODS, path=PLACES, query=QUERIES),
        combine(method=METHODS, body=BODIES, headers=HEADERS),
        combine(path=PATHS, body=BODIES, headers=HEADERS, query=QUERIES[:2]),
    ],
    ids=["places", "methods", "paths"],
)
async def test_either_door_gives_the_same_answer(doors: Doors, some: list[Asked]) -> None:
    """Status, every header and every byte; whatever is asked, and none of it fails."""
    statuses = {(await doors.ask_both(asked))[0] for asked in some}
    assert 402 in statuses
    assert max(statuses) < 500


async def test_limits_of_rate_are_the_same_by_either_door(freeze_answers: None, tmp_path: Path) -> None:
    """Both report and use up the same allowance, then refuse; unpaid and presented calls are counted separately."""
    del freeze_answers
    presented = Asked(headers=(JSON, (b"x-payment", b"bm9wZQ==")))
    async with AsyncExitStack() as exits:
        doors = await doors_of(exits, tmp_path)
        statuses = [(await doors.ask_both(one))[0] for _ in range(62) for one in (Asked(), presented)]
    assert statuses == [402] * 120 + [429] * 4


async def test_a_service_that_is_switched_off_is_so_by_either_door(freeze_answers: None, tmp_path: Path) -> None:
    """503 with its own code, and no rate is used up."""
    del freeze_answers
    async with AsyncExitStack() as exits:
        doors = await doors_of(exits, tmp_path, rail_disabled_services="receipt-verify")
        statuses = [(await doors.ask_both(Asked(path=path, method="GET")))[0] for path in PATHS]
    assert statuses == [503, 402, 402]


@pytest.mark.parametrize(
    "question", [*combine(method=("GET", "POST"), path=PATHS), Asked(query=b"a=1"), Asked(body=(b"",))]
)
async def test_the_plain_case_never_reaches_the_app(doors: Doors, question: Asked) -> None:
    """An unpaid call is answered in front, whatever its query and body."""
    assert isinstance(doors.front.app, PaidFastPath)
    doors.front.app.app = _unreachable
    assert (await answer(doors.front, question))[0] == 402


async def _unreachable(*_: object) -> None:
    raise AssertionError("the app was asked")


async def test_a_fault_nobody_planned_is_the_same_by_either_door(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 with nothing of what happened."""

    def fail(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("reference.rail.paid_endpoint.choose_quoted_call", fail)
    status, _, body = await doors.ask_both(Asked())
    assert status == 500
    assert b"secret" not in body


async def test_a_body_that_does_not_come_is_not_waited_for(doors: Doors) -> None:
    """408 after the time for it; the connection ends."""
    impatient = dataclasses.replace(doors.front, body_seconds=0.02)
    messages: list[Message] = []

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    await impatient(Asked(headers=(JSON, (b"content-length", b"10"))).scope(), never, send)
    assert messages[0]["status"] == 408
    assert (b"connection", b"close") in messages[0]["headers"]


async def test_a_query_is_ascii(doors: Doors) -> None:
    """400 for raw bytes beyond it, whichever door; percent-encoded they are a query like any other."""
    status, _, body = await doors.ask_both(Asked(query=b"name=\xc3\xa9"))
    assert (status, b"invalid_request" in body) == (400, True)
    status, _, _ = await doors.ask_both(Asked(query=b"name=%C3%A9"))
    assert status == 402
