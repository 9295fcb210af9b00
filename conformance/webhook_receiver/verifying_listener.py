"""Verifying webhook receiver as P-WH-13 describes it: it verifies each delivery and gives each event one effect.

The effect is a report of the event, and forwarding if an address is set. An event whose forwarding failed had no
effect, and a later delivery of it is processed again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

from conformance.oracles import webhook_signature
from conformance.webhook_receiver.effect_deduplication import MOST_REMEMBERED, Effects, EffectsFull, Outcome
from conformance.webhook_receiver.forwarding import Forwarder
from conformance.webhook_receiver.raw_receiver import Arrival, Reply

EFFECTS_PATH: Final = "/effects/"
_LONGEST_ID = 255
# Clocks of sender and receiver may differ.
_MARGIN_SECONDS = 60.0


class Reason(StrEnum):
    """Why a delivery had no effect."""

    METHOD = "method_not_allowed"
    SIGNATURE_MISSING = "signature_missing"
    SIGNATURE_MALFORMED = "signature_malformed"
    WRONG = "signature_wrong"
    STALE = "timestamp_stale"
    NOT_JSON = "not_json"
    NO_ID = "no_event_id"
    TOO_LARGE = "too_large"
    INCOMPLETE = "incomplete"
    LOOP = "forwarding_loop"
    FULL = "too_many_events"
    CONFIGURED_FAILURE = "failed_as_wanted"
    FORWARD = "forward_failed"


# Every other reason is a fault of the delivery, and answered 400.
_STATUS: Final[Mapping[Reason, int]] = {
    Reason.METHOD: HTTPStatus.METHOD_NOT_ALLOWED,
    Reason.LOOP: HTTPStatus.LOOP_DETECTED,
    Reason.FULL: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.CONFIGURED_FAILURE: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class DeliveryRefusal(Exception):
    """A delivery that the receiver does not accept.

    Attributes:
        reason: Its code, which is in the answer's body.
        detail: One sentence.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail

    @property
    def reply(self) -> Reply:
        """The answer: 400 with the reason, unless `_STATUS` has a more exact status."""
        allow = (("Allow", "POST"),) if self.reason is Reason.METHOD else ()
        body = {"error": self.reason.value, "message": self.detail}
        return _json(_STATUS.get(self.reason, HTTPStatus.BAD_REQUEST), body, *allow)


@dataclass(frozen=True, slots=True)
class Terms:
    """The rules by which deliveries are judged.

    Attributes:
        header: Name of the signature header.
        secrets: Secrets that are accepted: during a rotation the new one and the old one.
        signed_string: The string that v1 covers; `{t}` is the decimal time, `{body}` the raw body.
        tolerance: Greatest difference between `t` and now, in seconds.
        service_word: The word from which the key of v2 is derived; None if unknown, so that v2 is not checked.
    """

    header: str
    secrets: tuple[str, ...] = field(repr=False)
    signed_string: str = "{t}.{body}"
    tolerance: float = 300.0
    service_word: str | None = None


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """The event of a verified delivery.

    Attributes:
        id: Event id, 1 to 255 printable characters.
        members: The whole body, with unknown members.
        secret: Number of the secret with which it verified, from 1.
        v2: Whether v2 also verified; None if the delivery has no v2, or v2 was not checked.
    """

    id: str
    members: Mapping[str, Any]
    secret: int
    v2: bool | None = None


@dataclass(frozen=True, slots=True)
class ArrivalReport:
    """The outcome of one arrival.

    Attributes:
        outcome: `delivered` (it had its effect), `repeated` (it had it before), `refused` or `failed` (neither).
        arrival: The request.
        reply: The answer to it.
        event: The event, if the delivery verified.
        reason: Why it had no effect.
        detail: The reason in words.
    """

    outcome: str
    arrival: Arrival
    reply: Reply
    event: WebhookEvent | None = None
    reason: Reason | None = None
    detail: str | None = None


