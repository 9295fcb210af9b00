"""Requests without sockets: an ASGI app is called in the process, with the delays, cuts and silence of a network."""

from __future__ import annotations

import asyncio
import contextvars
import random
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp

from sim.faults import ANSWERS
from tests.simulation.loop import OWNER, Owner, VirtualLoop
from tests.simulation.machines import Machine

_SILENCE, _PATIENCE = 30.0, 60.0
_JSON = (b"content-type", b"application/json")
Headers = Sequence[tuple[bytes, bytes]]


class NoAnswer(Exception):
    """No answer: the machine is down, was killed meanwhile, or was too slow."""


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
    messages: list[Any] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()  # the client stays until he has his answer

    collector = _Collected()
    await app(scope, receive, collector.send)
    return collector.answer()


def _end(answer_future: asyncio.Future[Answer], outcome: Answer | Exception) -> None:
    """Give the waiting caller an answer, or the fault instead of one; the first counts."""
    if answer_future.done():
        return
    if isinstance(outcome, Answer):
        answer_future.set_result(outcome)
    else:
        answer_future.set_exception(outcome)


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
    answer_future: asyncio.Future[Answer] = loop.create_future()

    end = partial(_end, answer_future)

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
            return await answer_future
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
        lie: Answers in the node's place, or None if the node answers truthfully.
        refresh: Brings the chain to the present before the node is asked.
        state: Distinguishes states of the chain in which the same question may have another answer.
        honest_until: The time before which it does not begin to lie again.
    """

    app: Any
    away: bool = False
    lie: Callable[[str, str, bytes], Answer | None] | None = None
    honest_until: float = 0.0
    refresh: Callable[[], None] = lambda: None
    state: Callable[[], Hashable] = lambda: None
    _known: dict[str, Answer] = field(default_factory=dict)
    _known_in: Hashable = None

    def prompt(self, method: str, target: str, body: bytes) -> Answer | None:
        """Return an answer that needs no waiting: of an RPC, or one that was given in this very state of the chain."""
        if not ANSWERS.keys().isdisjoint(self.app._faults._armed):
            return None
        if method == "GET":
            return self._known.get(target) if self.state() == self._known_in else None
        if target != "/":
            return None
        answer_call = asgi(self.app, method, target, (_JSON,), body)
        try:
            answer_call.send(None)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        raise RuntimeError("an RPC waits for something")

    def remember(self, state: Hashable, method: str, target: str, answer: Answer) -> None:
        """Keep what was answered while the chain was in a state, and still is."""
        if method != "GET" or state is None or state != self.state() or answer.status >= 500:
            return
        if state != self._known_in:
            self._known, self._known_in = {}, state
        self._known[target] = answer


class Taking(Protocol):
    """A receiver of webhooks."""

    async def take(self, headers: Mapping[str, Any], body: bytes, sender: Owner | None) -> Answer:
        """Answer one attempt.

        Raises:
            aiohttp.ClientError: The connection ends.
        """


class NodeNetwork:
    """All nodes by host name, and receivers of webhooks by address, as the product's HTTP session reaches them."""

    def __init__(self, loop: VirtualLoop, seed: str) -> None:
        self.hosts: dict[str, NodeHost] = {}
        self.receivers: dict[str, Taking] = {}
        self.asked = 0
        self._loop = loop
        self._chance = random.Random(f"{seed}:nodes")

    def request(self, method: str, url: str, **how: Any) -> Any:
        """Return what is entered with `async with` to get a node's answer."""
        body, host = how.get("data") or b"", urlsplit(url).hostname or ""
        if host in self.receivers:
            return _Asking(self._hand_over(self.receivers[host], how["headers"], body, OWNER.get()))
        return _Asking(self.ask(method, url, body, getattr(how.get("timeout"), "total", None)))

    async def _hand_over(
        self, receiver: Taking, headers: Mapping[str, Any], body: bytes, sender: Owner | None
    ) -> Answer:
        async def take_answer() -> Answer:
            await asyncio.sleep(self._chance.uniform(0.001, 0.2))
            return await receiver.take(headers, body, sender)

        # If the caller dies or gives up, its request still arrives.
        return await asyncio.shield(self._loop.create_task(take_answer(), context=contextvars.Context()))

    async def ask(self, method: str, url: str, body: bytes, seconds: float | None) -> Answer:
        """Return a node's answer.

        Raises:
            aiohttp.ClientError: The node is away.
            TimeoutError: It does not answer in time.
        """
        self.asked += 1
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        question = _Asked(self.hosts[parts.hostname or ""], method, target, body, seconds or _PATIENCE)
        answer_future: asyncio.Future[Answer] = self._loop.create_future()

        # In a context of the network's own: a machine that dies takes no node with it.
        delay = self._chance.uniform(0.002, 0.25)
        self._loop.call_later(
            delay, self._deliver, question, partial(_end, answer_future), context=contextvars.Context()
        )
        return await answer_future

    def _deliver(self, question: _Asked, give: Callable[[Answer | Exception], None]) -> None:
        """Answer at once where nothing has to be waited for: most questions are put a million times."""
        host, loop = question.host, self._loop
        if host.away:
            if self._chance.random() < 0.5:
                loop.call_later(min(_SILENCE, question.seconds), give, TimeoutError())
            else:
                give(NodeAway("connection refused"))
            return
        host.refresh()
        lie = None if host.lie is None else host.lie(question.method, question.target, question.body)
        lie = lie or host.prompt(question.method, question.target, question.body)
        if lie is not None:
            give(lie)
            return
        loop.call_later(question.seconds, give, TimeoutError())
        loop.create_task(self._serve(question, give))

    async def _serve(self, question: _Asked, give: Callable[[Answer | Exception], None]) -> None:
        host = question.host
        state = host.state()
        try:
            async with asyncio.timeout(_SILENCE):
                answer = await asgi(host.app, question.method, question.target, (_JSON,), question.body)
        except (TimeoutError, ConnectionAbortedError):
            give(NodeAway("the connection ended"))
            return
        host.remember(state, question.method, question.target, answer)
        give(answer)


@dataclass(frozen=True, slots=True)
class _Asked:
    host: NodeHost
    method: str
    target: str
    body: bytes
    seconds: float


class _Asking:
    """`async with session.request(…) as response`."""

    def __init__(self, ask: Coroutine[Any, Any, Answer]) -> None:
        self._ask = ask

    async def __aenter__(self) -> _Response:
        return _Response(await self._ask)

    async def __aexit__(self, *_: object) -> None:
        pass


class _Response:
    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.content = self
        self.total_bytes = len(answer.body)
        self._body = answer.body

    def is_eof(self) -> bool:
        return True

    async def iter_chunked(self, size: int) -> Any:
        for start in range(0, len(self._body), size):
            yield self._body[start : start + size]

    async def read(self) -> bytes:
        return self._body
