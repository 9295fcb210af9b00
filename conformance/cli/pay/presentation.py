"""Presenting one proof until it is served, refused, or the time is over; it is never paid for again.

Which answers are worth another try follows docs/money.md: everything that says "not yet", everything that is the fault
of a machine, and no answer at all.
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
from conformance.http.client import Answer, Throttled, Unreachable, json_bytes, retry_after
from conformance.surfaces import json_rpc
from conformance.surfaces.rail import a2a
from conformance.surfaces.rail.purchase import present
from conformance.text.json_safe import json_safe

# A clock may not be read exactly, and a Retry-After of 0 must not become a flood of requests.
_SHORTEST_WAIT: Final = 0.2
_LONGEST_WAIT: Final = 30.0
# Longest Retry-After that is read as it is; no command waits that long.
_LONGEST_RETRY_AFTER: Final = 86_400.0
_NOT_YET: Final = frozenset({"tx_not_found", "tx_not_confirmed"})
_AGAIN: Final = frozenset({202, 408, 425, 429})
_SERVER_FAULT: Final = 500
_UNKNOWN_TASK: Final = -32001
_SHOWN: Final = 200


class Verdict(Enum):
    """What follows from an answer to a proof."""

    SERVED = auto()
    AGAIN = auto()
    STOP = auto()


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer to a proof.

    Attributes:
        verdict: What follows from it.
        said: The answer in words.
        code: The error code in it, None where there is none.
        wait: Seconds after which it asks to be asked again, None where it does not say.
        answer: The answer that was served, None where none was.
    """

    verdict: Verdict
    said: str
    code: str | None = None
    wait: float | None = None
    answer: Answer | None = None


Once = Callable[[], Awaitable[Heard]]
Say = Callable[[str, str], None]


async def present_until(once: Once, ends: float, say: Say, keep: Callable[[str], None]) -> Heard:
    """Present a proof, and again as long as that is worth it; return the last answer.

    Args:
        once: Presents it once.
        ends: Time of the loop's clock after which nothing more is sent.
        say: Shows a step.
        keep: Keeps what was answered.
    """
    loop, pause = asyncio.get_running_loop(), 1.0
    while True:
        try:
            heard = await once()
        except Unreachable as fault:
            heard = Heard(Verdict.AGAIN, f"no answer: {fault}")
        except Throttled as fault:
            heard = Heard(Verdict.AGAIN, f"429: {fault}")
        # What the other side wrote goes into a file that must be readable when it is needed.
        heard = replace(heard, said=json_safe(heard.said))
        keep(heard.said)
        if heard.verdict is not Verdict.AGAIN:
            return heard
        wait = pause if heard.wait is None else max(heard.wait, _SHORTEST_WAIT)
        if loop.time() + wait > ends:
            return heard
        say("not yet", f"{heard.said}; the same proof again in {wait:g} s")
        await asyncio.sleep(wait)
        pause = min(2 * pause, _LONGEST_WAIT)


async def present_call(case: Case, operation: Operation, proof: Mapping[str, Any], worth_until: int) -> Heard:
    """Present a proof at the operation's own address.

    Raises:
        Unreachable: No answer came.
    """
    answer = await present(case, operation, dict(proof), patient=False)
    return judged(answer, is_worth_it=clock.now(case) < worth_until)


def judged(answer: Answer, *, is_worth_it: bool) -> Heard:
    """Return what follows from an HTTP answer to a proof.

    Args:
        answer: The answer.
        is_worth_it: Whether a payment that the rail cannot find may still be found.
    """
    code = answer.object().get("error")
    code = code if isinstance(code, str) else None
    detail = code or answer.body[:_SHOWN].decode("utf-8", "replace")
    said = f"{answer.status} {detail}".strip()
    wait = retry_after(answer, longest=_LONGEST_RETRY_AFTER)
    if answer.status == 200:
        return Heard(Verdict.SERVED, said="200", answer=answer)
    again = answer.status in _AGAIN or answer.status >= _SERVER_FAULT
    if answer.status == 409:
        again = code == "payment_in_progress" or wait is not None
    elif answer.status == 402:
        again = is_worth_it and (code in _NOT_YET or wait is not None)
    return Heard(Verdict.AGAIN if again else Verdict.STOP, said, code, wait)


async def present_task(case: Case, task_id: str, proof: Mapping[str, Any]) -> Heard | None:
    """Present a proof for an A2A task; None where the task is not known there, so that it is presented by HTTP.

    Raises:
        Unreachable: No answer came.
    """
    task = await a2a.paid(case, task_id, proof)
    heard = judged_task(task)
    if heard is not None and heard.verdict is not Verdict.STOP:
        return heard
    # A task that is complete may take no further message; what it became can be read.
    became = a2a.task_of(await a2a.get(case, task_id))
    if became.state == "completed":
        return judged_task(became)
    return None if json_rpc.error_code(became.answer) == _UNKNOWN_TASK else heard


def judged_task(task: a2a.Task) -> Heard | None:
    """Return what follows from an A2A answer to a proof, None where the task is not known."""
    answer = task.answer
    error = json_rpc.error_code(answer)
    if error == _UNKNOWN_TASK:
        return None
    if answer.status != 200 or error is not None:
        heard = judged(answer, is_worth_it=True)
        if error == json_rpc.INTERNAL_ERROR:
            return Heard(Verdict.AGAIN, f"error {error}", None, heard.wait)
        is_again = answer.status != 200 and heard.verdict is Verdict.AGAIN
        return Heard(Verdict.AGAIN if is_again else Verdict.STOP, task.describe(), None, heard.wait)
    if task.state == "completed":
        served = _artifact(task)
        if served is not None:
            return Heard(Verdict.SERVED, task.describe(), answer=served)
        return Heard(Verdict.STOP, "the task is complete, but its artifact contains no data")
    if task.payment_status == "payment-submitted":
        metadata = task.members.get("metadata")
        seconds = metadata.get("retry_after_seconds") if isinstance(metadata, Mapping) else None
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds >= 0
        return Heard(Verdict.AGAIN, task.describe(), None, float(seconds) if is_number else None)  # type: ignore[arg-type]
    code = _error_reason(task)
    return Heard(Verdict.STOP, f"{task.describe()}{'' if code is None else f', {code}'}", code)


def _artifact(task: a2a.Task) -> Answer | None:
    """Return the data of a complete task as the HTTP answer with the same body and PAYMENT-RESPONSE."""
    artifacts = task.members.get("artifacts")
    parts = [part for one in _objects(artifacts) for part in _objects(one.get("parts"))]
    data = next((part["data"] for part in parts if isinstance(part.get("data"), Mapping)), None)
    if data is None:
        return None
    receipt = _receipt(task)
    headers = CIMultiDict({"PAYMENT-RESPONSE": base64.b64encode(json_bytes(receipt)).decode()} if receipt else {})
    return Answer(task.answer.n, 200, CIMultiDictProxy(headers), json_bytes(data))


def _error_reason(task: a2a.Task) -> str | None:
    receipt = _receipt(task)
    code = receipt.get("errorReason") if receipt is not None else None
    return code if isinstance(code, str) else None


def _receipt(task: a2a.Task) -> Mapping[str, Any] | None:
    """Return the newest object of `x402.payment.receipts`."""
    status = task.members.get("status")
    message = status.get("message") if isinstance(status, Mapping) else None
    metadata = message.get("metadata") if isinstance(message, Mapping) else None
    listed = _objects(metadata.get("x402.payment.receipts")) if isinstance(metadata, Mapping) else []
    return listed[-1] if listed else None


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
