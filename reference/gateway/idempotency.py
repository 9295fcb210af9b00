"""Idempotency keys: a call is executed once for each key (P-ID-01 to P-ID-06).

The changes of a call and its stored answer are one transaction, and a unique key admits one of several calls. A second
call waits inside the database for the first one, changes nothing, and returns the first one's answer. So a worker may
die at any moment. It leaves neither a link without its answer nor a key that is taken without a link.
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
from reference.gateway.call_admission import Call
from reference.gateway.credentials import digest_of
from reference.store.database import Change, Database, DuplicateKey, Write
from reference.store.idempotency import Answers, Scope, StoredAnswer
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import JSON, Reply
from reference.web.sealing import Seal

_FORM = re.compile(r"[\x21-\x7e]{1,255}")
# A refused call looks for the first answer again. A row may expire between the two, so it tries several times.
_ATTEMPTS = 3
_OWNER_LENGTH = 36
# Characters that stay unquoted in a stored path: those of RFC 3986 that need no quoting there.
_PLAIN_PATH = "/!$&'()*+,;=:@"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The answer of a creating call, and the changes that make it true."""

    status: int
    body: bytes
    changes: Sequence[Change]


Make = Callable[[], Awaitable[StoredResponse]]
# Takes the answer of a call and returns the function that carries out its changes together with the stored answer, or
# None if no answer is stored.
Keep = Callable[[Mapping[str, Any]], Write | None]


def keep_nothing(answer: Mapping[str, Any]) -> None:
    """Store no answer."""
    del answer


class _Replayed(Exception):
    """Another call with the same key was answered meanwhile."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Idempotency:
    """Executes creating calls."""

    def __init__(self, database: Database, seal: Seal, clock: WpClock, *, window: int, wait: float) -> None:
        """Take the parts.

        Args:
            database: The database of the records and of the answers.
            seal: Encrypts answers, as they contain secrets.
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
        """Answer a creating call. The same key and body get the same answer and create nothing again.

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
                continue  # the same key on another worker, or the same id of a record: look again
            except (Refused, Unprocessable):
                # The record in the way may be the one that the first call of this key has created meanwhile.
                if (replay := await self._replay(scope, call)) is not None:
                    return replay
                raise
            return Reply(response.status, response.body, {"Content-Type": JSON})
        raise refusals.idempotency_in_progress()

    async def answer_with_writer(self, call: Call, make: Callable[[Keep], Awaitable[Mapping[str, Any]]]) -> Reply:
        """Answer a creating call that carries out its changes itself, 201 with what `make` returns.

        Args:
            call: The call.
            make: Carries out the call, with the function that it receives.

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
            # The record in the way may be the one that the first call of this key has created meanwhile.
            if (replay := await self._replay(scope, call)) is not None:
                return replay
            raise

    async def forget(self) -> None:
        """Delete the expired answers."""
        await self._answers.forget(now=self._clock.lapsed_until())

    async def _carry_out(self, response: StoredResponse, scope: Scope | None, call: Call) -> None:
        if scope is None:
            await self._database.change_all(*response.changes)
            return
        # The window of a new answer begins now. Old ones expire by the time that has certainly passed: a clock that ran
        # ahead must not free a key early and let its call be executed twice.
        now, expiry_now = self._clock.now(), self._clock.lapsed_until()
        sealed_body = self._seal.seal(response.body, _bind_scope(scope))
        answer = StoredAnswer(call.body.hash, response.status, sealed_body, now + self._window)
        store = self._answers.build_store(scope, answer, now=expiry_now)
        try:
            # The second call with a key waits here, inside the database, for the transaction of the first one
            # (P-ID-05).
            async with asyncio.timeout(self._wait):
                await self._database.change_all(*store, *response.changes)
        except TimeoutError as fault:
            raise refusals.idempotency_in_progress() from fault

    async def _replay(self, scope: Scope | None, call: Call) -> Reply | None:
        """Return the first answer of a key, or None if it has no answer yet.

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
    # The path is quoted, because an argument of it may contain any character, and PostgreSQL has no text with NUL in
    # it.
    return Scope(_owner_of(call), call.request.method, quote(call.request.path, safe=_PLAIN_PATH), fields[0])


def _owner_of(call: Call) -> str:
    """Return the owner of a key: the tenant, or an administrator by the credential of the call."""
    if call.caller is not None:
        return call.caller.tenant.id
    return digest_of(call.request.first_value("authorization"))[:_OWNER_LENGTH]


def _bind_scope(scope: Scope) -> bytes:
    # The scope is authenticated with the sealed answer, so an answer cannot be moved to another tenant's key in the
    # database.
    return orjson.dumps(astuple(scope))
