"""The front answers what the app behind it would, byte for byte, and takes the plain case only."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import algosdk
import pytest

from reference.lanes.algorand.lane import AlgorandLane
from reference.protocol.networks import NETWORKS
from reference.rail.runtime import opened
from reference.rail.settings import RailSettings
from reference.rail.unpaid_fast_path import Front
from reference.web.clock import WpClock
from reference.web.envelope import AsgiApp, Envelope, Message, Scope
from tools.bench.reference.memory_rail import NoNode

NETWORK = NETWORKS["algorand_mainnet"]
PATHS = ("/pay/v1/verify/receipt", "/pay/v1/verify/rfc9421", "/pay/v1/compliance/receipt")
JSON = (b"content-type", b"application/json")
Header = tuple[bytes, bytes]


@dataclass(frozen=True)
class Asked:
    """One request, its body in parts."""

    method: str = "POST"
    path: str = PATHS[0]
    query: bytes = b""
    headers: tuple[Header, ...] = (JSON,)
    body: tuple[bytes, ...] = (b'{"jws":"e30.e30.AA"}',)

    def scope(self) -> Scope:
        """Return its ASGI scope."""
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": self.query,
            "root_path": "",
            "headers": [(b"host", b"localhost"), *self.headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "extensions": {},
        }


Answer = tuple[int, list[Header], bytes]


async def answer(app: AsgiApp, asked: Asked) -> Answer:
    """Return status, headers and body of an answer."""
    parts = list(asked.body)
    sent: list[Message] = []

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(asked.scope(), receive, send)
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return sent[0]["status"], sorted(sent[0]["headers"]), body


@dataclass
class Doors:
    """Two rails alike: one is asked as it is served, the other without its front."""

    front: Envelope
    app: Envelope

    async def both(self, asked: Asked) -> Answer:
        """Return the one answer of both."""
        first, second = await answer(self.front, asked), await answer(self.app, asked)
        assert first == second, asked
        return first


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance and time stand still, so that two answers can be equal."""
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    monkeypatch.setattr(secrets, "token_hex", lambda size: "00" * size)
    monkeypatch.setattr(WpClock, "seconds", lambda _: 1_800_000_000.5)


async def doors_of(exits: AsyncExitStack, folder: Path, **settings: Any) -> Doors:
    """Open both rails over a lane whose node is never asked."""
    made: list[Envelope] = []
    (folder / "secret").write_text("11" * 32, "ascii")
    for name in ("front", "app"):
        given = RailSettings(
            rail_data_dir=folder / name,
            rail_token_secret_file=folder / "secret",
            rail_payto={"algorand": algosdk.encoding.encode_address(bytes(32))},
            **settings,
        )
        lane = AlgorandLane(NETWORK, NoNode(), None)
        rail = await exits.enter_async_context(opened(given, {NETWORK.key: lane}))
        assert isinstance(rail, Envelope)
        made.append(rail)
    assert isinstance(made[1].app, Front)
    return Doors(made[0], dataclasses.replace(made[1], app=made[1].app.app))


@pytest.fixture
async def doors(frozen: None, tmp_path: Path) -> AsyncIterator[Doors]:
    """Both rails without limits of rate."""
    del frozen
    async with AsyncExitStack() as exits:
        yield await doors_of(exits, tmp_path, rate_limits=False, body_limit=2_000)


def varied(**choices: Iterable[Any]) -> list[Asked]:
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
        varied(method=METHODS, path=PLACES, query=QUERIES),
        varied(method=METHODS, body=BODIES, headers=HEADERS),
        varied(path=PATHS, body=BODIES, headers=HEADERS, query=QUERIES[:2]),
    ],
    ids=["places", "methods", "paths"],
)
async def test_either_door_gives_the_same_answer(doors: Doors, some: list[Asked]) -> None:
    """Status, every header and every byte; whatever is asked, and none of it fails."""
    statuses = {(await doors.both(asked))[0] for asked in some}
    assert 402 in statuses
    assert max(statuses) < 500


async def test_limits_of_rate_are_the_same_by_either_door(frozen: None, tmp_path: Path) -> None:
    """The same allowance is told and used up; the call over it is refused alike, unpaid and presented apart."""
    del frozen
    presented = Asked(headers=(JSON, (b"x-payment", b"bm9wZQ==")))
    async with AsyncExitStack() as exits:
        doors = await doors_of(exits, tmp_path)
        statuses = [(await doors.both(one))[0] for _ in range(62) for one in (Asked(), presented)]
    assert statuses == [402] * 120 + [429] * 4


async def test_a_service_that_is_switched_off_is_so_by_either_door(frozen: None, tmp_path: Path) -> None:
    """503 with its own code, and no rate is used up."""
    del frozen
    async with AsyncExitStack() as exits:
        doors = await doors_of(exits, tmp_path, rail_disabled_services="receipt-verify")
        statuses = [(await doors.both(Asked(path=path, method="GET")))[0] for path in PATHS]
    assert statuses == [503, 402, 402]


@pytest.mark.parametrize(
    "asked", [*varied(method=("GET", "POST"), path=PATHS), Asked(query=b"a=1"), Asked(body=(b"",))]
)
async def test_the_plain_case_never_reaches_the_app(doors: Doors, asked: Asked) -> None:
    """An unpaid call is answered in front, whatever its query and body."""
    assert isinstance(doors.front.app, Front)
    doors.front.app.app = _unreachable
    assert (await answer(doors.front, asked))[0] == 402


async def _unreachable(*_: object) -> None:
    raise AssertionError("the app was asked")


async def test_a_fault_nobody_planned_is_the_same_by_either_door(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 with nothing of what happened."""

    def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr("reference.rail.paid_endpoint.quoted", broken)
    status, _, body = await doors.both(Asked())
    assert status == 500
    assert b"secret" not in body


async def test_a_body_that_does_not_come_is_not_waited_for(doors: Doors) -> None:
    """408 after the time for it; the connection ends."""
    impatient = dataclasses.replace(doors.front, body_seconds=0.02)
    sent: list[Message] = []

    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await impatient(Asked(headers=(JSON, (b"content-length", b"10"))).scope(), never, send)
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


async def test_a_query_is_ascii(doors: Doors) -> None:
    """400 for raw bytes beyond it, whichever door; percent-encoded they are a query like any other."""
    status, _, body = await doors.both(Asked(query=b"name=\xc3\xa9"))
    assert (status, b"invalid_request" in body) == (400, True)
    status, _, _ = await doors.both(Asked(query=b"name=%C3%A9"))
    assert status == 402
