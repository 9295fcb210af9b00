"""Mutants of the rail's A2A door: what it publishes, how it answers, keeps tasks and asks for payment (5.11)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from reference.protocol import a2a_x402
from reference.protocol.a2a import ErrorCode, Outcome, Task, TaskState, data_part, text_part
from reference.protocol.a2a_card import CARD, ENDPOINT
from reference.rail import documents
from reference.rail.a2a import RailTasks
from reference.rail.conversation import Conversation
from reference.rail.documents import Documents
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.a2a import A2aServer, Message
from reference.web.document import Document
from reference.web.exchange import JSON, Reply, Request
from reference.web.json_rpc import JsonRpcServer, RpcError

Members = dict[str, Any]

# --- the card


def _card(change: Callable[[Members], Members]) -> Callable[[], None]:
    """Return what changes the card."""
    return lambda: replace(documents, "agent_card", lambda make: lambda *args: change(make(*args)))


def _no_card() -> None:
    """Only the address of older versions has a card."""
    original = Documents.paths
    paths = property(lambda self: tuple(path for path in original.__get__(self) if path != CARD))
    Documents.paths = paths  # type: ignore[method-assign,assignment]


def _card_as_text() -> None:
    def plain(fixed: Callable[..., Mapping[str, Document]]) -> Callable[..., Mapping[str, Document]]:
        def published(self: Documents) -> Mapping[str, Document]:
            whole = dict(fixed(self))
            return {**whole, CARD: dataclasses.replace(whole[CARD], media_type="text/plain; charset=utf-8")}

        return published

    replace(Documents, "fixed", plain)


def _elsewhere(card: Members) -> Members:
    return {**card, "url": card["url"].removesuffix(ENDPOINT) + "/agent"}


def _also_elsewhere(card: Members) -> Members:
    further = {"url": card["url"] + "/v1", "transport": "JSONRPC"}
    return {**card, "additionalInterfaces": [*card["additionalInterfaces"], further]}


def _no_extensions(card: Members) -> Members:
    return {**card, "capabilities": {**card["capabilities"], "extensions": None}}


def _extension_in_words(card: Members) -> Members:
    extensions = [{**one, "uri": one["description"]} for one in card["capabilities"]["extensions"]]
    return {**card, "capabilities": {**card["capabilities"], "extensions": extensions}}


def _untagged(card: Members) -> Members:
    skills = [{name: value for name, value in skill.items() if name != "tags"} for skill in card["skills"]]
    return {**card, "skills": skills}


# --- JSON-RPC


def _unknown(name: str) -> Callable[[], None]:
    """Return what makes a method unknown."""

    def gone(_: Callable[..., Any]) -> Callable[..., Any]:
        async def refused(*_args: Any) -> Any:
            raise RpcError(ErrorCode.METHOD_NOT_FOUND)

        return refused

    return lambda: replace(A2aServer, name, gone)


def _answer(change: Callable[[Members, Reply], Reply]) -> Callable[[], None]:
    """Return what changes the answers of JSON-RPC."""

    def changed(answer: Callable[..., Any]) -> Callable[..., Any]:
        async def answered(self: JsonRpcServer, request: Request) -> Reply:
            reply: Reply = await answer(self, request)
            return change(orjson.loads(reply.body), reply)

        return answered

    return lambda: replace(JsonRpcServer, "answer", changed)


def _with(reply: Reply, body: Members, status: int = 200) -> Reply:
    return Reply(status, orjson.dumps(body), reply.headers)


def _text_id(body: Members, reply: Reply) -> Reply:
    return _with(reply, {**body, "id": None if body["id"] is None else str(body["id"])})


def _no_id_in_errors(body: Members, reply: Reply) -> Reply:
    return _with(reply, {**body, "id": None}) if "error" in body else reply


def _no_version(body: Members, reply: Reply) -> Reply:
    return _with(reply, {name: value for name, value in body.items() if name != "jsonrpc"})


def _null_beside(body: Members, reply: Reply) -> Reply:
    return _with(reply, {"result": None, "error": None, **body})


def _wordless_refusal(body: Members, reply: Reply) -> Reply:
    if body.get("error", {}).get("code") != ErrorCode.EXTENDED_CARD_NOT_CONFIGURED:
        return reply
    return _with(reply, {**body, "error": {**body["error"], "message": None}})


def _codeless_detail(body: Members, reply: Reply) -> Reply:
    data = body.get("error", {}).get("data")
    return reply if data is None else _with(reply, {**body, "error": {"data": data}})


def _large_id_lost(body: Members, reply: Reply) -> Reply:
    return _with(reply, {**body, "id": None}) if body["id"] == 2**53 - 1 else reply


def _orders_unread() -> None:
    replace(Message, "data_with", lambda _: lambda *_: None)


def _as_text(_: Members, reply: Reply) -> Reply:
    return dataclasses.replace(reply, headers={**reply.headers, "Content-Type": "text/plain; charset=utf-8"})


def _method_404(body: Members, reply: Reply) -> Reply:
    if body.get("error", {}).get("code") != ErrorCode.METHOD_NOT_FOUND:
        return reply
    return Reply(404, orjson.dumps({"detail": "Not Found"}), {"Content-Type": JSON})


def _parse_as_method(body: Members, reply: Reply) -> Reply:
    if body.get("error", {}).get("code") != ErrorCode.PARSE_ERROR:
        return reply
    return _with(reply, {**body, "error": {**body["error"], "code": ErrorCode.METHOD_NOT_FOUND}})


def _any_method() -> None:
    """An unknown method does nothing and says so, as success."""

    def tolerant(called: Callable[..., Any]) -> Callable[..., Any]:
        async def ran(self: JsonRpcServer, envelope: Mapping[str, Any], request: Request) -> Any:
            if envelope.get("method") not in self.methods:
                return None
            return await called(self, envelope, request)

        return ran

    replace(JsonRpcServer, "_called", tolerant)


# --- tasks


def _null_for_unknown() -> None:
    def null(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: A2aServer, params: Any, request: Request) -> Any:
            try:
                return await get(self, params, request)
            except RpcError as error:
                if error.code is ErrorCode.TASK_NOT_FOUND:
                    return None
                raise

        return got

    replace(A2aServer, "_get", null)


def _opened_by_get() -> None:
    """Whoever asks for a task gets one."""

    def found(find: Callable[..., Any]) -> Callable[..., Any]:
        async def made(self: RailTasks, task_id: str) -> Task:
            task: Task | None = await find(self, task_id)
            return task or Task(task_id, task_id, TaskState.INPUT_REQUIRED, "2026-01-01T00:00:00Z")

        return made

    replace(RailTasks, "find", found)


def _with_task_changed(change: Callable[[Members], Members]) -> Callable[[], None]:
    """Return what changes a task as tasks/get tells it."""

    def changed(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: A2aServer, params: Any, request: Request) -> Members:
            return change(await get(self, params, request))

        return got

    return lambda: replace(A2aServer, "_get", changed)


def _working(task: Members) -> Members:
    return {**task, "status": {**task["status"], "state": "working"}}


def _bare(task: Members) -> Members:
    return {**task, "status": {name: value for name, value in task["status"].items() if name != "message"}}


def _forgotten_when_read() -> None:
    read: set[str] = set()

    def once(get: Callable[..., Any]) -> Callable[..., Any]:
        async def got(self: A2aServer, params: Any, request: Request) -> Any:
            if params.get("id") in read:
                raise RpcError(ErrorCode.TASK_NOT_FOUND)
            task = await get(self, params, request)
            read.add(task["id"])
            return task

        return got

    replace(A2aServer, "_get", once)


def _one_for_all() -> None:
    """Every order is answered with the task of the first one."""
    first: list[Members] = []

    def shared(send: Callable[..., Any]) -> Callable[..., Any]:
        async def sent(self: A2aServer, params: Any, request: Request) -> Any:
            task = await send(self, params, request)
            if "taskId" in params["message"]:
                return task
            first.append(task)
            return first[0]

        return sent

    replace(A2aServer, "_send", shared)


def _all_told_alike() -> None:
    """What a message makes of its task is told of each task."""
    newest: list[Task] = []

    def noted(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changed(self: RailTasks, task: Task) -> bool:
            newest[:] = [task]
            done: bool = await change(self, task)
            return done

        return changed

    def alike(find: Callable[..., Any]) -> Callable[..., Any]:
        async def found(self: RailTasks, task_id: str) -> Task | None:
            task: Task | None = await find(self, task_id)
            return newest[0] if task is not None and newest else task

        return found

    replace(RailTasks, "replace", noted)
    replace(RailTasks, "find", alike)


def _end_without_an_answer() -> None:
    """The end of a task is never kept, and whoever brought it about waits for that."""

    def carrying(carry: Callable[..., Any]) -> Callable[..., Any]:
        async def carried(self: A2aServer, task: Task, message: Any, outcome: Outcome) -> Task:
            if outcome.state is TaskState.FAILED:
                await asyncio.Event().wait()
            after: Task = await carry(self, task, message, outcome)
            return after

        return carried

    replace(A2aServer, "_carried_on", carrying)


# --- asking for payment


def _asking(change: Callable[[Outcome], Outcome]) -> Callable[[], None]:
    """Return what changes how a task asks for payment."""
    return lambda: replace(a2a_x402, "required", lambda make: lambda *args: change(make(*args)))


def _only_in_words(outcome: Outcome) -> Outcome:
    return dataclasses.replace(outcome, message_metadata={}, metadata={}, extensions=())


def _failed(outcome: Outcome) -> Outcome:
    return dataclasses.replace(outcome, state=TaskState.FAILED)


def _terms(change: Callable[[Members], Members | None]) -> Callable[[], None]:
    """Return what changes each accepts entry of a task; None leaves it out."""

    def changed(outcome: Outcome) -> Outcome:
        challenge = outcome.message_metadata[a2a_x402.REQUIRED]
        entries = [entry for one in challenge["accepts"] if (entry := change(dict(one))) is not None]
        metadata = {**outcome.message_metadata, a2a_x402.REQUIRED: {**challenge, "accepts": entries}}
        return dataclasses.replace(outcome, message_metadata=metadata)

    return _asking(changed)


def _no_token(entry: Members) -> Members:
    return {**entry, "extra": {name: value for name, value in entry["extra"].items() if name != "payment_reference"}}


def _twice() -> None:
    def doubled(outcome: Outcome) -> Outcome:
        challenge = outcome.message_metadata[a2a_x402.REQUIRED]
        metadata = {**outcome.message_metadata, a2a_x402.REQUIRED: {**challenge, "accepts": challenge["accepts"] * 2}}
        return dataclasses.replace(outcome, message_metadata=metadata)

    _asking(doubled)()


def _free() -> None:
    """An order over A2A is served at once, without payment."""

    def generous(quoted: Callable[..., Any]) -> Callable[..., Any]:
        def served(self: Conversation, message: Any, task: Task | None, request: Request) -> Outcome:
            outcome: Outcome = quoted(self, message, task, request)
            service = self._offered(outcome.memo).service
            body = {"service_id": service.id, "result": dict(service.example_result)}
            done = Outcome(TaskState.COMPLETED, (text_part("Served."),), ((data_part(body),),))
            return dataclasses.replace(done, memo=outcome.memo)

        return served

    replace(Conversation, "_quoted", generous)


MUTANTS = (
    Mutant("a2a-card-missing", "the card is at /.well-known/agent-card.json (P-RA-01)", _no_card),
    Mutant("a2a-card-as-text", "the card is JSON (P-CV-03)", _card_as_text),
    Mutant(
        "a2a-card-grpc",
        "the preferred transport is JSONRPC (P-RA-01)",
        _card(lambda card: {**card, "preferredTransport": "GRPC"}),
    ),
    Mutant(
        "a2a-card-no-transport",
        "the card says its preferred transport (P-RA-01)",
        _card(lambda card: {name: value for name, value in card.items() if name != "preferredTransport"}),
    ),
    Mutant("a2a-card-elsewhere", "the card's url is /a2a (P-RA-01)", _card(_elsewhere)),
    Mutant("a2a-card-also-elsewhere", "every JSONRPC interface of the card is /a2a (P-RA-01)", _card(_also_elsewhere)),
    Mutant("a2a-card-extensions-null", "the card is one of A2A 0.3 (P-RA-01)", _card(_no_extensions)),
    Mutant(
        "a2a-card-security-false",
        "the card's security is a list (P-RA-01)",
        _card(lambda card: {**card, "security": False, "supportsAuthenticatedExtendedCard": []}),
    ),
    Mutant("a2a-card-skills-untagged", "each skill of the card has its tags (P-RA-01)", _card(_untagged)),
    Mutant(
        "a2a-card-extension-in-words", "the card names the extension by its URI (P-RA-02)", _card(_extension_in_words)
    ),
    Mutant("a2a-no-send", "message/send is a method (P-RA-03)", _unknown("_send")),
    Mutant("a2a-no-get", "tasks/get is a method (P-RA-03)", _unknown("_get")),
    Mutant("a2a-id-as-text", "the id is echoed with its type (P-RA-04)", _answer(_text_id)),
    Mutant("a2a-error-without-id", "an error echoes the id (P-RA-04)", _answer(_no_id_in_errors)),
    Mutant("a2a-no-version", "every answer says jsonrpc 2.0 (P-RA-04)", _answer(_no_version)),
    Mutant("a2a-null-beside", "an answer has a result or an error (P-RA-04)", _answer(_null_beside)),
    Mutant("a2a-error-wordless", "every error has a message (P-RA-03, P-RA-04)", _answer(_wordless_refusal)),
    Mutant("a2a-detail-codeless", "an error with data has a code, too (JSON-RPC 2.0, 5.1)", _answer(_codeless_detail)),
    Mutant("a2a-large-id-lost", "an id that every JSON library holds is echoed (P-RA-04)", _answer(_large_id_lost)),
    Mutant("a2a-default-service", "payment is asked for what was ordered (5.11)", _orders_unread),
    Mutant("a2a-as-text", "answers are application/json (P-RA-04)", _answer(_as_text)),
    Mutant("a2a-method-404", "an unknown method is an error with HTTP 200 (P-RA-04)", _answer(_method_404)),
    Mutant("a2a-parse-as-method", "no JSON is -32700 (P-CV-13)", _answer(_parse_as_method)),
    Mutant("a2a-any-method", "an unknown method is an error (P-RA-03)", _any_method),
    Mutant("a2a-null-for-unknown", "an unknown task is an error (P-RA-04)", _null_for_unknown),
    Mutant("a2a-opened-by-get", "tasks/get opens no task (P-RA-04)", _opened_by_get),
    Mutant("a2a-get-says-working", "tasks/get reports the state of the task (P-RA-06)", _with_task_changed(_working)),
    Mutant("a2a-get-is-bare", "tasks/get reports what payment is required (P-RA-06)", _with_task_changed(_bare)),
    Mutant("a2a-forgotten-when-read", "tasks are kept for a day (P-RA-10)", _forgotten_when_read),
    Mutant("a2a-one-for-all", "every order has a task of its own (P-RA-10)", _one_for_all),
    Mutant("a2a-all-told-alike", "a message changes the task that it names alone (P-RA-10)", _all_told_alike),
    Mutant("a2a-end-unanswered", "a message that ends its task is answered (5.11)", _end_without_an_answer),
    Mutant("a2a-asks-in-words", "the payment-required state has its metadata (P-RA-06)", _asking(_only_in_words)),
    Mutant("a2a-asks-failed", "a task that asks for payment is input-required (P-RA-06)", _asking(_failed)),
    Mutant("a2a-free", "an order is paid before it is served (P-RA-06)", _free),
    Mutant(
        "a2a-without-base",
        "a task offers every lane (P-RA-06)",
        _terms(lambda entry: None if entry["network"].startswith("eip155") else entry),
    ),
    Mutant("a2a-lanes-twice", "a task offers every lane once (P-RA-06)", _twice),
    Mutant("a2a-without-token", "a task carries the token to be welded (P-RA-06)", _terms(_no_token)),
)