def verify_delivery(arrival: Arrival, terms: Terms) -> WebhookEvent:
    """Return the event that a request delivers; its signature is verified first.

    Raises:
        DeliveryRefusal: It is no delivery, its signature or its time is wrong, or it is no event.
    """
    if arrival.method != "POST":
        raise DeliveryRefusal(Reason.METHOD, "events are delivered with POST")
    # Several signature headers are refused: the sender and a proxy could mean different ones.
    values = arrival.values(terms.header)
    if not values:
        raise DeliveryRefusal(Reason.SIGNATURE_MISSING, f"the header {terms.header} is missing")
    header = webhook_signature.read(values[0])
    if len(values) > 1 or not header.is_usable or header.t is None:
        fault = next((fault for fault in header.faults if fault in webhook_signature.UNUSABLE), "it came twice")
        raise DeliveryRefusal(Reason.SIGNATURE_MALFORMED, f"the header {terms.header} is malformed: {fault}")
    # The signature comes first: time and body of an unsigned request are an attacker's words, and
    # the answer about them would tell the attacker something.
    place = webhook_signature.verify(header, terms.secrets, terms.signed_string, arrival.body)
    if place is None:
        raise DeliveryRefusal(Reason.WRONG, "v1 verifies with none of the secrets")
    second = _second(header, terms, arrival.body)
    # A wrong v2 beside a valid v1 means that the two sides derive its key differently, which
    # must be seen.
    if second is False:
        word = f"the key is derived with the service word {terms.service_word}"
        raise DeliveryRefusal(Reason.WRONG, f"v1 verifies, and v2 with none of the secrets ({word})")
    if webhook_signature.is_stale(header.t, arrival.at, terms.tolerance):
        away = round(arrival.at - header.t)
        where = f"{away} s ago" if away > 0 else f"{-away} s ahead"
        raise DeliveryRefusal(Reason.STALE, f"t is {where}; {terms.tolerance:g} s are accepted")
    return _event(arrival.body, place + 1, second)


def _second(header: webhook_signature.SignatureHeader, terms: Terms, body: bytes) -> bool | None:
    """Return whether v2 verifies; None if it is absent, or if the word for its key is unknown."""
    if not header.v2 or terms.service_word is None:
        return None
    place = webhook_signature.verify_v2(header, terms.secrets, terms.service_word, terms.signed_string, body)
    return place is not None


