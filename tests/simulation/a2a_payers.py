"""Payers who come by the rail's A2A door, and who present one payment at both doors at once."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.judging import content
from tests.simulation.payers import PATHS, RETRYABLE, STORED_SECONDS, Market, Payment, order, pay, redeem, request_quote
from tests.simulation.wire import Answer, NoAnswer
from tests.simulation.workers import Worker

_STATUS, _PAYLOAD = "x402.payment.status", "x402.payment.payload"
_REQUIRED_KEY, _RECEIPTS = "x402.payment.required", "x402.payment.receipts"
_NOT_FOUND = -32001
_TASK_SECONDS = 86_400.0
_CLOCKS_DIFFER = 180.0
_LONGEST_WAIT = 300.0
# How long a payer follows its task; without an answer it may then try the paid endpoint over HTTP.
_PATIENCE = 20 * 86_400.0


@dataclass(frozen=True, slots=True)
class Said:
    """What the door says.

    Attributes:
        task: The task, or None without one.
        code: JSON-RPC's, 0 for no error.
        why: The error's type, as its data tell it.
        wait: Seconds after which the same is to be sent again, where it is; else None.
    """

    task: Mapping[str, Any] | None = None
    code: int = 0
    why: str = ""
    wait: float | None = None

    @property
    def state(self) -> str:
        """Where the task stands."""
        return "" if self.task is None else str(self.task["status"]["state"])

    @property
    def status_metadata(self) -> Mapping[str, Any]:
        """What the task's status says of its payment."""
        message = {} if self.task is None else self.task["status"].get("message", {})
        return dict(message.get("metadata", {}))

    @property
    def answer(self) -> Answer | None:
        """What the task has brought."""
        if self.task is None or self.state != "completed":
            return None
        [part] = self.task["artifacts"][-1]["parts"]
        return Answer(200, {}, json.dumps(part["data"]).encode())


@dataclass(slots=True)
class _Talk:
    """One order at the A2A door: its task and when that was opened."""

    market: Market
    actor: str
    chance: random.Random
    service: str
    body: bytes
    task_id: str = ""
    opened_at: float = 0.0
    document: Mapping[str, Any] = field(default_factory=dict)

    async def call(self, method: str, params: Mapping[str, Any]) -> Said:
        """Return what the door says.

        Raises:
            NoAnswer: Nothing.
        """
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = await self.market.ask(self.actor, self.chance, "/a2a", body)
        if answer.status != 200:
            return Said(why=str(answer.status), wait=float(answer.headers.get("retry-after", "5")))
        document = json.loads(answer.body)
        if "error" in document:
            data = document["error"].get("data") or [{}]
            why = data[0].get("type", "") if isinstance(data, list) else str(data)
            return Said(code=document["error"]["code"], why=why)
        task = document["result"]
        return Said(task, wait=task.get("metadata", {}).get("retry_after_seconds"))

    async def open(self) -> bool:
        """Order; False if no worker quotes a price."""
        for _ in range(3):
            part = {"kind": "data", "data": {"service_id": self.service, "request": json.loads(self.body)}}
            try:
                reply = await self.call("message/send", {"message": self._message(part)})
            except NoAnswer:
                await asyncio.sleep(self.chance.uniform(1, 30))
                continue
            if reply.task is not None and _REQUIRED_KEY in reply.status_metadata:
                self.task_id, self.document = reply.task["id"], reply.status_metadata[_REQUIRED_KEY]
                self.opened_at = self.market.now()
                return True
            await asyncio.sleep(reply.wait or 5.0)
        return False

    def _message(self, part: Mapping[str, Any], **members: Any) -> dict[str, Any]:
        message_id = f"{self.chance.randrange(10**9)}"
        return {"kind": "message", "messageId": message_id, "role": "user", "parts": [part], **members}

    async def submit(self, proof: str) -> Said:
        """Send a payment, and ask for the task if it is already complete.

        Raises:
            NoAnswer: No worker answers.
        """
        metadata = {_STATUS: "payment-submitted", _PAYLOAD: json.loads(base64.b64decode(proof))}
        message = self._message({"kind": "text", "text": "paid"}, taskId=self.task_id, metadata=metadata)
        reply = await self.call("message/send", {"message": message})
        return await self.get() if reply.why == "task_over" else reply

    async def get(self) -> Said:
        """Ask for the task.

        Raises:
            NoAnswer: No worker answers.
        """
        return await self.call("tasks/get", {"id": self.task_id})

    @property
    def keeps(self) -> bool:
        """Whether its task must be known still."""
        return self.market.now() < self.opened_at + _TASK_SECONDS - _CLOCKS_DIFFER


async def a2a(market: Market, actor: str, chance: random.Random) -> None:
    """Order over A2A, pay within the challenge's time, send the payment, obey, and ask for the answer again."""
    service, _, body = order(chance)
    talk = _Talk(market, actor, chance, service, body)
    if not await talk.open():
        return
    payment = await pay(market, actor, chance, talk.document, service, body, within=0.9)
    if payment is None:
        return
    market.payments.append(payment)
    await asyncio.sleep(chance.choice((0.0, 0.5, 3.0, 30.0)))
    await _finish(talk, payment)
    while payment.answer is not None and not payment.given_back:
        await asyncio.sleep(chance.choice((1.0, 60.0, 3600.0, 6 * 3600.0, 20 * 3600.0)))
        if not await _again(talk, payment) or chance.random() < 0.4:
            return


