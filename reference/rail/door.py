"""What a call meets before and after the redeemer, in the order of profile 5.7."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from pydantic import BaseModel

from reference.protocol import proof
from reference.protocol.canonical_json import JsonValue, NotJson, parse
from reference.protocol.refusals import PaymentRefused
from reference.rail.challenges import Call, Challenges
from reference.rail.redemption import Redeemer, Served
from reference.rail.services import Service
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.exchange import JSON, Reply, Request
from reference.web.peers import Networks, client_address, hops
from reference.web.rate import Allowance, RateLimit, too_many


class Door:
    """Takes calls of the paid paths."""

    def __init__(
        self,
        challenges: Mapping[str, Challenges],
        redeemer: Redeemer,
        clock: WpClock,
        *,
        unpaid: RateLimit,
        presented: RateLimit,
        proxies: Networks,
        disabled: Sequence[str],
    ) -> None:
        self._challenges = challenges
        self._redeemer = redeemer
        self._clock = clock
        self._unpaid = unpaid
        self._presented = presented
        self._proxies = proxies
        self._disabled = disabled

    @property
    def paths(self) -> frozenset[str]:
        """Paths that cost something."""
        return frozenset(self._challenges)

    async def call(self, request: Request) -> Reply:
        """Answer one call.

        Raises:
            Refused: Any status but 402 and 422.
            Unprocessable: A presented proof's body is none that the service accepts.
        """
        offered = self._challenges[request.path]
        self.refuse_disabled(offered.service)
        allowance = self._admit(request)
        limits = {} if allowance is None else allowance.headers()
        try:
            served = await self._redeem(request, offered.service)
        except PaymentRefused as refusal:
            reply = self._payment_required(request, offered, refusal)
        except (Refused, Unprocessable) as fault:
            # A copy: callers who waited together share the fault, and each has an allowance of his own.
            raise replace(fault, headers={**fault.headers, **limits}) from fault
        else:
            reply = _paid(served)
        return Reply(reply.status, reply.body, {**reply.headers, **limits})

    def refuse_disabled(self, service: Service) -> None:
        """Refuse a service that the operator switched off (step 1)."""
        if service.id in self._disabled:
            raise Refused(503, "service_disabled", "this service is switched off", {"Retry-After": "60"})

    def _admit(self, request: Request) -> Allowance | None:
        limit = self._presented if "x-payment" in request.headers else self._unpaid
        named = hops(request.headers.get("x-forwarded-for", ()))
        allowance = limit.take(client_address(request.peer, named, self._proxies))
        if allowance is not None and not allowance.allowed:
            raise too_many(allowance)
        return allowance

    async def _redeem(self, request: Request, service: Service) -> Served:
        values = request.headers.get("x-payment", ())
        if not values:
            stock = "payment-signature" in request.headers
            raise PaymentRefused("payment_not_welded" if stock else "payment_required", judged=False)
        if request.method != "POST":
            raise PaymentRefused("method_not_payable", judged=False)
        presented = await self._redeemer.present(proof.decode(values))
        if not request.is_json:
            raise Refused(415, "unsupported_media_type", "send the body as application/json")
        body = _parsed(request.body)
        accepted = service.accepts(body)
        call = Call.of(service, body, request.query)
        return await self._redeemer.redeem(presented, call, accepted)

    def _payment_required(self, request: Request, offered: Challenges, refusal: PaymentRefused) -> Reply:
        issued = offered.issue(quoted(request, offered.service), error=refusal.code, unix=self._clock.now())
        headers = {"Content-Type": JSON, **issued.headers}
        if refusal.judged:
            headers["PAYMENT-RESPONSE"] = _refused_payment(refusal)
        if refusal.retry_after is not None:
            headers["Retry-After"] = str(refusal.retry_after)
        return Reply(402, issued.body, headers)


def quoted(request: Request, service: Service) -> Call:
    """Return the call that a challenge is bound to: the request itself, or the example where it is none (P-CH-11)."""
    if request.method == "POST" and request.is_json:
        try:
            body = _parsed(request.body)
            accepted: BaseModel | None = service.accepts(body)
        except Unprocessable:
            accepted = None
        if accepted is not None:
            return Call.of(service, body, request.query)
    return Call.example(service)


def _parsed(data: bytes) -> JsonValue:
    try:
        return parse(data)
    except NotJson as fault:
        raise Unprocessable.not_json(str(fault)) from fault


def _paid(served: Served) -> Reply:
    headers = {
        "Content-Type": JSON,
        "Cache-Control": "private, no-store",
        "PAYMENT-RESPONSE": served.payment_response,
    }
    if served.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Reply(200, served.body, headers)


def _refused_payment(refusal: PaymentRefused) -> str:
    told: dict[str, Any] = {
        "success": False,
        "errorReason": refusal.code,
        "transaction": refusal.transaction,
        "network": refusal.network,
    }
    return base64.b64encode(orjson.dumps(told)).decode()
