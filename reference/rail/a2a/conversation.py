"""What a message over A2A means to the rail: a request that is challenged, or a payment for it (P-RA-05 to P-RA-11).

A payment goes through `PaidEndpoint.redeem`, as one by REST does: the same checks in the same order, one ledger.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from reference.protocol import a2a_x402
from reference.protocol.a2a import ErrorCode, Outcome, Task
from reference.protocol.canonical_json import JsonValue
from reference.protocol.refusals import CODES_402, PaymentRefused
from reference.rail.challenges import Call, Challenges
from reference.rail.claims.fulfilment import Served
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.service_request import Faults, Quoted, ServiceRequest, error_details
from reference.rail.services import Service
from reference.web.a2a.json_rpc import RpcError, invalid_params
from reference.web.a2a.methods import Message
from reference.web.a2a.tasks import OPENER
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import Request

DEFAULT_SERVICE = "receipt-verify"
# Refusals by another status than 402 that the same payment may outlive (P-RA-08).
_UNDECIDED = frozenset(
    {"answer_unavailable", "chain_unavailable", "clock_in_doubt", "payment_in_progress", "terms_superseded"}
)
# Why the example is quoted and not what was asked; kept with the task, since each challenge of it says so.
_FAULTS = "refused_order"
_NO_TASK = (
    "a payment names, as taskId, the task that it pays for, or brings the order again as a data part; "
    "the same proof and request are served by REST, too"
)
_NOTHING_ORDERED = (
    {
        "loc": ["message", "parts"],
        "msg": "an order is a data part with the members service_id and request",
        "type": "missing",
    },
)


class Conversation:
    """Answers messages."""

    def __init__(self, door: PaidEndpoint, challenges: Iterable[Challenges], *, uri: str) -> None:
        self._door = door
        self._challenges = {one.service.id: one for one in challenges}
        self._uri = uri

    async def __call__(self, message: Message, task: Task | None, request: Request) -> Outcome:
        """Return what comes of a message: a challenge, or what its payment led to.

        Raises:
            RpcError: -32001 for a payment without its task and without an order; -32602 for an unknown service or
                payment status.
            Refused: 503 for a service that is switched off.
        """
        said = message.metadata.get(a2a_x402.STATUS)
        if said is None and a2a_x402.PAYLOAD not in message.metadata:
            return self._quoted(message, task, request)
        asked = message.data_with("service_id")
        if task is None and (asked is None or said != a2a_x402.Status.SUBMITTED):
            raise RpcError(ErrorCode.TASK_NOT_FOUND, _NO_TASK)
        if said == a2a_x402.Status.SUBMITTED:
            # The task may be gone, and its payer has the order: a proof with it is redeemed as by REST (P-RA-12).
            memo = task.memo if task is not None else self._opened(self._ordered(asked or {}), request)
            return await self._paid(message.metadata.get(a2a_x402.PAYLOAD), memo, request)
        if said == a2a_x402.Status.REJECTED:
            return a2a_x402.record_rejection(self._uri)
        allowed = f"{a2a_x402.Status.SUBMITTED.value} or {a2a_x402.Status.REJECTED.value}"
        raise invalid_params("message", f"{a2a_x402.STATUS} of a client is {allowed}", "payment_status")

    # What costs something is quoted.

    def _quoted(self, message: Message, task: Task | None, request: Request) -> Outcome:
        asked = message.data_with("service_id")
        if asked is not None:
            memo = self._ordered(asked)
        elif task is not None:
            memo = dict(task.memo)
        else:
            memo = _example(self._challenges[DEFAULT_SERVICE].service, _NOTHING_ORDERED)
        memo = self._opened(memo, request)
        offered = self._offered(memo)
        self._door.refuse_disabled(offered.service)
        return a2a_x402.require_payment(
            self._uri, self._challenge(offered, memo, "payment_required"), memo, _faults(memo)
        )

    def _opened(self, memo: Mapping[str, Any], request: Request) -> dict[str, Any]:
        opener = hashlib.sha256(self._door.address_of(request).encode()).hexdigest()
        return {**memo, OPENER: opener}

    def _ordered(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a data part orders: for an invalid request the example, which is what a payment runs then."""
        name = asked["service_id"]
        offered = self._challenges.get(name) if isinstance(name, str) else None
        if offered is None:
            raise invalid_params("message", f"service_id is one of {', '.join(self._challenges)}", "service_id")
        request = asked.get("request")
        try:
            offered.service.accepts(request)
        except Unprocessable as fault:
            return _example(offered.service, error_details(fault.detail, "request"))
        return {"service_id": offered.service.id, "request": request}

    def _offered(self, memo: Mapping[str, Any]) -> Challenges:
        return self._challenges[memo["service_id"]]

    def _challenge(self, offered: Challenges, memo: Mapping[str, Any], error: str) -> dict[str, Any]:
        """Return the 402 object that REST would answer the same request with, with fresh tokens."""
        quoted = Quoted(Call.of(offered.service, memo["request"], ""), _faults(memo))
        challenge: dict[str, Any] = orjson.loads(self._door.issue(offered, quoted, error=error).body)
        return challenge

    # What is paid is redeemed.

    async def _paid(self, payload: JsonValue, memo: Mapping[str, Any], request: Request) -> Outcome:
        offered = self._offered(memo)
        order = ServiceRequest(memo["request"])
        try:
            served = await self._door.redeem(offered.service, [_as_header(payload)], lambda: order)
        except PaymentRefused as refusal:
            if refusal.retry_after is not None:
                return a2a_x402.keep_undecided(self._uri, memo, code=refusal.code, retry_after=refusal.retry_after)
            try:
                return self._refused(memo, refusal.code, refusal.transaction, refusal.network)
            except Refused as unissued:  # this worker may not challenge anew
                return self._refused_otherwise(memo, unissued)
        except Refused as refusal:
            return self._refused_otherwise(memo, refusal)
        return self._served(served, memo, request)

    def _served(self, served: Served, memo: Mapping[str, Any], request: Request) -> Outcome:
        if served.replayed:
            request.answer_headers["Idempotent-Replayed"] = "true"
        receipt = orjson.loads(base64.b64decode(served.payment_response))
        return a2a_x402.complete_payment(self._uri, orjson.loads(served.body), receipt, {OPENER: memo[OPENER]})

    def _refused_otherwise(self, memo: Mapping[str, Any], refusal: Refused) -> Outcome:
        if refusal.code in _UNDECIDED:
            wait = int(refusal.headers["Retry-After"])
            return a2a_x402.keep_undecided(self._uri, memo, code=refusal.code, retry_after=wait)
        if refusal.status == 409:
            return self._refused(memo, refusal.code, "", "")
        raise refusal

    def _refused(self, memo: Mapping[str, Any], code: str, transaction: str, network: str) -> Outcome:
        self._door.refuse_disabled(self._offered(memo).service)  # as a refusal quotes it again
        # `error` of a 402 is of a closed list (P-CH-01); what REST refuses by another status is not on it.
        error = code if code in CODES_402 else "payment_required"
        challenge = self._challenge(self._offered(memo), memo, error)
        refusal = a2a_x402.Refusal(code, transaction, self._offered(memo).network_of(network))
        return a2a_x402.refuse_payment(self._uri, challenge, memo, refusal, _faults(memo))


def _example(service: Service, faults: Faults) -> dict[str, Any]:
    return {"service_id": service.id, "request": dict(service.example), _FAULTS: list(faults)}


def _faults(memo: Mapping[str, Any]) -> Faults:
    faults: Faults = memo.get(_FAULTS, ())
    return faults


def _as_header(payload: JsonValue) -> str:
    """Return a payload as the value of `X-PAYMENT`: what it must be, and how large it may be, is said once (5.6)."""
    return base64.b64encode(orjson.dumps(payload)).decode()
