"""Webhook receiver under test: the suite sends deliveries to it, and asks for the number of an event's effects."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from conformance.engine.check import Case
from conformance.http.client import Answer, Client, LateAnswer, Unreachable
from conformance.http.transport import HttpTransport
from conformance.http.trust import make_context
from conformance.outcome import OUR_LISTENER, STAND_IN, Inconclusive
from conformance.surfaces.webhooks.receiver_processes import own_listener
from conformance.surfaces.webhooks.sample_deliveries import STYLES, Delivery, Event, Signer, new_event
from conformance.target import Profile, ProfileError
from conformance.vocabulary.networks import EXAMPLE_TEST

UNBOUND_EFFECTS: Final = (
    "unbound: give [webhook.receiver] effects, a URL that answers how often the event {id} had its effect"
)
_EFFECT_SECONDS = 10.0
# An effect may be asynchronous, so a refused delivery is given this time to have one.
_SETTLING_SECONDS = 0.5
_POLL_SECONDS = 0.05
_FAR_STALE_SECONDS = 86_400.0
_DECIMAL = re.compile(rb"\s*([0-9]{1,9})\s*")


@dataclass(frozen=True, slots=True)
class TestedReceiver:
    """The receiver under test with its known names.

    Attributes:
        url: Its address.
        effects: URL with `{id}` that returns the number of an event's effects, or None.
        header: Name of the signature header.
        signer: Signer of deliveries that it should accept.
        chain: Network that its events name.
        agent: User-Agent of the deliveries.
        tolerance: Seconds that `t` may be away from now; None if the profile does not say.
        is_own: Whether it is the suite's own listener.
        at_once: Transport without a pace, for the suite's own listener and for deliveries that must arrive together.
    """

    url: str
    effects: str | None
    header: str
    signer: Signer
    chain: str
    agent: str
    tolerance: float | None
    is_own: bool
    at_once: HttpTransport

    @property
    def where(self) -> Mapping[str, str]:
        """The receiver of a judgement, for the reader."""
        return {STAND_IN: OUR_LISTENER} if self.is_own else {"receiver": self.url}

    @property
    def stale_seconds(self) -> float:
        """An age of `t` that it must refuse: just beyond its tolerance, or a day if that is unknown."""
        return _FAR_STALE_SECONDS if self.tolerance is None else self.tolerance + 30


class Sender:
    """Sends deliveries to the receiver under test for one check, and asks it about their effects."""

    def __init__(
        self, case: Case, receiver: TestedReceiver, *, client: Client | None = None, rng: random.Random | None = None
    ) -> None:
        """Send for a check, with another client and other randomness than the check's own where they are given."""
        self.case = case
        self.receiver = receiver
        self.signer = receiver.signer
        self._rng = rng or case.rng
        paced_client = client or case.client
        self._unpaced = paced_client.with_transport(receiver.at_once)
        self._client = self._unpaced if receiver.is_own else paced_client

    def event(self) -> Event:
        """Return a new event with the current time."""
        event = new_event(self._rng, self.receiver.chain, self.now())
        self.case.client.names.name(event["id"], "EVENT_ID")
        self.case.client.names.name(event["data"]["tx_id"], "TX_ID")
        return event

    def now(self) -> int:
        """Return the current unix second, named in the log."""
        t = int(time.time())
        self.case.client.names.name(str(t), "T")
        return t

    def genuine(self, event: Event, *, away: float = 0.0) -> Delivery:
        """Return a genuine delivery of an event, signed `away` seconds from now."""
        return self.signer.sign(event, self.now() + round(away))

    async def send(self, delivery: Delivery, *, at_once: bool = False) -> Answer:
        """Send a delivery and return the answer; `at_once` ignores the pace.

        Raises:
            Unreachable: There was no answer.
        """
        names = self.case.client.names
        # The fields of an honest sender: some receivers refuse other media types or an unknown
        # User-Agent.
        fields = [("Content-Type", "application/json"), ("User-Agent", self.receiver.agent)]
        if delivery.value is not None:
            fields.append((self.receiver.header, delivery.value))
            names.name(str(delivery.t), "T")
            # Signatures differ from run to run.
            for part in re.findall(r"[0-9a-f]{32,}", delivery.value):
                names.name(part, "V1")
        client = self._unpaced if at_once else self._client
        return await client.call("POST", self.receiver.url, body=delivery.body, headers=fields)

    async def attempt(self, delivery: Delivery) -> tuple[Answer | None, str]:
        """Send a delivery and return the answer, or None without one, and the outcome in words."""
        try:
            answer = await self.send(delivery)
        except Unreachable as fault:
            return None, str(fault)
        return answer, f"answered {answer.status}"

    async def send_twice_at_most(self, delivery: Delivery) -> tuple[Answer | None, str]:
        """Send a delivery as `attempt` does, and once more if the first answer was late.

        Raises:
            Inconclusive: A plain event gets no answer in time either, so the receiver or the suite is slow.
        """
        try:
            answer = await self.send(delivery)
        except LateAnswer as fault:
            await self.keeps_up(str(fault))
            return await self.attempt(delivery)
        except Unreachable as fault:
            return None, str(fault)
        return answer, f"answered {answer.status}"

    async def keeps_up(self, trouble: str) -> None:
        """Check that a plain event has its effect in time, after a delivery without an answer in time.

        Raises:
            Inconclusive: It does not; the text begins with the trouble.
        """
        if not await self.deliver_genuine(self.event()):
            raise Inconclusive(f"{trouble}, and a plain event after that was not taken in time either")

    async def effects(self, event_id: str, *, again: bool = False) -> int:
        """Return the number of an event's effects; 404 means an unknown event and counts as 0.

        Raises:
            Inconclusive: The receiver cannot be asked.
        """
        if self.receiver.effects is None:
            raise Inconclusive(UNBOUND_EFFECTS)
        answer = await self._client.call("GET", self.receiver.effects.replace("{id}", event_id), retry=again)
        # A receiver may forget an event that had no effect.
        if answer.status == 404:
            return 0
        number = _DECIMAL.fullmatch(answer.body)
        if answer.status != 200 or number is None:
            raise Inconclusive(f"[webhook.receiver] effects answered {answer.status} and no decimal number")
        return int(number[1])

    async def effects_within(self, event_id: str, *, is_taken: bool = True) -> int:
        """Wait for an event's first effect and return the number of its effects; 0 if the time is over.

        Args:
            event_id: The event.
            is_taken: Whether the receiver accepted it. The wait for a refused event is short.
        """
        # The budget of confirmations is the operator's word for how slow the target may be.
        seconds = min(_EFFECT_SECONDS, self.case.profile.budgets.confirmation) if is_taken else _SETTLING_SECONDS
        ends, pause = time.monotonic() + seconds, _POLL_SECONDS
        count = await self.effects(event_id)
        while not count and time.monotonic() < ends:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.5)
            count = await self.effects(event_id, again=True)
        return count

    async def settle(self) -> bool:
        """Wait until earlier deliveries have had their effects: until a genuine event has its effect, and a short time.

        Returns:
            Whether the genuine event was accepted.
        """
        is_taken = await self.deliver_genuine(self.event())
        if self.receiver.effects is not None:
            await asyncio.sleep(_SETTLING_SECONDS)
        return is_taken

    async def deliver_genuine(self, event: Event) -> bool:
        """Deliver an event as an honest sender does and return whether the receiver accepted it."""
        delivery = self.genuine(event)
        answer, _ = await self.attempt(delivery)
        if answer is None:
            return False
        if self.receiver.effects is None:
            return is_success(answer)
        return await self.effects_within(delivery.event_id, is_taken=is_success(answer)) > 0


