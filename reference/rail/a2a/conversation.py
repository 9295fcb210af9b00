"""A2A messages to the rail: a request that is challenged, or a payment for it (P-RA-05 to P-RA-12).

A payment goes through `PaidEndpoint.redeem` as over REST: the same checks in the same order, and one ledger.
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
from reference.rail.claims.fulfilment import PaidAnswer
from reference.rail.paid_endpoint import PaidEndpoint
from reference.rail.service_request_parsing import Faults, QuotedCall, ServiceRequest, shorten_faults
from reference.rail.services import Service
from reference.web.a2a.in_memory_tasks import OPENER
from reference.web.a2a.json_rpc import RpcError, build_invalid_params
from reference.web.a2a.methods import Message
from reference.web.errors import Refused, Unprocessable
from reference.web.http.exchange import Request

DEFAULT_SERVICE = "receipt-verify"
# Refusals with another status than 402 after which the same payment may still be served (P-RA-08).
_UNDECIDED_CODES = frozenset(
    {"answer_unavailable", "chain_unavailable", "clock_in_doubt", "payment_in_progress", "terms_superseded"}
)
# Member of a task's memo with the faults of a malformed order: each challenge of the task lists them again.
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

    def __init__(self, paid_endpoint: PaidEndpoint, challenges: Iterable[Challenges], *, uri: str) -> None:
        self._paid_endpoint = paid_endpoint
        self._challenges = {one.service.id: one for one in challenges}
        self._uri = uri

    async def __call__(self, message: Message, task: Task | None, request: Request) -> Outcome:
        """Return the outcome of a message: a challenge, or the result of its payment.

        Raises:
            RpcError: -32001 for a payment without its task and without an order; -32602 for an unknown service or
                payment status.
            Refused: 503 for a service that is switched off.
        """
        status = message.metadata.get(a2a_x402.STATUS)
        if status is None and a2a_x402.PAYLOAD not in message.metadata:
            return self._quote(message, task, request)
        order = message.data_with("service_id")
        if task is None and (order is None or status != a2a_x402.Status.SUBMITTED):
            raise RpcError(ErrorCode.TASK_NOT_FOUND, _NO_TASK)
        if status == a2a_x402.Status.SUBMITTED:
            # Tasks are bounded, so this one may be gone. A proof with its order is redeemed as over REST (P-RA-12).
            memo = task.memo if task is not None else self._add_opener(self._read_order(order or {}), request)
            return await self._redeem(message.metadata.get(a2a_x402.PAYLOAD), memo, request)
        if status == a2a_x402.Status.REJECTED:
            return a2a_x402.record_rejection(self._uri)
        allowed_statuses = f"{a2a_x402.Status.SUBMITTED.value} or {a2a_x402.Status.REJECTED.value}"
        raise build_invalid_params("message", f"{a2a_x402.STATUS} of a client is {allowed_statuses}", "payment_status")

    # Unpaid messages are challenged.

    def _quote(self, message: Message, task: Task | None, request: Request) -> Outcome:
        order = message.data_with("service_id")
        if order is not None:
            memo = self._read_order(order)
        elif task is not None:
            memo = dict(task.memo)
        else:
            memo = _build_example_memo(self._challenges[DEFAULT_SERVICE].service, _NOTHING_ORDERED)
        memo = self._add_opener(memo, request)
        challenges = self._challenges_of(memo)
        self._paid_endpoint.refuse_disabled(challenges.service)
        return a2a_x402.require_payment(
            self._uri, self._issue_challenge(challenges, memo, "payment_required"), memo, _faults_of(memo)
        )

    def _add_opener(self, memo: Mapping[str, Any], request: Request) -> dict[str, Any]:
        # Only a hash is stored: the bound on tasks needs to distinguish clients, not to know their addresses.
        opener = hashlib.sha256(self._paid_endpoint.address_of(request).encode()).hexdigest()
        return {**memo, OPENER: opener}

    def _read_order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Return the order in a data part; for an invalid request the example, which a payment would then run."""
        name = order["service_id"]
        challenges = self._challenges.get(name) if isinstance(name, str) else None
        if challenges is None:
            raise build_invalid_params("message", f"service_id is one of {', '.join(self._challenges)}", "service_id")
        request = order.get("request")
        try:
            challenges.service.parse_request(request)
        except Unprocessable as fault:
            return _build_example_memo(challenges.service, shorten_faults(fault.detail, "request"))
        return {"service_id": challenges.service.id, "request": request}

    def _challenges_of(self, memo: Mapping[str, Any]) -> Challenges:
        return self._challenges[memo["service_id"]]

    def _issue_challenge(self, challenges: Challenges, memo: Mapping[str, Any], error: str) -> dict[str, Any]:
        """Return the 402 object that REST would answer the same request with, with fresh tokens."""
        quoted_call = QuotedCall(Call.of(challenges.service, memo["request"], ""), _faults_of(memo))
        challenge: dict[str, Any] = orjson.loads(self._paid_endpoint.issue(challenges, quoted_call, error=error).body)
        return challenge

    # Paid messages are redeemed.

    async def _redeem(self, payload: JsonValue, memo: Mapping[str, Any], request: Request) -> Outcome:
        challenges = self._challenges_of(memo)
        service_request = ServiceRequest(memo["request"])
        try:
            answer = await self._paid_endpoint.redeem(
                challenges.service, [_encode_header(payload)], lambda: service_request
            )
        except PaymentRefused as refusal:
            # P-RA-08: an undecided payment gets no fresh challenge, because a client that saw one would pay twice
            # (decision 0024).
            if refusal.retry_after is not None:
                return a2a_x402.keep_undecided(self._uri, memo, code=refusal.code, retry_after=refusal.retry_after)
            try:
                return self._refuse(memo, refusal.code, refusal.transaction, refusal.network)
            except Refused as unissued:
                # This worker may not issue tokens now (P-CH-13).
                return self._refuse_without_402(memo, unissued)
        except Refused as refusal:
            # Over REST a 409 names no network, over A2A the receipt of the failure does (P-ER-01).
            is_spent = refusal.status == 409
            network = await self._paid_endpoint.read_network([_encode_header(payload)]) if is_spent else ""
            return self._refuse_without_402(memo, refusal, network)
        return self._complete(answer, memo, request)

    def _complete(self, answer: PaidAnswer, memo: Mapping[str, Any], request: Request) -> Outcome:
        if answer.is_replay:
            request.answer_headers["Idempotent-Replayed"] = "true"
        receipt = orjson.loads(base64.b64decode(answer.payment_response))
        return a2a_x402.complete_payment(self._uri, orjson.loads(answer.body), receipt, {OPENER: memo[OPENER]})

    def _refuse_without_402(self, memo: Mapping[str, Any], refusal: Refused, network: str = "") -> Outcome:
        if refusal.code in _UNDECIDED_CODES:
            wait = int(refusal.headers["Retry-After"])
            return a2a_x402.keep_undecided(self._uri, memo, code=refusal.code, retry_after=wait)
        # Over REST a 409 has no challenge. A task that needs input must have one, so a fresh one is quoted (decision
        # 0024).
        if refusal.status == 409:
            return self._refuse(memo, refusal.code, "", network)
        raise refusal

    def _refuse(self, memo: Mapping[str, Any], code: str, transaction: str, network: str) -> Outcome:
        # A refusal quotes the service again, which a service that is switched off must not.
        self._paid_endpoint.refuse_disabled(self._challenges_of(memo).service)
        # `error` of a 402 is of a closed list (P-CH-01); what REST refuses by another status is not on it.
        error = code if code in CODES_402 else "payment_required"
        challenge = self._issue_challenge(self._challenges_of(memo), memo, error)
        refusal = a2a_x402.Refusal(code, transaction, self._challenges_of(memo).network_of(network))
        return a2a_x402.refuse_payment(self._uri, challenge, memo, refusal, _faults_of(memo))


def _build_example_memo(service: Service, faults: Faults) -> dict[str, Any]:
    return {"service_id": service.id, "request": dict(service.example), _FAULTS: list(faults)}


def _faults_of(memo: Mapping[str, Any]) -> Faults:
    faults: Faults = memo.get(_FAULTS, ())
    return faults


def _encode_header(payload: JsonValue) -> str:
    """Return a payload as the value of `X-PAYMENT`, so that the rules of its form and size have one place (5.6)."""
    return base64.b64encode(orjson.dumps(payload)).decode()
