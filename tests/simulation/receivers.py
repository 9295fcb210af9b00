"""Where tenants want their webhooks: receivers that may be away, slow, or the death of who calls them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.oracles import webhook_signature
from reference.protocol.webhook_delivery import DEFAULT_SCHEDULE, EventType
from tests.simulation.gateway import Shop
from tests.simulation.judging import Judge
from tests.simulation.loop import Owner
from tests.simulation.machines import EPOCH, Machine
from tests.simulation.wire import Answer, NodeAway, NodeNetwork
from tests.simulation.workers import Worker

MOODS = ("away", "silent", "slow", "cut", "failing", "redirecting", "deadly", "deadly")
_HEADER = "X-Weldproof-Signature"
_ATTEMPTS = len(DEFAULT_SCHEDULE) + 1
_SILENCE, _TIMEOUT = 30.0, 6.0
_STALE_SECONDS = 300.0
_ADDRESS = "93.184.216.{}"


@dataclass(slots=True)
class Receiver:
    """The webhook receiver of one tenant.

    Attributes:
        shop: The shop that sends the events.
        chance: Source of random delays and answers.
        secret: The secret that signs its events.
        mood: `well`, or one of MOODS.
        bodies: Received bodies by the event's id.
        tried: Ids of events by the token of their link, whether or not they arrived.
        told: Events of paid links by the link's token: the id and the transaction.
        taken: Ids of events that it has answered 2xx.
        failed: How many attempts it let fail, by id.
    """

    shop: Shop
    chance: random.Random
    secret: str = ""
    mood: str = "well"
    bodies: dict[str, bytes] = field(default_factory=dict)
    tried: dict[str, str] = field(default_factory=dict)
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    failed: dict[str, int] = field(default_factory=dict)

    async def take(self, headers: Mapping[str, Any], body: bytes, sender: Owner | None) -> Answer:
        """Answer one attempt.

        Raises:
            aiohttp.ClientError: The connection ends.
        """
        event_body = json.loads(body)
        event, token = str(event_body["id"]), str(event_body["data"]["payment_link_token"])
        self.tried.setdefault(token, event)
        mood = self.mood
        self.shop.judge.count("attempts of events")
        if mood == "away":
            self._note_failed(event, sender)
            raise NodeAway("connection refused")
        self._judge(event, headers, body)
        if mood in {"silent", "slow"}:
            self.shop.gateway.loop.call_later(_TIMEOUT, self._note_failed, event, sender)
            await asyncio.sleep(_SILENCE if mood == "silent" else self.chance.uniform(4, 8))
        if mood == "deadly" and isinstance(sender, Machine):
            self._kill(sender)
            if self.chance.random() < 0.5:
                raise NodeAway("the sender died before the whole request arrived")
        if mood == "cut":
            self._note_failed(event, sender)
            raise NodeAway("the connection ended")
        if mood in {"failing", "redirecting"}:
            self._note_failed(event, sender)
            return Answer(500 if mood == "failing" else 307, {}, b"")
        self.taken.add(event)
        return Answer(self.chance.choice((200, 202, 204)), {}, b"")

    def _note_failed(self, event: str, sender: Owner | None) -> None:
        if sender is None or not sender.dead:  # of a dead one it is unknown whether it failed
            self.failed[event] = self.failed.get(event, 0) + 1

    def _kill(self, machine: Machine) -> None:
        """Kill the sender: the event has arrived, and the sender cannot record that."""
        machine.kill()
        for worker in self.shop.gateway.workers.values():
            if worker.machine is machine:
                self.shop.gateway.loop.create_task(_start_later(worker, self.chance.uniform(1, 100)))

    def _judge(self, event: str, headers: Mapping[str, Any], body: bytes) -> None:
        judge = self.shop.judge
        if self.bodies.setdefault(event, body) != body:
            judge.note_violation("event-changed", "receiver", f"{event} came with another body")
        signature_parts = webhook_signature.read(str(headers.get(_HEADER, "")))
        if (
            signature_parts.faults
            or webhook_signature.verify(signature_parts, [self.secret], "{t}.{body}", body) is None
        ):
            judge.note_violation("event-unsigned", "receiver", f"{event}: {signature_parts.value}")
        elif webhook_signature.is_stale(signature_parts.t or 0, EPOCH + self.shop.gateway.loop.time(), _STALE_SECONDS):
            judge.note_violation("event-stale", "receiver", f"{event} was signed at {signature_parts.t}")
        event_body = json.loads(body)
        if event_body["type"] == EventType.PAYMENT_CONFIRMED.value:
            token, tx_id = str(event_body["data"]["payment_link_token"]), str(event_body["data"]["tx_id"])
            judge.note("receiver", event, token, tx_id)
            if self.told.setdefault(token, (event, tx_id)) != (event, tx_id):
                judge.note_violation("event-twice", "receiver", f"{token} is reported by two events")

    def judge_link(self, token: str, tx_id: str) -> str:
        """Return what is wrong, at the end, with the events of a paid link."""
        entry = self.told.get(token)
        if entry is None:
            tries = self.failed.get(self.tried.get(token, ""), 0)
            return "" if tries >= _ATTEMPTS else f"no event arrived, in {tries} attempts"
        event, by = entry
        if by != tx_id:
            return f"{event} names {by}"
        has_arrived = event in self.taken or self.failed.get(event, 0) >= _ATTEMPTS
        return "" if has_arrived else f"{event} was tried {self.failed.get(event, 0)} times"


async def _start_later(worker: Worker, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await worker.start()


async def open_receivers(shop: Shop, nodes: NodeNetwork, chance: random.Random, seed: str) -> list[Receiver]:
    """Give each tenant a destination."""
    receivers = []
    for number, seller in enumerate(shop.sellers):
        receiver = Receiver(shop, random.Random(f"{seed}:receiver:{number}"))
        host = _ADDRESS.format(34 + number)
        nodes.receivers[host] = receiver
        destination = {"url": f"https://{host}/events"}
        receiver.secret = (await shop.manage(chance, "POST", f"/{seller.tenant}/webhooks", destination))["secret"]
        receivers.append(receiver)
    return receivers


async def judge_events(judge: Judge, receivers: list[Receiver]) -> None:
    """Each paid link was reported, or was tried as often as the schedule says."""
    if not receivers:
        return
    for receiver in receivers:
        receiver.mood = "well"
    faults_by_token: dict[str, str] = {}
    for _ in range(40):
        faults_by_token = {
            token: fault
            for token in judge.paid_links
            if (fault := _find_fault(receivers, token, judge.paid_links[token]))
        }
        if not faults_by_token:
            return
        await asyncio.sleep(3600)
    for token, what in faults_by_token.items():
        judge.note_violation("event-lost", token, what)


def _find_fault(receivers: list[Receiver], token: str, tx_id: str) -> str:
    """Return what is wrong at the receiver that should know of a link."""
    knowing_receivers = [one for one in receivers if token in one.tried]
    return (
        (knowing_receivers or receivers)[0].judge_link(token, tx_id)
        if len(knowing_receivers) <= 1
        else "two tenants got events"
    )