def is_success(answer: Answer) -> bool:
    """Return whether an answer accepts the delivery."""
    return 200 <= answer.status < 300


def is_refusal(answer: Answer | None) -> bool:
    """Return whether an answer refuses the delivery with a client error."""
    return answer is not None and 400 <= answer.status < 500


async def sender(case: Case, *, by_effects: bool = False) -> Sender:
    """Return the sender to the receiver under test, which has accepted an honest delivery.

    Args:
        case: The check.
        by_effects: Whether only effects decide the check.

    Raises:
        Inconclusive: The receiver accepts no honest delivery, or has no URL of effects although they decide.
    """
    receiver: TestedReceiver = await case.session.find_once("receiver under test", lambda: _find_receiver(case))
    if receiver.effects is None and by_effects:
        raise Inconclusive(UNBOUND_EFFECTS)
    return Sender(case, receiver)


async def _find_receiver(case: Case) -> TestedReceiver:
    first_receiver = await _open_receiver(case)
    # A receiver that parses and serialises again accepts only its own style. The style that it
    # accepts is used as the honest one.
    for style in STYLES:
        receiver = replace(first_receiver, signer=replace(first_receiver.signer, style=style))
        # Client and seed are not those of a check, so that the requests do not depend on which check comes first.
        probe = Sender(case, receiver, client=case.session.client, rng=random.Random(style))  # noqa: S311 - an amount
        if await probe.deliver_genuine(probe.event()):
            return receiver
    raise Inconclusive(
        f"the receiver at {first_receiver.url} takes no genuine delivery: are [webhook.receiver] secret, "
        "[webhook] signed_string, key and header those that it verifies with?"
    )


