"""Faults by name and seed: what a node does when it is away, broken, or lying about its shape.

A fault is armed for a number of answers. What its details are (where a body is cut, which garbage is sent) follows from
the seed, so that a run can be repeated.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

Send = Callable[[Any], Awaitable[None]]
HANG_SECONDS = 3600.0


class Broken(Exception):
    """Ends a connection in the middle of an answer; the server closes it."""


@dataclass(slots=True)
class Armed:
    """A fault that is switched on."""

    name: str
    rng: random.Random
    left: int


class Faults:
    """The faults of one chain: those of its answers, and those of what is submitted to it."""

    def __init__(self, submission_faults: Mapping[str, str] | None = None) -> None:
        self.submission_faults = dict(submission_faults or {})
        self._armed: dict[str, Armed] = {}

    @property
    def names(self) -> dict[str, str]:
        """Every fault name with what it does."""
        return {**{name: str(answer.__doc__) for name, answer in ANSWERS.items()}, **self.submission_faults}

    def arm(self, name: str, *, seed: int, count: int) -> None:
        """Switch a fault on for the next `count` answers or submissions; 0 switches it off.

        Raises:
            ValueError: No fault has that name.
        """
        if name not in self.names:
            raise ValueError(f"unknown fault {name!r}; known: {', '.join(self.names)}")
        self._armed.pop(name, None)
        if count > 0:
            self._armed[name] = Armed(name, random.Random(f"{name}:{seed}"), count)  # noqa: S311 - repeatable on purpose

    def take_answer(self) -> Armed | None:
        """Return the fault that the next answer shows, counting it, or None."""
        return self._take(name for name in self._armed if name in ANSWERS)

    def take_submission(self, name: str) -> bool:
        """Return whether the next submission shows the fault, counting it."""
        return self._take(armed for armed in self._armed if armed == name) is not None

    def _take(self, names: Any) -> Armed | None:
        name = next(iter(names), None)
        if name is None:
            return None
        fault = self._armed[name]
        fault.left -= 1
        if fault.left <= 0:
            del self._armed[name]
        return fault


async def _send(send: Send, status: int, body: bytes, media: bytes = b"application/json") -> None:
    headers = [(b"content-type", media), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def unavailable(send: Send, rng: random.Random) -> None:  # noqa: ARG001 - one shape for all
    """503 with a body that is not the node's."""
    await _send(send, 503, b"upstream connect error", b"text/plain")


async def server_error(send: Send, rng: random.Random) -> None:
    """500 in the node's own form."""
    await _send(send, 500, orjson.dumps({"message": f"internal failure {rng.randrange(10**6)}"}))


async def answer_unauthorised(send: Send, rng: random.Random) -> None:  # noqa: ARG001 - one shape for all
    """401 as for a wrong token."""
    await _send(send, 401, orjson.dumps({"message": "Invalid API Token"}))


async def hang(send: Send, rng: random.Random) -> None:  # noqa: ARG001 - one shape for all
    """No answer until the client gives up."""
    await asyncio.sleep(HANG_SECONDS)


async def cut_off(send: Send, rng: random.Random) -> None:
    """A body that ends before its length: the connection is closed."""
    body = b'{"pool-error":"","txn":{"txn":{"type":"axfer"'[: rng.randrange(1, 40)]
    headers = [(b"content-type", b"application/json"), (b"content-length", b"4096")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    raise Broken


async def not_json(send: Send, rng: random.Random) -> None:
    """200 with bytes that are no JSON."""
    await _send(send, 200, b"<html>" + rng.randbytes(rng.randrange(1, 64)))


async def empty_body(send: Send, rng: random.Random) -> None:  # noqa: ARG001 - one shape for all
    """200 with nothing."""
    await _send(send, 200, b"")


async def wrong_shape(send: Send, rng: random.Random) -> None:
    """200 with JSON of another shape."""
    shapes: tuple[Any, ...] = (
        [],
        {},
        None,
        7,
        "ok",
        {"txn": []},
        {"transaction": {"id": 5}},
        {"txn": {"txn": "x"}, "confirmed-round": "1"},
    )
    await _send(send, 200, orjson.dumps(rng.choice(shapes)))


async def answer_not_found(send: Send, rng: random.Random) -> None:  # noqa: ARG001 - one shape for all
    """404 from something that is not the node, in no form of its own."""
    await _send(send, 404, b"404 page not found", b"text/plain")


ANSWERS: Mapping[str, Callable[[Send, random.Random], Awaitable[None]]] = {
    "unavailable": unavailable,
    "server_error": server_error,
    "unauthorised": answer_unauthorised,
    "hang": hang,
    "cut_off": cut_off,
    "not_json": not_json,
    "empty_body": empty_body,
    "wrong_shape": wrong_shape,
    "lost": answer_not_found,
}
