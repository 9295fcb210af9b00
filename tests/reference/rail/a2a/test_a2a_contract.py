"""What the A2A door answers is what openapi/rail.json says, and what that says is what the door answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from reference.protocol import a2a_x402
from reference.protocol.a2a import TaskState
from tests.reference.rail.a2a.a2a_client import ORDER, STATUS, build_payment_params, call, entry_of, message, open_task
from tests.reference.rail.rail_stack import Payer, Rail, proof_of

DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[4] / "openapi" / "rail.json").read_text("utf-8"))
SCHEMAS = DOCUMENT["components"]["schemas"]
Asking = Callable[[Rail, Payer], httpx.Response]


def faults(name: str, value: Any) -> list[str]:
    """Return what a schema of the document says against a value."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    return [f"{fault.instance_path}: {fault.message}" for fault in validator.iter_errors(value)]


def _buy(rail: Rail, payer: Payer) -> httpx.Response:
    task = open_task(rail)
    entry = entry_of(task)
    return call(rail, "message/send", build_payment_params(task["id"], proof_of(payer.pay(entry), entry)))


def _reject(rail: Rail, _: Payer) -> httpx.Response:
    outcome = message(task=open_task(rail)["id"], metadata={STATUS: "payment-rejected"})
    return call(rail, "message/send", {"message": outcome})


def _leave_undecided(rail: Rail, _: Payer) -> httpx.Response:
    task = open_task(rail)
    return call(rail, "message/send", build_payment_params(task["id"], proof_of("A" * 52, entry_of(task))))


ANSWERS: Mapping[str, Asking] = {
    "asked to pay": lambda rail, _: call(rail, "message/send", {"message": message(ORDER)}),
    "served": _buy,
    "refused": lambda rail, _: call(rail, "message/send", build_payment_params(open_task(rail)["id"], {})),
    "undecided": _leave_undecided,
    "declined": _reject,
    "canceled": lambda rail, _: call(rail, "tasks/cancel", {"id": open_task(rail)["id"]}),
    "unknown task": lambda rail, _: call(rail, "tasks/get", {"id": "x"}),
    "bad parameters": lambda rail, _: call(rail, "message/send", {}),
}


@pytest.mark.parametrize("asking", ANSWERS.values(), ids=ANSWERS.keys())
def test_answers_are_of_the_document_s_form(rail: Rail, payer: Payer, asking: Asking) -> None:
    """Each kind of answer; and the same answer without its result or error is not."""
    answer = asking(rail, payer).json()

    assert faults("RpcAnswer", answer) == []
    assert faults("RpcAnswer", {name: answer[name] for name in ("jsonrpc", "id")}) != []


def test_the_card_is_of_the_document_s_form(rail: Rail) -> None:
    """And a card that promises streaming is not."""
    card = rail.http.get("/.well-known/agent-card.json").json()

    assert faults("AgentCard", card) == []
    assert faults("AgentCard", {**card, "capabilities": {**card["capabilities"], "streaming": True}}) != []


def test_the_document_s_words_are_the_code_s() -> None:
    """States, payment statuses and error names: none too many, none too few."""
    task = SCHEMAS["Task"]["properties"]
    metadata = SCHEMAS["StatusMessage"]["properties"]["metadata"]["properties"]
    names = {a2a_x402.error_of(code) for code in (*a2a_x402.ERRORS, "anything else")}

    assert [state.value for state in TaskState] == task["status"]["properties"]["state"]["enum"]
    assert {status.value for status in a2a_x402.Status} == set(metadata[a2a_x402.STATUS]["enum"])
    assert names == set(metadata[a2a_x402.ERROR]["enum"])
    names = {a2a_x402.STATUS, a2a_x402.REQUIRED, a2a_x402.ERROR, a2a_x402.RECEIPTS, a2a_x402.FAULTS}
    assert names == set(metadata)
    assert task["metadata"]["properties"]["payment_state"]["const"] == a2a_x402.PAYMENT_STATE