async def _open_receiver(case: Case) -> TestedReceiver:
    """Return the operator's receiver, else the suite's own listener, started for this run."""
    profile: Profile = case.profile
    bindings = profile.webhook_bindings
    chain = next(filter(None, (profile.network_event(key) for key in profile.networks)), EXAMPLE_TEST.event)
    agent = f"{profile.service_word or 'Weldproof'}/1"
    tls = make_context(profile.tls)
    transport = HttpTransport(seconds=profile.budgets.request, requests_per_second=0, connections=32, tls=tls)
    at_once = await case.session.exit_stack.enter_async_context(transport)
    if bindings.receiver is None:
        header = bindings.header or f"X-{profile.service_word or 'Weldproof'}-Signature"
        signed_string = bindings.signed_string or "{t}.{body}"
        listener = await case.session.exit_stack.enter_async_context(
            own_listener(header, signed_string, bindings.tolerance)
        )
        case.client.names.secret(listener.secret, "WEBHOOK_RECEIVER_SECRET")
        signer = Signer(listener.secret, signed_string)
        return TestedReceiver(
            listener.url,
            listener.effects,
            header,
            signer,
            chain,
            agent,
            bindings.tolerance,
            is_own=True,
            at_once=at_once,
        )
    operator_receiver, signer = bindings.receiver, _signer(case)
    header = _header(profile)
    is_tolerance_known = profile.is_reference or "tolerance" in profile.webhook.model_fields_set
    tolerance = bindings.tolerance if is_tolerance_known else None
    return TestedReceiver(
        operator_receiver.url,
        operator_receiver.effects,
        header,
        signer,
        chain,
        agent,
        tolerance,
        is_own=False,
        at_once=at_once,
    )


def _header(profile: Profile) -> str:
    name = profile.webhook_bindings.header or (profile.service_word and f"X-{profile.service_word}-Signature")
    if not name:
        raise Inconclusive("unbound: give [webhook] header, or [target] service_word")
    return name


def _signer(case: Case) -> Signer:
    """Return the signer by the profile, with its secret kept out of the log.

    Raises:
        Inconclusive: The secret cannot be read, or the profile does not say what a signature covers.
    """
    bindings = case.profile.webhook_bindings
    if bindings.receiver is None or not bindings.signed_string or "{body}" not in bindings.signed_string:
        raise Inconclusive("unbound: give [webhook] signed_string, what v1 covers, such as {t}.{body}")
    if bindings.receiver.effects is not None and "{id}" not in bindings.receiver.effects:
        raise Inconclusive("[webhook.receiver] effects names no event: {id} in it stands for the event's id")
    try:
        secret = bindings.receiver.secret.read()
    except ProfileError as fault:
        raise Inconclusive(f"[webhook.receiver] secret: {fault}") from fault
    case.client.names.secret(secret, "WEBHOOK_RECEIVER_SECRET")
    return Signer(secret, bindings.signed_string, form=bindings.key or "text")
