"""The look of tasks: ids have an inverse, orders are read in one form only, and a task stays payable in each form."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from conformance.selftest.observations.a2a import list_further_members
from conformance.surfaces.rail.a2a import Task
from reference.protocol.a2a_card import agent_card
from reference.variants.chameleon.a2a_variants import _own_message, _reshape_task, own_id, reshaped_id
from reference.variants.chameleon.agent_documents import card
from reference.variants.chameleon.rail_a2a_points import POINTS
from reference.variants.chameleon.variant_shape import Shape
from reference.web.a2a.json_rpc import RpcError

_ID = "0b9f6f0e-5a0c-4c0e-9d55-0f3c1f6f6a01"
_BY_ID = {point.id: point for point in POINTS}
_ORDER = {"service_id": "receipt-verify", "request": {"jws": "e30.e30.AA"}}
_PARTS = {
    "service_id": {"kind": "data", "data": _ORDER},
    "skill": {"kind": "data", "data": {"skill": "pay-v1-verify-receipt", "request": _ORDER["request"]}},
    "path": {"kind": "data", "data": {"path": "/pay/v1/verify/receipt", "body": _ORDER["request"]}},
    "text": {"kind": "text", "text": '/pay/v1/verify/receipt {"jws": "e30.e30.AA"}'},
    "own words": {"kind": "data", "data": {"order": {"what": "receipt-verify", "with": _ORDER["request"]}}},
}


def task() -> dict[str, Any]:
    """Return a task that asks for payment, as the rail writes it."""
    challenge = {"x402Version": 2, "error": "payment_required", "resource": {"url": "http://r/x"}, "accepts": []}
    metadata = {"x402.payment.status": "payment-required", "x402.payment.required": challenge}
    message = {"kind": "message", "role": "agent", "messageId": "m", "taskId": _ID, "parts": [], "metadata": metadata}
    status = {"state": "input-required", "timestamp": "2026-01-01T00:00:00Z", "message": message}
    own = {"kind": "task", "id": _ID, "contextId": "c", "status": status, "history": [{"taskId": _ID}]}
    return {**own, "metadata": {"payment_state": "a2a-x402"}}


@pytest.mark.parametrize("form", ["uuid", "prefixed", "digits"])
def test_an_id_in_any_form_is_read_back(form: str) -> None:
    """The returned id is read as the rail's own, and another form names no task."""
    assert own_id(reshaped_id(_ID, form), form) == _ID


@pytest.mark.parametrize("text", [_ID, "", "tsk_", "tsk_zz", "-1", "007", "9" * 200, "٣", "../../etc/passwd"])
@pytest.mark.parametrize("form", ["prefixed", "digits"])
def test_other_texts_name_no_task(form: str, text: str) -> None:
    """Every other text names no task."""
    assert own_id(text, form) == "none"


@pytest.mark.parametrize("form", _PARTS)
@pytest.mark.parametrize("sent", _PARTS)
def test_an_order_is_read_in_the_looks_form_and_in_no_other(form: str, sent: str) -> None:
    """A look reads its own form as the rail's; what orders nothing is refused, except where the example is sold."""
    shape = dataclasses.replace(Shape(), a2a_order=form)
    message = {"parts": [_PARTS[sent]]}
    if form == sent:
        assert _own_message(message, shape)["parts"] == [{"kind": "data", "data": _ORDER}]
    elif form == "service_id":
        assert message == _own_message(message, shape)
    else:
        with pytest.raises(RpcError):
            _own_message(message, shape)


@pytest.mark.parametrize(
    "part",
    [
        None,
        7,
        [],
        {},
        {"kind": "data"},
        {"kind": "data", "data": []},
        {"kind": "data", "data": {"order": {"what": []}, "skill": {}, "path": None}},
        {"kind": "text", "text": "/pay/v1/verify/receipt " + "[" * 100_000},
        {"kind": "text", "text": "/nowhere {}"},
        {"kind": "text", "text": None},
    ],
)
@pytest.mark.parametrize("form", [form for form in _PARTS if form != "service_id"])
def test_what_is_no_order_is_an_error_and_no_fault(form: str, part: Any) -> None:
    """Hostile parts order nothing; a request that is no JSON is the service's to judge."""
    shape = dataclasses.replace(Shape(), a2a_order=form)
    if form == "text" and isinstance(part, dict) and "receipt" in str(part.get("text")):
        order = {"service_id": "receipt-verify", "request": None}
        assert [{"kind": "data", "data": order}] == _own_message({"parts": [part]}, shape)["parts"]
    else:
        with pytest.raises(RpcError):
            _own_message({"parts": [part]}, shape)


@pytest.mark.parametrize("form", _PARTS)
def test_a_payment_needs_no_order(form: str) -> None:
    """A message with a payment is handed on as it came."""
    message = {"parts": [], "metadata": {"x402.payment.status": "payment-submitted"}}
    assert message == _own_message(message, dataclasses.replace(Shape(), a2a_order=form))


@pytest.mark.parametrize("point", [one for one in _BY_ID if one.startswith("rail.a2a-")])
def test_a_task_asks_for_payment_in_every_form(point: str) -> None:
    """The suite reads a task of each variant as one that asks for payment, with its terms, under the returned id."""
    for choice in _BY_ID[point].choices:
        shape = dataclasses.replace(Shape(), **choice.sets)
        shown_task = _reshape_task(task(), shape)
        read = Task(None, shown_task.get("task", shown_task))  # type: ignore[arg-type]
        assert read.asks_for_payment, choice.name
        assert read.payment_terms is not None, choice.name
        assert read.id == reshaped_id(_ID, shape.a2a_ids)


def test_a_card_without_further_members_has_what_a2a_demands() -> None:
    """The smallest card has no member beyond, the largest has more than the reference's."""
    own = agent_card(name="n", description="d", url="http://a", version="1", organization="o", skills=())
    assert list_further_members(card(dict(own), "few")) == "none"
    assert own.keys() < card(dict(own), "more").keys()
