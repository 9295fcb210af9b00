"""The played rail over A2A answers orders and payments with tasks, and each script means what it means over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from conformance.lanes.tested_payer_accounts import PayerHost
from conformance.surfaces.payer.a2a_rail import A2aRail
from conformance.surfaces.payer.played_rail import Script, Step, hang_up, quote_again, refuse
from conformance.surfaces.payer.quotes import PRICE, SERVICE_ID, QuoteDesk, Terms
from conformance.vocabulary.lanes.registry import FACTS
from conformance.webhook_receiver.raw_receiver import HANG_UP, Arrival, Receiver, Reply

NETWORK = FACTS["algorand"].main
BODY = {"recipient_address": "screen-allow"}
ORDER = {"kind": "data", "data": {"service_id": SERVICE_ID, "request": BODY}}


class Host:
    """A chain that takes every proof."""

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """Return no further members."""
        del asset, token
        return {}

    async def accept(self, challenge: Mapping[str, Any], proof: Mapping[str, Any]) -> str:
        """Return the transaction of the proof."""
        del challenge
        return str(proof["tx_id"])


class Caller:
    """Sends messages to a rail, and keeps the arrivals."""

    def __init__(self, **script: Any) -> None:
        desk = QuoteDesk("http://127.0.0.1:1", BODY)
        terms = Terms(NETWORK, NETWORK.caip2, NETWORK.asset_id, "payee")
        host = cast("PayerHost", Host())
        self.rail = A2aRail(desk, host, terms, Script(**script), Receiver(), "http://127.0.0.1:2")
        self.arrivals: list[Arrival] = []

    async def call(self, method: str, params: Any) -> Reply:
        """Return the answer to a call of the endpoint."""
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()
        arrival = Arrival(len(self.arrivals) + 1, 0.0, 0.0, "POST", "/a2a", "127.0.0.1:2", (), body)
        self.arrivals.append(arrival)
        arrival.reply = await self.rail.answer(arrival)
        return arrival.reply

    async def send(self, *parts: Any, **members: Any) -> dict[str, Any]:
        """Return the JSON-RPC answer to a message."""
        answer = await self.call("message/send", {"message": {"kind": "message", "parts": list(parts), **members}})
        document: dict[str, Any] = json.loads(answer.body)
        assert document["id"] == 7
        return document

    async def pay(self, *parts: Any, **members: Any) -> dict[str, Any]:
        """Order, and return the answer to the payment of the task; without its task if there are parts."""
        task = (await self.send(ORDER))["result"]
        entry = task["status"]["message"]["metadata"]["x402.payment.required"]["accepts"][0]
        assert entry["amount"] == str(PRICE)
        payload = {"tx_id": "T", "payment_reference": entry["extra"]["payment_reference"]}
        metadata = {"x402.payment.status": "payment-submitted", "x402.payment.payload": payload}
        named = {} if parts else {"taskId": task["id"]}
        return await self.send(*parts, metadata=metadata, **named, **members)


def describe(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a task, and the status of its payment."""
    status = answer["result"]["status"]
    return status["state"], status["message"]["metadata"]["x402.payment.status"]


async def test_an_order_is_challenged_and_its_payment_completes_the_task() -> None:
    """The artifact is the answer that HTTP has, and the task can be read again."""
    caller = Caller()
    answer = await caller.pay()
    assert describe(answer) == ("completed", "payment-completed")
    (part,) = answer["result"]["artifacts"][0]["parts"]
    assert part["data"]["payable_receipt"]
    (presentation,) = caller.rail.presentations
    assert (presentation.tx_id, presentation.fault) == ("T", None)
    meanings = [caller.rail.reply_to(one) for one in caller.arrivals]
    assert [one.status for one in meanings if one is not None] == [402, 200]
    task = json.loads((await caller.call("tasks/get", {"id": answer["result"]["id"]})).body)
    assert task["result"] == answer["result"]


@pytest.mark.parametrize(
    ("step", "outcome", "wait"),
    [
        (quote_again, "payment-failed", None),
        (refuse(402, "payment_undecided", None), "payment-failed", None),
        (refuse(409, "payment_already_spent", None), "payment-failed", None),
        (refuse(402, "tx_not_confirmed", "3"), "payment-submitted", 3),
        (refuse(409, "payment_in_progress", "0"), "payment-submitted", 0),
        (refuse(503, "answer_unavailable", "2"), "payment-submitted", 2),
    ],
)
async def test_a_refusal_of_a_payment_is_a_task(step: Step, outcome: str, wait: int | None) -> None:
    """A fresh challenge comes with failures only."""
    answer = await Caller(steps=(step,)).pay()
    assert describe(answer) == ("input-required", outcome)
    assert answer["result"]["metadata"].get("retry_after_seconds") == wait
    metadata = answer["result"]["status"]["message"]["metadata"]
    assert ("x402.payment.required" in metadata) is (outcome == "payment-failed")


async def test_other_answers_stay_answers_of_http() -> None:
    """503 of a busy rail, and a connection that is closed."""
    for step in (refuse(503, "busy", "1"), hang_up):
        caller = Caller(steps=(step,))
        # Neither body is a JSON-RPC answer.
        with pytest.raises((json.JSONDecodeError, KeyError)):
            await caller.pay()
        reply = caller.arrivals[-1].reply
        assert reply is HANG_UP or (reply is not None and reply.status == 503)


async def test_a_forgotten_task_is_paid_with_its_order() -> None:
    """The payment that names the task is no presentation, because the rail knows nothing to compare it with."""
    caller = Caller(forgets_tasks=True)
    assert (await caller.pay())["error"]["code"] == -32001
    assert caller.rail.presentations == []
    assert describe(await caller.pay(ORDER)) == ("completed", "payment-completed")


async def test_a_finished_task_whose_answer_is_lost_takes_no_message() -> None:
    """The proof is good with its order, and the result of the task can be read."""
    caller = Caller(loses_results=True)
    with pytest.raises(json.JSONDecodeError):
        await caller.pay()
    assert caller.arrivals[-1].reply is HANG_UP
    (task_id,) = caller.rail.tasks
    assert (await caller.send(taskId=task_id, metadata={"x402.payment.payload": {}}))["error"]["code"] == -32602
    read_task = json.loads((await caller.call("tasks/get", {"id": task_id})).body)
    assert describe(read_task) == ("completed", "payment-completed")
    assert describe(await caller.pay(ORDER)) == ("completed", "payment-completed")


async def test_a_payment_of_another_request_pays_nothing() -> None:
    """The order of the message is what is paid for."""
    caller = Caller()
    other = {"kind": "data", "data": {"service_id": SERVICE_ID, "request": {}}}
    assert describe(await caller.pay(other))[1] == "payment-failed"
    assert caller.rail.presentations[0].fault == "it comes with another request than the quoted one"


async def test_calls_that_are_no_message_are_refused() -> None:
    """Unknown method, service and task."""
    caller = Caller()
    assert json.loads((await caller.call("message/stream", {})).body)["error"]["code"] == -32601
    unknown_service = {"kind": "data", "data": {"service_id": "other", "request": BODY}}
    assert (await caller.send(unknown_service))["error"]["code"] == -32602
    assert (await caller.send(ORDER, taskId="none"))["error"]["code"] == -32001
