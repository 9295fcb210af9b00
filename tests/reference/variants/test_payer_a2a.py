"""The payer that is there to be broken reads a task as the answer that HTTP would give (10.7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reference.variants.payer import a2a_call
from reference.variants.payer.a2a_call import FAILED, send_call
from reference.variants.payer.call import is_not_yet
from reference.variants.payer.http_call import NOT_DECIDED, Answer
from reference.variants.payer.settings import Settings

BODY = {"network": "base_mainnet"}
PROOF = {"tx_id": "t"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return the settings of a call over A2A."""
    body, place = json.dumps(BODY).encode(), "http://127.0.0.1:1"
    members = ("base", "eip155:8453", "0x", "", "", "0x1", 100, 1.0, tmp_path)
    return Settings(f"{place}/x", "POST", body, *members, a2a_url=f"{place}/a2a", service_id="x")


def task(outcome: str, artifact: Any = None, metadata: Any = None, **further: Any) -> dict[str, Any]:
    """Return a task with an outcome of its payment."""
    message = {"metadata": {"x402.payment.status": outcome, **further}}
    artifacts = [] if artifact is None else [{"parts": [{"kind": "data", "data": artifact}]}]
    return {"id": "task", "status": {"message": message}, "artifacts": artifacts, "metadata": metadata}


def play(monkeypatch: pytest.MonkeyPatch, *answers: Mapping[str, Any] | Answer) -> list[dict[str, Any]]:
    """Answer the messages of the payer in order, and return the list that they come into."""
    messages: list[dict[str, Any]] = []
    left = list(answers)

    def send(method: str, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        assert (method, url.rpartition("/")[2], headers["Content-Type"]) == ("POST", "a2a", "application/json")
        messages.append(json.loads(body)["params"]["message"])
        answer = left.pop(0)
        return answer if isinstance(answer, Answer) else Answer(200, {}, json.dumps(answer).encode())

    monkeypatch.setattr(a2a_call, "send_request", send)
    return messages


def test_an_order_and_its_payment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The payment names the task of the order, and the artifact is the answer."""
    demand = {"accepts": [1]}
    ordered = {"result": task("payment-required", **{"x402.payment.required": demand})}
    messages = play(monkeypatch, ordered, {"result": task("payment-completed", {"result": "ü"})})
    assert (send_call(settings, None).status, send_call(settings, PROOF).members) == (402, {"result": "ü"})
    assert messages[0]["parts"] == [{"kind": "data", "data": {"service_id": "x", "request": BODY}}]
    assert messages[1]["taskId"] == "task"
    assert messages[1]["metadata"]["x402.payment.payload"] == PROOF
    (file,) = settings.state.iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_a_task_that_is_unknown_is_paid_with_its_order(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a later run that has no task."""
    unknown = {"error": {"code": -32001, "message": "task not found"}}
    served = {"result": task("payment-completed", {"result": 1})}
    messages = play(monkeypatch, {"result": task("payment-required")}, unknown, served)
    send_call(settings, None)
    assert send_call(settings, PROOF).status == 200
    assert "taskId" not in messages[2]
    assert messages[2]["parts"] == messages[0]["parts"]
    assert messages[2]["metadata"] == messages[1]["metadata"]


@pytest.mark.parametrize(
    ("answer", "status", "is_again"),
    [
        ({"result": task("payment-submitted", metadata={"retry_after_seconds": 3})}, NOT_DECIDED, True),
        ({"result": task("payment-failed", **{"x402.payment.required": {"error": "tx_not_found"}})}, FAILED, False),
        ({"result": task("payment-required")}, 402, False),
        ({"error": {"code": -32603, "message": "m"}}, 500, True),
        ({"error": {"code": -32602, "message": "m"}}, 400, False),
        ({"result": "text"}, 402, False),
        (Answer(503, {"retry-after": "1"}, b"busy"), 503, True),
    ],
)
def test_an_answer_is_read_as_one_of_http(
    settings: Settings, answer: Any, status: int, *, is_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rules then say whether the proof is presented again."""
    play(monkeypatch, answer)
    read = send_call(settings, PROOF)
    assert (read.status, is_not_yet(read)) == (status, is_again)
    if status == NOT_DECIDED:
        assert read.headers == {"retry-after": "3"}
