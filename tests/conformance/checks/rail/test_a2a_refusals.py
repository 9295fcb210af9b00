"""What the check of refused payments over A2A makes of endpoints that are honest and of faulty ones."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import NETWORK, run_check
from tests.conformance.checks.rail.test_a2a_checks import A2A_PROFILE, UNBOUND, Door, rail_with
from tests.conformance.checks.trial import find_broken_rows

CHECK = "a_refused_payment_leaves_the_task_unpaid"
ROWS = {"RAIL-A2A-02", "RAIL-A2A-03", "RAIL-A2A-04", "RAIL-A2A-05", "X-ROB-02"}


class Keeping(Door):
    """An endpoint that keeps a task and its history over refusals; `fault` changes the answer to a refused payment."""

    def __init__(
        self,
        fault: Callable[[dict[str, Any]], None] | None = None,
        *,
        keeps_payload: bool = False,
        longest: bool = False,
    ) -> None:
        super().__init__(self._shorten_history)
        self._fault = fault or (lambda _: None)
        self._keeps_payload = keeps_payload
        self._longest = longest

    def answer_message(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the task that a message opens or continues."""
        stored_message = deepcopy(message)
        if not self._keeps_payload:
            stored_message.get("metadata", {}).pop("x402.payment.payload", None)
        fresh = super().answer_message(message)
        before = self.tasks.get(message.get("taskId", ""))
        if before is None:
            fresh["history"] = [stored_message]
            return fresh
        del self.tasks[fresh["id"]]
        task = {
            **fresh,
            "id": before["id"],
            "history": [*before["history"], before["status"]["message"], stored_message],
        }
        self.tasks[task["id"]] = task
        proof = message.get("metadata", {}).get("x402.payment.payload")
        if proof is not None:
            receipt = {"success": False, "errorReason": "unknown", "transaction": proof["tx_id"], "network": NETWORK}
            metadata = task["status"]["message"]["metadata"]
            metadata |= {"x402.payment.status": "payment-failed", "x402.payment.error": "SETTLEMENT_FAILED"}
            metadata["x402.payment.receipts"] = [receipt]
            self._fault(task)
        return task

    def _shorten_history(self, request: dict[str, Any], answer: dict[str, Any]) -> Any:
        params = request.get("params", {})
        length = params.get("historyLength", params.get("configuration", {}).get("historyLength"))
        if length is None or "result" not in answer or (self._longest and length == 0):
            return answer
        history = answer["result"]["history"]
        return {**answer, "result": {**answer["result"], "history": history[len(history) - length :]}}


def metadata_of(task: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a task's status message."""
    metadata: dict[str, Any] = task["status"]["message"]["metadata"]
    return metadata


def end_task(task: dict[str, Any]) -> None:
    """End a task."""
    task["status"]["state"] = "failed"


def without_terms(task: dict[str, Any]) -> None:
    """Take the challenge out of a task."""
    del metadata_of(task)["x402.payment.required"]


@pytest.mark.parametrize("profile", [A2A_PROFILE, UNBOUND])
async def test_a_task_that_still_asks_passes(profile: str) -> None:
    """The state, the report and fresh tokens are there, and the history is short and has no payload."""
    assert await run_check(CHECK, rail_with(Keeping()), profile) == dict.fromkeys(ROWS, Verdict.PASS)


FAULTS: list[tuple[set[str], Callable[[dict[str, Any]], None]]] = [
    ({"RAIL-A2A-03"}, end_task),
    ({"RAIL-A2A-03", "RAIL-A2A-05"}, without_terms),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task).update({"x402.payment.status": "payment-required"})),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task).update({"x402.payment.error": "unknown"})),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task)["x402.payment.receipts"][0].update(success=True)),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task)["x402.payment.receipts"][0].update(network="eip155:1")),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task)["x402.payment.receipts"][0].pop("transaction")),
    ({"RAIL-A2A-03"}, lambda task: metadata_of(task).pop("x402.payment.receipts")),
]


@pytest.mark.parametrize(("rows", "fault"), FAULTS)
async def test_a_member_that_is_wrong_breaks_its_row(rows: set[str], fault: Callable[[dict[str, Any]], None]) -> None:
    """It fails our own target and warns elsewhere, where the extension leaves the state open."""
    assert find_broken_rows(await run_check(CHECK, rail_with(Keeping(fault)), A2A_PROFILE)) == rows
    verdicts = await run_check(CHECK, rail_with(Keeping(fault)), UNBOUND)
    assert {row for row, verdict in verdicts.items() if verdict is Verdict.WARN} == rows
    assert Verdict.FAIL not in verdicts.values()


async def test_tokens_of_the_first_challenge_are_not_fresh() -> None:
    """A challenge that was shown already is not a fresh one."""
    first: dict[str, Any] = {}

    def stale(task: dict[str, Any]) -> None:
        metadata_of(task)["x402.payment.required"] = first["terms"]

    door = Keeping(stale)
    usual = door.answer_message

    def repeat_first_terms(message: dict[str, Any]) -> dict[str, Any]:
        if "taskId" not in message:
            task = usual(message)
            first["terms"] = metadata_of(task)["x402.payment.required"]
            return task
        return usual(message)

    door.answer_message = repeat_first_terms  # type: ignore[method-assign]
    assert find_broken_rows(await run_check(CHECK, rail_with(door), A2A_PROFILE)) == {"RAIL-A2A-05"}


async def test_a_payload_in_the_history_breaks_its_row() -> None:
    """It fails our own target and warns elsewhere."""
    assert find_broken_rows(await run_check(CHECK, rail_with(Keeping(keeps_payload=True)), A2A_PROFILE)) == {"X-ROB-02"}
    verdicts = await run_check(CHECK, rail_with(Keeping(keeps_payload=True)), UNBOUND)
    assert verdicts["X-ROB-02"] is Verdict.WARN


async def test_a_history_of_no_messages_is_asked_of_our_own_target() -> None:
    """A2A speaks of positive numbers, so that an endpoint of another operator may take 0 as not given."""
    assert find_broken_rows(await run_check(CHECK, rail_with(Keeping(longest=True)), A2A_PROFILE)) == {"RAIL-A2A-02"}
    assert set((await run_check(CHECK, rail_with(Keeping(longest=True)), UNBOUND)).values()) == {Verdict.PASS}


async def test_a_forgotten_refusal_breaks_its_row() -> None:
    """What tasks/get reports is what the refusal was answered with."""

    def change_reply(request: dict[str, Any], answer: dict[str, Any]) -> Any:
        if request["method"] == "tasks/get" and "result" in answer:
            answer = deepcopy(answer)
            metadata_of(answer["result"])["x402.payment.status"] = "payment-required"
        return answer

    door = Keeping()
    door._change = change_reply
    assert "RAIL-A2A-04" in find_broken_rows(await run_check(CHECK, rail_with(door), A2A_PROFILE))


async def test_an_endpoint_without_orders_is_not_judged() -> None:
    """Where no task asks for payment, or the option is not claimed, nothing is said."""
    refusing_door = Door(lambda _, one: {**one, "error": {"code": -32602, "message": "no"}, "result": None})
    expected_verdicts = dict.fromkeys(ROWS, Verdict.NOT_APPLICABLE)
    assert await run_check(CHECK, rail_with(refusing_door), UNBOUND) == expected_verdicts
    profile = A2A_PROFILE.replace('"rail.a2a", ', "")
    verdicts = await run_check(CHECK, rail_with(Keeping(end_task)), profile)
    assert set(verdicts.values()) == {Verdict.NOT_APPLICABLE}
