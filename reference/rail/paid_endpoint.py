"""Paid endpoint: rate limits, challenges and replies around the redeemer (5.7); `redeem` serves REST and A2A.

The table of 5.7 fixes the order of all checks, and the first failure answers. Here are steps 1 to 4 and 7 to 8; the
redeemer does the others.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from reference.deadlines import Deadlines
from reference.protocol import payment_proof
from reference.protocol.a2a_card import ENDPOINT
from reference.protocol.a2a_x402 import PAYLOAD
from reference.protocol.refusals import PaymentRefused
from reference.rail.challenges import Call, Challenge, Challenges
from reference.rail.claims.fulfilment import PaidAnswer
from reference.rail.claims.presented_proofs import in_progress
from reference.rail.claims.redemption import Redeemer
from reference.rail.service_request_parsing import QuotedCall, ServiceRequest, choose_quoted_call, read_service_request
from reference.rail.services import Service
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.http.asgi_envelope import Scope
from reference.web.http.exchange import JSON, Reply, Request
from reference.web.http.peers import Networks, client_address, read_hops
from reference.web.http.rate import AddressLimit, Allowance, build_too_many

_DISABLED_SECONDS = "60"
# These refusals are reported and never raised, so one object of each is enough (decision 0062).
_A2A_PROOF = PAYLOAD.encode()
_NO_PROOF = PaymentRefused("payment_required")
_NOT_WELDED = PaymentRefused("payment_not_welded")
_NOT_PAYABLE = PaymentRefused("method_not_payable")


class PaidEndpoint:
    """Answers calls of the paid paths."""

    def __init__(
        self,
        challenges: Mapping[str, Challenges],
        redeemer: Redeemer,
        clock: WpClock,
        *,
        may_issue: Callable[[], None] = lambda: None,
        unpaid_limit: AddressLimit,
        presented_limit: AddressLimit,
        proxies: Networks,
        disabled_services: Sequence[str],
        within: float,
    ) -> None:
        self._challenges = challenges
        self._redeemer = redeemer
        self._clock = clock
        self._may_issue = may_issue
        self._unpaid_limit = unpaid_limit
        self._presented_limit = presented_limit
        self._proxies = proxies
        self._disabled_services = disabled_services
        self._deadlines = Deadlines(within)

    @property
    def paths(self) -> frozenset[str]:
        """Paths that must be paid for."""
        return frozenset(self._challenges)

    async def call(self, request: Request) -> Reply:
        """Answer one call.

        Raises:
            Refused: Any status but 402 and 422.
            Unprocessable: The call has a proof, and the service does not accept its body.
        """
        challenges = self._challenges[request.path]
        has_proof = "x-payment" in request.headers
        # Step 1 refuses only unpaid calls: a payer who was quoted before the service was switched off is still served
        # (decision 0044).
        if not has_proof:
            self.refuse_disabled(challenges.service)
        # Counted before anything costs work, and also if the call fails later: an attacker pays for each attempt with
        # its allowance.
        allowance = await self.admit(request, has_proof=has_proof)
        limits = {} if allowance is None else allowance.headers()
        try:
            reply = await self._answer(request, challenges)
        except (Refused, Unprocessable) as fault:
            # A copy: callers that waited for the same work share one fault, and each has its own allowance.
            raise replace(fault, headers={**fault.headers, **limits}) from fault
        return Reply(reply.status, reply.body, {**reply.headers, **limits}) if limits else reply

    async def _answer(self, request: Request, challenges: Challenges) -> Reply:
        missing_proof = _explain_missing_proof(request)
        if missing_proof is _NOT_PAYABLE:
            network = await self.read_network(request.headers["x-payment"])
            missing_proof = PaymentRefused(missing_proof.code, network=network)
        if missing_proof is not None:
            return self._build_refusal(request, challenges, missing_proof)
        try:
            return _build_paid_reply(await self._redeem(request, challenges.service))
        except PaymentRefused as refusal:
            return self._build_refusal(request, challenges, refusal)

    def _build_refusal(self, request: Request, challenges: Challenges, refusal: PaymentRefused) -> Reply:
        """Return the 402 of a refusal.

        Raises:
            Refused: 503 instead of the 402, if the service or the worker may not quote a price now.
        """
        if self.is_disabled(challenges.service):
            raise _build_disabled_refusal(refusal, challenges) from refusal
        try:
            return self._build_payment_required(request, challenges, refusal)
        except Refused as fault:
            # This worker may not issue tokens now (P-CH-13). The proof was judged all the same, and its payer must
            # learn the verdict: it is in PAYMENT-RESPONSE.
            raise replace(
                fault, headers={**fault.headers, **_build_settlement_response(refusal, challenges)}
            ) from refusal

    def is_disabled(self, service: Service) -> bool:
        """Return whether an operator switched a service off: it quotes no price, but serves what it has quoted."""
        return service.id in self._disabled_services

    def refuse_disabled(self, service: Service) -> None:
        """Refuse to quote a service that the operator switched off (step 1).

        Calls with a proof are not refused: a payer that was served gets the stored answer again, and a payer that was
        quoted a price before is served (P-ST-04).
        """
        if self.is_disabled(service):
            raise Refused(503, "service_disabled", "this service is switched off", {"Retry-After": _DISABLED_SECONDS})

    async def admit(self, request: Request, *, has_proof: bool) -> Allowance | None:
        """Count a call under its address, separately if it has a proof (P-RL-05).

        Raises:
            Refused: 429.
        """
        # Two counters: unpaid calls from a shared address must not keep a payer behind it from presenting a proof.
        limit = self._presented_limit if has_proof else self._unpaid_limit
        allowance = await limit.charge(self.address_of(request))
        if allowance is not None and not allowance.is_allowed:
            raise build_too_many(allowance)
        return allowance

    def address_of(self, request: Request) -> str:
        """Return the address under which a call is counted (P-CV-19)."""
        forwarded_hops = read_hops(request.headers.get("x-forwarded-for", ()))
        return client_address(request.peer, forwarded_hops, self._proxies)

    async def _redeem(self, request: Request, service: Service) -> PaidAnswer:
        return await self.redeem(service, request.headers["x-payment"], lambda: read_service_request(request))

    async def redeem(
        self, service: Service, proofs: Sequence[str], read_request: Callable[[], ServiceRequest]
    ) -> PaidAnswer:
        """Return the paid answer to a proof, by the checks from step 4 on.

        Args:
            service: The service that is called.
            proofs: The values of `X-PAYMENT`.
            read_request: Returns the service request; called at its place in the order (steps 7 and 8).

        Raises:
            PaymentRefused: The proof is rejected with 402.
            Refused: 409, 415 or 503; also 409 if it takes too long, while the work continues.
            Unprocessable: The service does not accept the request.
        """
        try:
            # P-ST-05: no paid call waits without end. Only this caller stops waiting; the work has its own task and
            # continues.
            with self._deadlines.start():
                # Steps 4 to 6 look at the proof alone, before steps 7 and 8 read the body: the order of 5.7 decides
                # which fault a payer sees.
                presented_proof = await self._redeemer.present(payment_proof.decode(proofs))
                service_request = read_request()
                model, canonical = service.parse_with_canonical(service_request.body)
                call = Call.of(service, service_request.body, service_request.query, canonical)
                return await self._redeemer.redeem(presented_proof, call, model)
        except TimeoutError as late:
            raise in_progress() from late

    async def read_network(self, proofs: Sequence[str]) -> str:
        """Return the network that the refusal of a proof names: "the lane of the token" (P-ER-01).

        Where the token names none, it is the network that the payment itself names, or the empty text.
        """
        try:
            return (await self._redeemer.present(payment_proof.decode(proofs))).terms.caip2
        except PaymentRefused as refusal:
            return refusal.network

    def issue(self, challenges: Challenges, quoted_call: QuotedCall, *, error: str) -> Challenge:
        """Return a challenge with fresh tokens, if this worker may issue one now.

        Raises:
            Refused: 503: it may not.
        """
        self._may_issue()
        return challenges.issue(quoted_call.call, error=error, unix=self._clock.now(), faults=quoted_call.faults)

    def _build_payment_required(self, request: Request, challenges: Challenges, refusal: PaymentRefused) -> Reply:
        challenge = self.issue(challenges, choose_quoted_call(request, challenges.service), error=refusal.code)
        headers = {"Content-Type": JSON, **challenge.headers, **_build_settlement_response(refusal, challenges)}
        if refusal.retry_after is not None:
            headers["Retry-After"] = str(refusal.retry_after)
        return Reply(402, challenge.body, headers)


def presents_payment(scope: Scope, body: bytes) -> bool:
    """Return whether a call presents a proof, good or not, in its header or in a message of A2A.

    It is asked of each call before any work (P-CV-25), so it looks at bytes and parses nothing.
    """
    if scope["path"] == ENDPOINT:
        return _A2A_PROOF in body
    return any(name == b"x-payment" for name, _ in scope["headers"])


def _explain_missing_proof(request: Request) -> PaymentRefused | None:
    """Return why a call presents no proof that could be redeemed, or None when it presents one."""
    if "x-payment" not in request.headers:
        # A client of ordinary x402 sends PAYMENT-SIGNATURE. Its payment lacks the weld, and this code says so
        # (P-XP-02).
        return _NOT_WELDED if "payment-signature" in request.headers else _NO_PROOF
    return None if request.method == "POST" else _NOT_PAYABLE


def _build_paid_reply(answer: PaidAnswer) -> Reply:
    headers = {
        "Content-Type": JSON,
        # A paid answer belongs to its payer: a shared cache would give it to the next caller for nothing.
        "Cache-Control": "private, no-store",
        "PAYMENT-RESPONSE": answer.payment_response,
    }
    if answer.is_replay:
        headers["Idempotent-Replayed"] = "true"
    return Reply(200, answer.body, headers)


def _build_disabled_refusal(refusal: PaymentRefused, challenges: Challenges) -> Refused:
    """Return the refusal of a proof for a service that is switched off; a 402 would quote the service again."""
    wait = _DISABLED_SECONDS if refusal.retry_after is None else str(refusal.retry_after)
    message = f"this service is switched off and takes no new payment; this call is refused as {refusal.code}"
    return Refused(
        503, "service_disabled", message, {"Retry-After": wait, **_build_settlement_response(refusal, challenges)}
    )


def _build_settlement_response(refusal: PaymentRefused, challenges: Challenges) -> dict[str, str]:
    """Return the header that reports the result of a payment, if one was presented (P-ER-01).

    x402 demands a network of it. A payment that names no lane has that of the first entry of `accepts`.
    """
    if not refusal.answers_payment:
        return {}
    settlement: dict[str, Any] = {
        "success": False,
        "errorReason": refusal.code,
        "transaction": refusal.transaction,
        "network": challenges.network_of(refusal.network),
    }
    return {"PAYMENT-RESPONSE": base64.b64encode(orjson.dumps(settlement)).decode()}