async def _finish(talk: _Talk, payment: Payment) -> None:
    """Send the same payment until it is served or refused for good; a task that is gone leaves the other door."""
    market, ends, wait = talk.market, talk.market.now() + _PATIENCE, 1.0
    while payment.answer is None and market.now() < ends:
        wait = min(wait * 2, _LONGEST_WAIT)
        try:
            reply = await talk.submit(payment.proof)
        except NoAnswer as fault:
            payment.last = f"no answer: {fault}"
            await asyncio.sleep(wait)
            continue
        payment.last = f"a2a {reply.state or reply.code} {reply.why}"
        if reply.code == _NOT_FOUND:
            if talk.keeps:
                market.judge.note_violation("task-lost", talk.actor, payment.last)
            await redeem(market, payment, talk.chance, until=ends)
            return
        if reply.answer is not None:
            _note_served(talk, payment, reply.answer)
            return
        if reply.status_metadata.get(_STATUS) == "payment-failed":
            code = str(reply.status_metadata[_RECEIPTS][0]["errorReason"])
            payment.last = f"a2a {code}"
            if code not in RETRYABLE:
                _note_refused(talk, payment, code)
                return
        await asyncio.sleep(max(reply.wait or 0.0, min(wait, 120.0)))


def _note_served(talk: _Talk, payment: Payment, answer: Answer) -> None:
    payment.answer, payment.served_at = answer, talk.market.now()
    talk.market.judge.count("served over A2A")
    talk.market.judge.judge_served(talk.actor, payment.tx_id, payment.token, answer)


def _note_refused(talk: _Talk, payment: Payment, code: str) -> None:
    if code == "payment_refunded" and payment.tx_id in talk.market.judge.given_back:
        payment.given_back = True
        return
    payment.refused = payment.last
    if talk.market.rail.chains[payment.network].has(payment.tx_id):
        talk.market.judge.refused_for_good(talk.actor, payment.last)


async def _again(talk: _Talk, payment: Payment) -> bool:
    """Ask for the answer at one of the doors; False when its time is over at both."""
    market, chance = talk.market, talk.chance
    is_stored = market.now() < payment.served_at + STORED_SECONDS - _CLOCKS_DIFFER
    if not is_stored and not talk.keeps:
        return False
    by_task = talk.keeps and (not is_stored or chance.random() < 0.5)
    for _ in range(5):
        try:
            if by_task:
                reply = await talk.get()
                wait, answer = reply.wait, reply.answer
                description = f"a2a {reply.state or reply.code} {reply.why}"
            else:
                told = await market.ask(talk.actor, chance, PATHS[payment.service][0], payment.body, payment.proof)
                after = told.headers.get("retry-after")
                wait, answer = None if after is None else float(after), told if told.status == 200 else None
                description = f"{told.status} {told.body[:120]!r}"
        except NoAnswer:
            await asyncio.sleep(chance.uniform(1, 60))
            continue
        if answer is None and wait is not None:
            await asyncio.sleep(wait)
            continue
        _judge_again(talk, payment, answer, description)
        return True
    return True


def _judge_again(talk: _Talk, payment: Payment, answer: Answer | None, description: str) -> None:
    assert payment.answer is not None
    if answer is None:
        talk.market.judge.note_violation("answer-lost", talk.actor, description)
    elif content(answer.body) != content(payment.answer.body):
        talk.market.judge.note_violation("answer-changed", talk.actor, "another answer than at first")


async def doors(market: Market, actor: str, chance: random.Random) -> None:
    """Present one payment at both doors, and for two tasks, at once; now and then a worker dies over it."""
    service, path, body = order(chance)
    talks = [_Talk(market, actor, random.Random(chance.random()), service, body) for _ in range(2)]
    if not all([await talk.open() for talk in talks]):
        return
    document = talks[0].document if chance.random() < 0.5 else await request_quote(market, actor, chance, path, body)
    payment = document and await pay(market, actor, chance, document, service, body, within=0.5)
    if not payment:
        return
    market.payments.append(payment)
    dying_worker = _doom_worker(market, chance) if chance.random() < 0.4 else None
    tries = [
        _by_rest(market, actor, random.Random(chance.random()), path, payment) for _ in range(chance.randrange(1, 4))
    ]
    tries += [_by_task(chance.choice(talks), payment) for _ in range(chance.randrange(1, 4))]
    for answer in await asyncio.gather(*tries):
        if answer is not None:
            market.judge.judge_served(actor, payment.tx_id, payment.token, answer)
    if dying_worker is not None:
        await asyncio.sleep(chance.uniform(1, 60))
        await dying_worker.start()
    await _finish(talks[0], payment)
    if payment.answer is not None:
        await _again(talks[0], payment)


def _doom_worker(market: Market, chance: random.Random) -> Worker | None:
    worker = chance.choice(sorted(market.rail.workers.values(), key=lambda one: one.name))
    if worker.machine is None:
        return None
    worker.machine.kill_after(
        **chance.choice(({"steps": chance.randrange(20, 900)}, {"commits": chance.randrange(1, 7)}))
    )
    return worker


async def _by_rest(market: Market, actor: str, chance: random.Random, path: str, payment: Payment) -> Answer | None:
    for _ in range(4):
        try:
            answer = await market.ask(actor, chance, path, payment.body, payment.proof)
        except NoAnswer:
            return None
        if answer.status == 200:
            return answer
        await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
    return None


async def _by_task(talk: _Talk, payment: Payment) -> Answer | None:
    for _ in range(4):
        try:
            reply = await talk.submit(payment.proof)
        except NoAnswer:
            return None
        if reply.answer is not None:
            return reply.answer
        await asyncio.sleep(reply.wait or 1.0)
    return None
