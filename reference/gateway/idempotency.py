"""Calls that are executed once a key (P-ID-01 to P-ID-06).

What a call makes and its stored answer are one transaction, and a unique key lets one of several in: whoever comes
second waits inside the database for the first, has changed nothing, and sends the first one's answer. So a worker may
die at any moment and leaves neither a link without its answer nor a key that is taken for nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any
from urllib.parse import quote

import orjson

from reference.gateway import refusals
from reference.gateway.calls import Call
from reference.gateway.credentials import digest_of
from reference.store.database import Change, Database, DuplicateKey, Write
from reference.store.idempotency import Answers, Scope, StoredAnswer
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import JSON, Reply
from reference.web.sealing import Seal

_FORM = re.compile(r"[\x21-\x7e]{1,255}")
_ATTEMPTS = 3
_OWNER_LENGTH = 36
_PLAIN_PATH = "/!$&'()*+,;=:@"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What a call makes: its answer, and the changes that make it true."""

    status: int
    body: bytes
    changes: Sequence[Change]


Make = Callable[[], Awaitable[StoredResponse]]
# From a call's answer to what carries out its changes, and keeps the answer with them; None for what keeps nothing.
Keep = Callable[[Mapping[str, Any]], Write | None]


def keep_nothing(answer: Mapping[str, Any]) -> None:
    """Keep no answer."""
    del answer


class _Replayed(Exception):
    """Somebody else has answered the same call meanwhile."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Idempotency:
    """Executes creating calls."""

    def __init__(self, database: Database, seal: Seal, clock: WpClock, *, window: int, wait: float) -> None:
        """Take what stores answers.

        Args:
            database: Where things are made and answers kept.
            seal: Encrypts answers, which hold secrets.
            clock: The service's clock.
            window: How long an answer is kept, in seconds.
            wait: How long a call waits for the first one of its key, in seconds.
        """
        self._database = database
        self._answers = Answers(database)
        self._seal = seal
        self._clock = clock
        self._window = window
        self._wait = wait

    async def answer_once(self, call: Call, make: Make) -> Reply:
        """Answer a creating call; the same key and body get the same answer and make nothing again.

        Raises:
            Refused: 400 for a malformed key, 409 for another body or a first call that is still running; or what
                `make` raises, of which nothing is stored.
        """
        scope = _scope_of(call)
        for _ in range(_ATTEMPTS):
            if (replay := await self._replay(scope, call)) is not None:
                return replay
            try:
                response = await make()
                await self._carry_out(response, scope, call)
            except DuplicateKey:
                continue  # by the same key on another worker, or by the same name: look again
            except (Refused, Unprocessable):
                # What is in the way may be what the first call of this key has made meanwhile.
                if (replay := await self._replay(scope, call)) is not None:
                    return replay
                raise
            return Reply(response.status, response.body, {"Content-Type": JSON})
        raise refusals.idempotency_in_progress()

    async def answer_with_writer(self, call: Call, make: Callable[[Keep], Awaitable[Mapping[str, Any]]]) -> Reply:
        """Answer a creating call that carries out its own changes, 201 with what `make` returns.

        Args:
            call: The call.
            make: Makes it; its changes and its answer it hands to what it is given.

        Raises:
            Refused: As `answer_once`.
        """
        scope = _scope_of(call)
        if (replay := await self._replay(scope, call)) is not None:
            return replay

        def keep(answer: Mapping[str, Any]) -> Write:
            async def write(*changes: Change) -> None:
                try:
                    await self._carry_out(StoredResponse(201, orjson.dumps(answer), changes), scope, call)
                except DuplicateKey:
                    if (replay := await self._replay(scope, call)) is not None:
                        raise _Replayed(replay) from None
                    raise

            return write

        try:
            return Reply(201, orjson.dumps(await make(keep)), {"Content-Type": JSON})
        except _Replayed as replayed:
            return replayed.reply
        except (Refused, Unprocessable):
            # What is in the way may be what the first call of this key has made meanwhile.
            if (replay := await self._replay(scope, call)) is not None:
                return replay
            raise

    async def forget(self) -> None:
        """Drop the answers whose window is over."""
        await self._answers.forget(now=self._clock.lapsed_until())

    async def _carry_out(self, response: StoredResponse, scope: Scope | None, call: Call) -> None:
        if scope is None:
            await self._database.change_all(*response.changes)
            return
        now, expiry_now = self._clock.now(), self._clock.lapsed_until()
        sealed_body = self._seal.seal(response.body, _bind_scope(scope))
        answer = StoredAnswer(call.body.hash, response.status, sealed_body, now + self._window)
        store = self._answers.build_store(scope, answer, now=expiry_now)
        try:
            async with asyncio.timeout(self._wait):
                await self._database.change_all(*store, *response.changes)
        except TimeoutError as fault:
            raise refusals.idempotency_in_progress() from fault

    async def _replay(self, scope: Scope | None, call: Call) -> Reply | None:
        """Return the first answer of a key, None when there is none yet.

        Raises:
            Refused: 409, it answered another body.
        """
        answer = None if scope is None else await self._answers.get(scope, now=self._clock.lapsed_until())
        if scope is None or answer is None:
            return None
        if answer.body_hash != call.body.hash:
            raise refusals.idempotency_conflict()
        body = self._seal.open(answer.sealed_body, _bind_scope(scope))
        return Reply(answer.status, body, {"Content-Type": JSON, "Idempotent-Replayed": "true"})


def _scope_of(call: Call) -> Scope | None:
    fields = call.request.headers.get("idempotency-key", ())
    if not fields:
        return None
    if len(fields) != 1 or _FORM.fullmatch(fields[0]) is None:
        raise refusals.invalid_request("send one Idempotency-Key of 1 to 255 visible ASCII characters")
    # A path may hold anything where its operation has no form for it, and PostgreSQL has no text with NUL in it.
    return Scope(_owner_of(call), call.request.method, quote(call.request.path, safe=_PLAIN_PATH), fields[0])


def _owner_of(call: Call) -> str:
    """Return whose key it is: a tenant's, or an administrator's by the credential that he calls with."""
    if call.caller is not None:
        return call.caller.tenant.id
    return digest_of(call.request.first_value("authorization"))[:_OWNER_LENGTH]


def _bind_scope(scope: Scope) -> bytes:
    return orjson.dumps(astuple(scope))