def _event(body: bytes, secret: int, second: bool | None) -> WebhookEvent:
    try:
        # Python accepts NaN and Infinity, which are not JSON.
        members = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as fault:
        raise DeliveryRefusal(Reason.NOT_JSON, "the body is not JSON") from fault
    event_id = members.get("id") if isinstance(members, dict) else None
    # The id becomes a key in memory and a word in the output, so it is short and printable.
    if not isinstance(event_id, str) or not 0 < len(event_id) <= _LONGEST_ID or not event_id.isprintable():
        raise DeliveryRefusal(Reason.NO_ID, "the body is no object with a printable `id`")
    return WebhookEvent(event_id, members, secret, second)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class Listener:
    """Answers arrivals: `plan` is the plan of a `Receiver`.

    Attributes:
        counts: Arrivals by outcome, and refusals by reason.
    """

    def __init__(
        self,
        terms: Terms,
        tell: Callable[[ArrivalReport], None],
        *,
        forwarder: Forwarder | None = None,
        fail_first: int = 0,
        delay: float = 0.0,
        most: int = MOST_REMEMBERED,
    ) -> None:
        """Make a listener.

        Args:
            terms: The rules that deliveries are judged by.
            tell: Called once for every arrival except questions about effects.
            forwarder: Passes new events on; its answer is passed back.
            fail_first: The number of genuine deliveries that are first answered 500, without effect.
            delay: Seconds from the effect of a genuine delivery to its answer.
            most: Greatest number of remembered event ids.
        """
        self._terms = terms
        self._send_report = tell
        self._forwarder = forwarder
        self._to_fail = fail_first
        self._delay = delay
        # A sender may repeat a delivery from `tolerance` seconds before its t until `tolerance` seconds after it.
        self._effects = Effects(2 * terms.tolerance + _MARGIN_SECONDS, most=most)
        self.counts: Counter[str] = Counter()

    async def plan(self, arrival: Arrival) -> Reply:
        """Run the effect of an arrival and return the answer."""
        if arrival.method in {"GET", "HEAD"} and arrival.path.startswith(EFFECTS_PATH):
            event_id = unquote(arrival.path.removeprefix(EFFECTS_PATH))
            # The suite itself asks this question, and it is no delivery.
            return Reply(200, (("Content-Type", "text/plain"),), str(self._effects.count(event_id)).encode())
        event: WebhookEvent | None = None
        try:
            event = verify_delivery(arrival, self._terms)
            self._refuse_loop(arrival)
            # The configured failures come after verification, so that only genuine deliveries
            # use them up.
            self._fail_as_configured()
            reply = await self._once(arrival, event)
        except DeliveryRefusal as refused:
            outcome = "failed" if refused.reason in {Reason.CONFIGURED_FAILURE, Reason.FULL} else "refused"
            reply = refused.reply
            self._report(ArrivalReport(outcome, arrival, reply, event, refused.reason, refused.detail))
            return reply
        return replace(reply, delay=self._delay)

    def report_incomplete(self, arrival: Arrival) -> None:
        """Report an arrival that the receiver itself refused because its body was incomplete."""
        if arrival.whole or arrival.reply is None:
            return
        large = arrival.reply.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        reason = Reason.TOO_LARGE if large else Reason.INCOMPLETE
        detail = "the body is longer than is read" if large else "the body did not come whole"
        self._report(ArrivalReport("refused", arrival, arrival.reply, None, reason, detail))

    async def close(self) -> None:
        """End the effects that are under way."""
        await self._effects.close()

    async def _once(self, arrival: Arrival, event: WebhookEvent) -> Reply:
        first = False

        async def effect() -> Outcome:
            nonlocal first
            first = True
            return await self._effect(arrival, event)

        try:
            outcome = await self._effects.run_once(event.id, effect)
        except EffectsFull as full:
            raise DeliveryRefusal(Reason.FULL, "too many events within the tolerance; deliver this one later") from full
        reply = _accepting_reply(event, "repeated") if outcome is None else outcome.reply
        # The delivery that ran the effect has already been reported by `_effect`.
        if not first:
            has_effect = outcome is None or outcome.has_effect
            detail = None if has_effect else "what it waited for failed"
            self._report(
                ArrivalReport(
                    "repeated" if has_effect else "failed",
                    arrival,
                    reply,
                    event,
                    None if has_effect else Reason.FORWARD,
                    detail,
                )
            )
        return reply

    async def _effect(self, arrival: Arrival, event: WebhookEvent) -> Outcome:
        if self._forwarder is None:
            reply = _accepting_reply(event, "done")
            self._report(ArrivalReport("delivered", arrival, reply, event))
            return Outcome(reply, has_effect=True)
        answer = await self._forwarder.forward(arrival)
        if answer.is_accepted:
            self._report(ArrivalReport("delivered", arrival, answer.reply, event))
            return Outcome(answer.reply, has_effect=True)
        detail = answer.fault or f"the answer was {answer.reply.status}"
        body = {"error": Reason.FORWARD.value, "message": "the event could not be forwarded"}
        reply = _json(answer.reply.status, body) if answer.fault else answer.reply
        self._report(ArrivalReport("failed", arrival, reply, event, Reason.FORWARD, f"{self._forwarder.url}: {detail}"))
        return Outcome(reply, has_effect=False)

    def _refuse_loop(self, arrival: Arrival) -> None:
        if self._forwarder is not None and self._forwarder.has_passed(arrival):
            raise DeliveryRefusal(Reason.LOOP, "this delivery was forwarded from here")

    def _fail_as_configured(self) -> None:
        if self._to_fail > 0:
            self._to_fail -= 1
            raise DeliveryRefusal(Reason.CONFIGURED_FAILURE, f"{self._to_fail} more will be failed")

    def _report(self, report: ArrivalReport) -> None:
        self.counts[report.outcome] += 1
        if report.reason is not None:
            self.counts[report.reason.value] += 1
        self._send_report(report)


def _accepting_reply(event: WebhookEvent, effect: str) -> Reply:
    return _json(HTTPStatus.OK, {"id": event.id, "effect": effect})


def _json(status: int, body: Mapping[str, Any], *fields: tuple[str, str]) -> Reply:
    return Reply(status, (("Content-Type", "application/json"), *fields), json.dumps(body).encode())
