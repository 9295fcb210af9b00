"""What a call meets before and after the redeemer, in the order of specification 5.7; `redeem` serves REST and A2A."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from reference.deadlines import Deadlines
from reference.protocol import proof
from reference.protocol.refusals import PaymentRefused
from reference.rail.challenges import Call, Challenge, Challenges
from reference.rail.claims.fulfilment import Served
from reference.rail.claims.presented_proof import in_progress
from reference.rail.claims.redemption import Redeemer
from reference.rail.service_request import Quoted, ServiceRequest, order_of, quoted
from reference.rail.services import Service
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import JSON, Reply, Request
from reference.web.http.peers import Networks, client_address, hops
from reference.web.http.rate import AddressLimit, Allowance, too_many

_DISABLED_SECONDS = "60"
# Told as they are and never raised, so that one of each is enough.
_UNPAID = PaymentRefused("payment_required")
_NOT_WELDED = PaymentRefused("payment_not_welded")
_NOT_PAYABLE = PaymentRefused("method_not_payable")


class PaidEndpoint:
    """Takes calls of the paid paths."""

    def __init__(
        self,
        challenges: Mapping[str, Challenges],
        redeemer: Redeemer,
        clock: WpClock,
        *,
        may_issue: Callable[[], None] = lambda: None,
        unpaid: AddressLimit,
        presented: AddressLimit,
        proxies: Networks,
        disabled: Sequence[str],
        within: float,
    ) -> None:
        self._challenges = challenges
        self._redeemer = redeemer
        self._clock = clock
        self._may_issue = may_issue
        self._unpaid = unpaid
        self._presented = presented
        self._proxies = proxies
        self._disabled = disabled
        self._deadlines = Deadlines(within)

    @property
    def paths(self) -> frozenset[str]:
        """Paths that cost something."""
        return frozenset(self._challenges)

    async def call(self, request: Request) -> Reply:
        """Answer one call.

        Raises:
            Refused: Any status but 402 and 422.
            Unprocessable: A presented proof's body is not one that the service accepts.
        """
        offered = self._challenges[request.path]
        presented = "x-payment" in request.headers
        if not presented:
            self.refuse_disabled(offered.service)
        allowance = self.admit(request, presented=presented)
        limits = {} if allowance is None else allowance.headers()
        try:
            reply = await self._answer(request, offered)
        except (Refused, Unprocessable) as fault:
            # A copy: callers who waited together share the fault, and each has an allowance of his own.
            raise replace(fault, headers={**fault.headers, **limits}) from fault
        return Reply(reply.status, reply.body, {**reply.headers, **limits}) if limits else reply

    async def _answer(self, request: Request, offered: Challenges) -> Reply:
        unpaid = _not_presented(request)
        if unpaid is not None:
            return self._refusal_of(request, offered, unpaid)
        try:
            return _paid(await self._redeem(request, offered.service))
        except PaymentRefused as refusal:
            return self._refusal_of(request, offered, refusal)

    def _refusal_of(self, request: Request, offered: Challenges, refusal: PaymentRefused) -> Reply:
        """Return the 402 of a refusal.

        Raises:
            Refused: 503, for what would be quoted anew is not sold now.
        """
        if self.is_disabled(offered.service):
            raise _not_quoted_again(refusal, offered) from refusal
        try:
            return self._payment_required(request, offered, refusal)
        except Refused as fault:  # no new tokens, and yet the proof was judged as anywhere
            raise replace(fault, headers={**fault.headers, **_settlement_response(refusal, offered)}) from refusal

    def is_disabled(self, service: Service) -> bool:
        """Return whether an operator switched a service off: it is quoted no more, and serves what it quoted."""
        return service.id in self._disabled

    def refuse_disabled(self, service: Service) -> None:
        """Refuse to quote a service that the operator switched off (step 1).

        A proof is not refused by it: whoever was served has a right to the stored answer, and whoever paid what was
        quoted before is served (P-ST-04).
        """
        if self.is_disabled(service):
            raise Refused(503, "service_disabled", "this service is switched off", {"Retry-After": _DISABLED_SECONDS})

    def admit(self, request: Request, *, presented: bool) -> Allowance | None:
        """Count a call under its address, apart when it presents a proof (P-RL-05).

        Raises:
            Refused: 429.
        """
        limit = self._presented if presented else self._unpaid
        allowance = limit.take(self.address_of(request))
        if allowance is not None and not allowance.allowed:
            raise too_many(allowance)
        return allowance

    def address_of(self, request: Request) -> str:
        """Return the address that a call is counted under (P-CV-19)."""
        named = hops(request.headers.get("x-forwarded-for", ()))
        return client_address(request.peer, named, self._proxies)

    async def _redeem(self, request: Request, service: Service) -> Served:
        return await self.redeem(service, request.headers["x-payment"], lambda: order_of(request))

    async def redeem(self, service: Service, proofs: Sequence[str], order: Callable[[], ServiceRequest]) -> Served:
        """Return the paid answer to a proof, by the checks from step 4 on.

        Args:
            service: What is to be run.
            proofs: The values of `X-PAYMENT`.
            order: Gives what is asked; called when its turn comes (steps 7 and 8).

        Raises:
            PaymentRefused: The proof buys nothing.
            Refused: 409, 415 or 503; 409 too when it takes too long, while the work goes on.
            Unprocessable: What is asked is nothing that the service accepts.
        """
        try:
            with self._deadlines.start():
                presented = await self._redeemer.present(proof.decode(proofs))
                asked = order()
                accepted, canonical = service.accepted(asked.body)
                call = Call.of(service, asked.body, asked.query, canonical)
                return await self._redeemer.redeem(presented, call, accepted)
        except TimeoutError as late:
            raise in_progress() from late

    def issue(self, offered: Challenges, quoted: Quoted, *, error: str) -> Challenge:
        """Return a challenge with fresh tokens, where this worker may issue one now.

        Raises:
            Refused: 503, it may not.
        """
        self._may_issue()
        return offered.issue(quoted.call, error=error, unix=self._clock.now(), faults=quoted.faults)

    def _payment_required(self, request: Request, offered: Challenges, refusal: PaymentRefused) -> Reply:
        issued = self.issue(offered, quoted(request, offered.service), error=refusal.code)
        headers = {"Content-Type": JSON, **issued.headers, **_settlement_response(refusal, offered)}
        if refusal.retry_after is not None:
            headers["Retry-After"] = str(refusal.retry_after)
        return Reply(402, issued.body, headers)


def _not_presented(request: Request) -> PaymentRefused | None:
    """Return why a call presents no proof that could be redeemed, or None when it presents one."""
    if "x-payment" not in request.headers:
        return _NOT_WELDED if "payment-signature" in request.headers else _UNPAID
    return None if request.method == "POST" else _NOT_PAYABLE


def _paid(served: Served) -> Reply:
    headers = {
        "Content-Type": JSON,
        "Cache-Control": "private, no-store",
        "PAYMENT-RESPONSE": served.payment_response,
    }
    if served.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Reply(200, served.body, headers)


def _not_quoted_again(refusal: PaymentRefused, offered: Challenges) -> Refused:
    """Return the refusal of a proof for a service that is switched off: a 402 would quote it anew."""
    wait = _DISABLED_SECONDS if refusal.retry_after is None else str(refusal.retry_after)
    message = f"this service is switched off and takes no new payment; this call is refused as {refusal.code}"
    return Refused(503, "service_disabled", message, {"Retry-After": wait, **_settlement_response(refusal, offered)})


def _settlement_response(refusal: PaymentRefused, offered: Challenges) -> dict[str, str]:
    """Return the header that tells what became of a payment, where one was presented (P-ER-01).

    x402 demands a network of it. A payment that names no lane has that of the first entry of `accepts`.
    """
    if not refusal.answers_payment:
        return {}
    told: dict[str, Any] = {
        "success": False,
        "errorReason": refusal.code,
        "transaction": refusal.transaction,
        "network": offered.network_of(refusal.network),
    }
    return {"PAYMENT-RESPONSE": base64.b64encode(orjson.dumps(told)).decode()}
