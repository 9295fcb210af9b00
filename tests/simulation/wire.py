"""Requests without sockets: an ASGI app is called in the process, with the delays, cuts and silence of a network."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from tests.simulation.loop import VirtualLoop
from tests.simulation.machines import Machine

_SILENCE, _PATIENCE = 30.0, 60.0
Headers = Sequence[tuple[bytes, bytes]]


class NoAnswer(Exception):
    """Nobody answered: the machine is down, was killed meanwhile, or was too slow."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class _Collected:
    status: int = 0
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], tuple(message["headers"])
        else:
            self.body += message.get("body", b"")

    def answer(self) -> Answer:
        headers = {bytes(name).decode().lower(): bytes(value).decode() for name, value in self.headers}
        return Answer(self.status, headers, bytes(self.body))


async def asgi(app: Any, method: str, target: str, headers: Headers, body: bytes, peer: str = "127.0.0.1") -> Answer:
    """Return what an app answers to one request, in the caller's own task."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"simulated.test"), (b"content-length", str(len(body)).encode()), *headers],
        "client": (peer, 40000),
        "server": ("simulated.test", 80),
        "extensions": {},
    }
    there: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if there:
            return there.pop()
        return await asyncio.get_running_loop().create_future()  # the client stays until he has his answer

    collected = _Collected()
    await app(scope, receive, collected.send)
    return collected.answer()


async def call(
    loop: VirtualLoop,
    machine: Machine,
    app: Any,
    chance: random.Random,
    *,
    method: str,
    target: str,
    headers: Headers = (),
    body: bytes = b"",
    peer: str = "198.51.100.1",
) -> Answer:
    """Return what a worker answers to a client somewhere on the network.

    Raises:
        NoAnswer: There was none within a minute.
    """
    answered: asyncio.Future[Answer] = loop.create_future()

    def end(outcome: Answer | NoAnswer) -> None:
        if answered.done():
            return
        if isinstance(outcome, Answer):
            answered.set_result(outcome)
        else:
            answered.set_exception(outcome)

    async def serve() -> None:
        try:
            end(await asgi(app, method, target, headers, body, peer))
        except Exception as fault:  # noqa: BLE001 - a server closes the connection
            end(NoAnswer(f"the app failed: {type(fault).__name__}: {fault}"))

    def cut() -> None:
        end(NoAnswer("the machine died"))

    loop.busy += 1
    try:
        await asyncio.sleep(chance.uniform(0.0, 0.05))
        if machine.dead:
            raise NoAnswer("the machine is down")
        machine.at_death.append(cut)
        loop.create_task(serve(), context=machine.context.copy())
        async with asyncio.timeout(_PATIENCE):
            return await answered
    except TimeoutError:
        raise NoAnswer("no answer in time") from None
    finally:
        loop.busy -= 1
        if cut in machine.at_death:
            machine.at_death.remove(cut)


class NodeAway(aiohttp.ClientConnectionError):
    """The node cannot be reached."""


@dataclass(slots=True)
class NodeHost:
    """One address where a node answers.

    Attributes:
        app: The simulator's app.
        away: Whether connections fail.
        lie: Answers in the node's place, or None where the truth is to be told.
        refresh: Brings the chain to the present before the node is asked.
        honest_until: Before when it does not begin to lie again.
    """

    app: Any
    away: bool = False
    lie: Callable[[str, str, bytes], Answer | None] | None = None
    honest_until: float = 0.0
    refresh: Callable[[], None] = lambda: None


class NodeNetwork:
    """All nodes by host name, as the product's HTTP session reaches them."""

    def __init__(self, loop: VirtualLoop, seed: str) -> None:
        self.hosts: dict[str, NodeHost] = {}
        self.asked = 0
        self._loop = loop
        self._chance = random.Random(f"{seed}:nodes")

    def request(self, method: str, url: str, **how: Any) -> Any:
        """Return what is entered with `async with` to get a node's answer."""
        return _Asking(self, method, url, how.get("data") or b"", how.get("timeout"))

    async def ask(self, method: str, url: str, body: bytes, seconds: float | None) -> Answer:
        """Return a node's answer.

        Raises:
            aiohttp.ClientError: The node is away.
            TimeoutError: It does not answer in time.
        """
        self.asked += 1
        parts = urlsplit(url)
        host = self.hosts[parts.hostname or ""]
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        # In a context of the network's own: a machine that dies takes no node with it.
        work = self._answer(host, method, target or "/", body)
        answering = self._loop.create_task(work, context=contextvars.Context())
        async with asyncio.timeout(seconds):
            return await asyncio.shield(answering)

    async def _answer(self, host: NodeHost, method: str, target: str, body: bytes) -> Answer:
        await asyncio.sleep(self._chance.uniform(0.001, 0.2))
        if host.away:
            if self._chance.random() < 0.5:
                await asyncio.sleep(_SILENCE)
            raise NodeAway("connection refused")
        host.refresh()
        told = None if host.lie is None else host.lie(method, target, body)
        if told is None:
            try:
                async with asyncio.timeout(_SILENCE):
                    told = await asgi(host.app, method, target, ((b"content-type", b"application/json"),), body)
            except (TimeoutError, ConnectionAbortedError) as fault:
                raise NodeAway("the connection ended") from fault
        await asyncio.sleep(self._chance.uniform(0.001, 0.05))
        return told


class _Asking:
    """`async with session.request(…) as response`."""

    def __init__(self, network: NodeNetwork, method: str, url: str, body: bytes, timeout: Any) -> None:
        self._ask = network.ask(method, url, body, getattr(timeout, "total", None))

    async def __aenter__(self) -> _Response:
        return _Response(await self._ask)

    async def __aexit__(self, *_: object) -> None:
        pass


class _Response:
    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = self
        self._body = answer.body

    async def iter_chunked(self, size: int) -> Any:
        for start in range(0, len(self._body), size):
            yield self._body[start : start + size]

    async def read(self) -> bytes:
        return self._body
