"""What follows from an answer to a proof: served, the same proof again, or an end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.cli.pay.proof_presentation import ProofReply, Verdict, judge_answer, judge_task, present_until
from conformance.http.client import Answer, Throttled, Unreachable
from conformance.surfaces.rail import a2a


def answer(status: int, body: Any = None, **headers: str) -> Answer:
    """An HTTP answer."""
    fields = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    return Answer(1, status, CIMultiDictProxy(fields), b"" if body is None else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("status", "code", "headers", "verdict"),
    [
        (200, None, {}, Verdict.SERVED),
        (202, None, {}, Verdict.AGAIN),
        (408, None, {}, Verdict.AGAIN),
        (409, "payment_in_progress", {}, Verdict.AGAIN),
        (409, "busy", {"Retry_After": "1"}, Verdict.AGAIN),
        (409, "busy", {}, Verdict.AGAIN),
        (409, "payment_already_spent", {}, Verdict.STOP),
        (409, "payment_already_spent", {"Retry_After": "1"}, Verdict.STOP),
        (409, "payment_refunded", {}, Verdict.STOP),
        (402, "payment_already_spent", {"Retry_After": "1"}, Verdict.STOP),
        (429, "payment_refunded", {"Retry_After": "1"}, Verdict.STOP),
        (500, "payment_refunded", {}, Verdict.STOP),
        (503, "payment_already_spent", {"Retry_After": "1"}, Verdict.STOP),
        (425, None, {}, Verdict.AGAIN),
        (429, "rate_limited", {}, Verdict.AGAIN),
        (500, "internal_error", {}, Verdict.AGAIN),
        (502, None, {}, Verdict.AGAIN),
        (503, "chain_unavailable", {"Retry_After": "5"}, Verdict.AGAIN),
        (599, None, {}, Verdict.AGAIN),
        (402, "tx_not_found", {}, Verdict.AGAIN),
        (402, "tx_not_confirmed", {"Retry_After": "2"}, Verdict.AGAIN),
        (402, "another_word", {"Retry_After": "2"}, Verdict.AGAIN),
        (402, "payment_required", {}, Verdict.STOP),
        (402, "weld_mismatch", {}, Verdict.STOP),
        (400, "invalid_payment", {}, Verdict.STOP),
        (301, None, {"Location": "http://elsewhere.example/"}, Verdict.STOP),
        (404, None, {}, Verdict.STOP),
        (422, None, {}, Verdict.STOP),
    ],
)
def test_an_answer_decides(status: int, code: str | None, headers: dict[str, str], verdict: Verdict) -> None:
    """As docs/money.md says of each; a redirect sends the proof nowhere."""
    heard = judge_answer(answer(status, {} if code is None else {"error": code}, **headers), is_worth_it=True)
    assert (heard.verdict, heard.code) == (verdict, code if verdict is not Verdict.SERVED else None)


def test_a_payment_that_is_not_found_is_asked_for_in_its_time_only() -> None:
    """After that a 402 ends it, while 503 and 409 never do."""
    for code in ("tx_not_found", "tx_not_confirmed"):
        late = judge_answer(answer(402, {"error": code}, Retry_After="2"), is_worth_it=False)
        assert late.verdict is Verdict.STOP
    assert judge_answer(answer(503), is_worth_it=False).verdict is Verdict.AGAIN
    assert judge_answer(answer(409, {"error": "payment_in_progress"}), is_worth_it=False).verdict is Verdict.AGAIN


def test_retry_after_is_taken_whole() -> None:
    """An hour is an hour: no request is sent before."""
    assert judge_answer(answer(503, None, Retry_After="3600"), is_worth_it=True).wait == 3600


def task(**members: Any) -> a2a.Task:
    """A task in an answer."""
    return a2a.task_of(answer(200, {"jsonrpc": "2.0", "id": 1, "result": {"kind": "task", "id": "t", **members}}))


def status(state: str, **metadata: Any) -> dict[str, Any]:
    """A task's status with metadata of its message."""
    return {"state": state, "message": {"metadata": metadata}}


def test_a_complete_task_is_the_answer_of_http() -> None:
    """The artifact's data part is its body, and the newest receipt its PAYMENT-RESPONSE."""
    data = {"payable_receipt": "a.b.c"}
    found = judge_task(
        task(
            status=status("completed", **{"x402.payment.receipts": [{"transaction": "TX", "success": True}]}),
            artifacts=[{"parts": [{"kind": "text", "text": "done"}, {"kind": "data", "data": data}]}],
        )
    )
    assert found is not None
    assert found.verdict is Verdict.SERVED
    assert found.answer is not None
    assert found.answer.read_object() == data
    assert "PAYMENT-RESPONSE" in found.answer.headers


def test_a_task_without_data_is_no_answer() -> None:
    """It is complete and holds nothing: presenting it again brings nothing."""
    several: list[Any] = [None, [], [{"parts": []}], ["x"], [{"parts": [{"kind": "data", "data": 1}]}]]
    for artifacts in several:
        found = judge_task(task(status=status("completed"), artifacts=artifacts))
        assert found is not None
        assert found.verdict is Verdict.STOP


def test_a_task_says_when_to_come_back_or_why_it_failed() -> None:
    """`payment-submitted` is "not yet" with its seconds; `payment-failed` ends it with the rail's code."""
    submitted_status = status("input-required", **{"x402.payment.status": "payment-submitted"})
    found = judge_task(task(status=submitted_status, metadata={"retry_after_seconds": 7}))
    assert found is not None
    assert (found.verdict, found.wait) == (Verdict.AGAIN, 7)
    failure = {"x402.payment.status": "payment-failed", "x402.payment.receipts": [{"errorReason": "payment_refunded"}]}
    found = judge_task(task(status=status("input-required", **failure)))
    assert found is not None
    assert (found.verdict, found.code) == (Verdict.STOP, "payment_refunded")


def test_errors_of_json_rpc_and_http_are_told_apart() -> None:
    """An unknown task goes to HTTP; a fault of the server is asked again; bad parameters end it."""

    def error(code: int, http: int = 200) -> a2a.Task:
        return a2a.task_of(answer(http, {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "x"}}))

    assert judge_task(error(-32001)) is None
    hearings = {code: judge_task(error(code)) for code in (-32603, -32602)}
    assert [one.verdict for one in hearings.values() if one is not None] == [Verdict.AGAIN, Verdict.STOP]
    for code, verdict in ((503, Verdict.AGAIN), (429, Verdict.AGAIN), (404, Verdict.STOP)):
        heard = judge_task(a2a.task_of(answer(code, {"error": "x"}, Retry_After="1")))
        assert heard is not None
        assert heard.verdict is verdict
    heard = judge_task(a2a.task_of(answer(429, {"error": "payment_refunded"}, Retry_After="1")))
    assert heard is not None
    assert (heard.verdict, heard.code) == (Verdict.STOP, "payment_refunded")


async def test_no_answer_is_asked_again_until_the_time_is_over() -> None:
    """A wait that would go beyond the end is not begun."""
    faults = [Unreachable("closed"), Throttled("too fast")]
    kept_answers: list[str] = []

    async def once() -> ProofReply:
        if faults:
            raise faults.pop()
        return ProofReply(Verdict.AGAIN, "503", wait=1000)

    loop = asyncio.get_running_loop()
    heard = await present_until(once, loop.time() + 100, lambda *_: None, kept_answers.append)
    assert heard == ProofReply(Verdict.AGAIN, "503", wait=1000)
    assert kept_answers == ["429: too fast", "no answer: closed", "503"]
