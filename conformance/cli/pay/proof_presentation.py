"""Presentation of one proof until it is served or refused, or the time is over. It never pays again.

The proof is presented again after the answers that docs/money.md lists: "not yet", a fault of a machine, and no answer
at all.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Final

from multidict import CIMultiDict, CIMultiDictProxy

from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case
from conformance.http.client import Answer, Throttled, Unreachable, encode_json, read_retry_after
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.purchase import present
from conformance.text.json_safe import json_safe

# Seconds. A Retry-After of 0 must not become a flood of requests, and clocks of two machines differ.
_SHORTEST_WAIT: Final = 0.2
_LONGEST_WAIT: Final = 30.0
# Longest Retry-After in seconds; no command waits that long.
_LONGEST_RETRY_AFTER: Final = 86_400.0
_UNSETTLED_CODES: Final = frozenset({"tx_not_found", "tx_not_confirmed"})
_REPEATABLE_STATUSES: Final = frozenset({202, 408, 409, 425, 429})
# Codes that are final, whatever the status (P-PY-09).
_FINAL_CODES: Final = frozenset({"payment_already_spent", "payment_refunded"})
# Statuses from here on are faults of the server, which a repeat may not meet again.
_SERVER_FAULT: Final = 500
# TaskNotFoundError of the A2A protocol.
_UNKNOWN_TASK: Final = -32001
_SHOWN_BYTES: Final = 200


class Verdict(Enum):
    """The consequence of an answer to a proof."""

    SERVED = auto()
    AGAIN = auto()
    STOP = auto()


@dataclass(frozen=True, slots=True)
class ProofReply:
    """An answer to a proof.

    Attributes:
        verdict: The consequence.
        text: The answer in words.
        code: The error code in it, or None.
        wait: Seconds until the next try, if the answer contains them.
        answer: The served answer, or None.
    """

    verdict: Verdict
    text: str
    code: str | None = None
    wait: float | None = None
    answer: Answer | None = None


PresentOnce = Callable[[], Awaitable[ProofReply]]
Say = Callable[[str, str], None]


async def present_until(once: PresentOnce, ends: float, say: Say, keep: Callable[[str], None]) -> ProofReply:
    """Present a proof repeatedly while an answer permits it, and return the last answer.

    Args:
        once: Presents the proof once.
        ends: Time of the loop's clock after which nothing is sent.
        say: Prints a step.
        keep: Stores the text of an answer.
    """
    loop, pause = asyncio.get_running_loop(), 1.0
    while True:
        try:
            reply = await once()
        except Unreachable as fault:
            reply = ProofReply(Verdict.AGAIN, f"no answer: {fault}")
        except Throttled as fault:
            reply = ProofReply(Verdict.AGAIN, f"429: {fault}")
        # The text goes into the file of the payment, which must stay readable.
        reply = replace(reply, text=json_safe(reply.text))
        keep(reply.text)
        if reply.verdict is not Verdict.AGAIN:
            return reply
        wait = pause if reply.wait is None else max(reply.wait, _SHORTEST_WAIT)
        # A wait beyond the end would only delay the command.
        if loop.time() + wait > ends:
            return reply
        say("not yet", f"{reply.text}; the same proof again in {wait:g} s")
        await asyncio.sleep(wait)
        # A rail that is down for minutes must not be called every second.
        pause = min(2 * pause, _LONGEST_WAIT)


async def present_call(case: Case, operation: Operation, proof: Mapping[str, Any], worth_until: int) -> ProofReply:
    """Present a proof at the operation's own address.

    Raises:
        Unreachable: No answer came.
    """
    answer = await present(case, operation, dict(proof), patient=False)
    return judge_answer(answer, is_worth_it=clock.now(case) < worth_until)


def judge_answer(answer: Answer, *, is_worth_it: bool) -> ProofReply:
    """Return the consequence of an HTTP answer to a proof.

    Args:
        answer: The answer.
        is_worth_it: Whether a payment that the rail does not find may still appear.
    """
    code = answer.read_object().get("error")
    code = code if isinstance(code, str) else None
    detail = code or answer.body[:_SHOWN_BYTES].decode("utf-8", "replace")
    text = f"{answer.status} {detail}".strip()
    wait = read_retry_after(answer, longest=_LONGEST_RETRY_AFTER)
    if answer.status == 200:
        return ProofReply(Verdict.SERVED, text="200", answer=answer)
    is_worth_repeating = answer.status in _REPEATABLE_STATUSES or answer.status >= _SERVER_FAULT
    if answer.status == 402:
        is_worth_repeating = is_worth_it and (code in _UNSETTLED_CODES or wait is not None)
    # "It presents the same proof again, unless the code is `payment_already_spent` or `payment_refunded`" (P-PY-07).
    is_worth_repeating = is_worth_repeating and code not in _FINAL_CODES
    return ProofReply(Verdict.AGAIN if is_worth_repeating else Verdict.STOP, text, code, wait)


async def present_task(case: Case, task_id: str, proof: Mapping[str, Any]) -> ProofReply | None:
    """Present a proof for an A2A task; None if the rail does not know the task, so that HTTP is used.

    Raises:
        Unreachable: No answer came.
    """
    task = await a2a.pay_task(case, task_id, proof)
    reply = judge_task(task)
    if reply is not None and reply.verdict is not Verdict.STOP:
        return reply
    # A completed task may reject further messages. Its result can still be read.
    current_task = a2a.task_of(await a2a.fetch_task(case, task_id))
    if current_task.state == "completed":
        return judge_task(current_task)
    return None if json_rpc.error_code(current_task.answer) == _UNKNOWN_TASK else reply


def judge_task(task: a2a.Task) -> ProofReply | None:
    """Return the consequence of an A2A answer to a proof; None if the task is unknown."""
    answer = task.answer
    error = json_rpc.error_code(answer)
    if error == _UNKNOWN_TASK:
        return None
    if answer.status != 200 or error is not None:
        reply = judge_answer(answer, is_worth_it=True)
        # A fault of the rail is worth another try, as 500 is over HTTP.
        if error == json_rpc.INTERNAL_ERROR:
            return ProofReply(Verdict.AGAIN, f"error {error}", None, reply.wait)
        is_again = answer.status != 200 and reply.verdict is Verdict.AGAIN
        return ProofReply(Verdict.AGAIN if is_again else Verdict.STOP, task.describe(), reply.code, reply.wait)
    if task.state == "completed":
        artifact_answer = _artifact(task)
        if artifact_answer is not None:
            return ProofReply(Verdict.SERVED, task.describe(), answer=artifact_answer)
        return ProofReply(Verdict.STOP, "the task is complete, but its artifact contains no data")
    if task.payment_status == "payment-submitted":
        metadata = task.members.get("metadata")
        seconds = metadata.get("retry_after_seconds") if isinstance(metadata, Mapping) else None
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0
        return ProofReply(Verdict.AGAIN, task.describe(), None, float(seconds) if is_number else None)  # type: ignore[arg-type]
    code = _error_reason(task)
    return ProofReply(Verdict.STOP, f"{task.describe()}{'' if code is None else f', {code}'}", code)


def _artifact(task: a2a.Task) -> Answer | None:
    """Return the data of a complete task as the HTTP answer with the same body and PAYMENT-RESPONSE."""
    artifacts = task.members.get("artifacts")
    parts = [part for one in _objects(artifacts) for part in _objects(one.get("parts"))]
    data = next((part["data"] for part in parts if isinstance(part.get("data"), Mapping)), None)
    if data is None:
        return None
    receipt = _receipt(task)
    headers = CIMultiDict({"PAYMENT-RESPONSE": base64.b64encode(encode_json(receipt)).decode()} if receipt else {})
    return Answer(task.answer.n, 200, CIMultiDictProxy(headers), encode_json(data))


def _error_reason(task: a2a.Task) -> str | None:
    receipt = _receipt(task)
    code = receipt.get("errorReason") if receipt is not None else None
    return code if isinstance(code, str) else None


def _receipt(task: a2a.Task) -> Mapping[str, Any] | None:
    """Return the newest object of `x402.payment.receipts`."""
    status = task.members.get("status")
    message = status.get("message") if isinstance(status, Mapping) else None
    metadata = message.get("metadata") if isinstance(message, Mapping) else None
    receipts = _objects(metadata.get("x402.payment.receipts")) if isinstance(metadata, Mapping) else []
    return receipts[-1] if receipts else None


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
