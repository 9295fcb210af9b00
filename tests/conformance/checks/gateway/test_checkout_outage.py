"""The check of checkouts without their chain, against answers in memory."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.gateway import checkout_outage as module
from conformance.http.client import Answer
from conformance.lanes.node_control import Controlled
from tests.conformance.checks.gateway.recorded_case import RecordedCase, build_answer


class Node(Controlled):
    """A node that can be unavailable."""

    def __init__(self) -> None:
        self.is_away = False

    async def fault_names(self) -> tuple[str, ...]:
        """Return its one fault."""
        return ("unavailable",)

    @contextlib.asynccontextmanager
    async def fault(self, name: str, *, seed: int = 1, count: int = 1) -> AsyncIterator[None]:
        """Be away meanwhile."""
        del name, seed, count
        self.is_away = True
        yield
        self.is_away = False


async def run(flaw: str, monkeypatch: pytest.MonkeyPatch) -> RecordedCase:
    """Run the check without a separate service, and return its case."""
    node, refused = Node(), {"error": "payment_not_verified", "message": "no", "request_id": "req_1"}

    async def answer(method: str, url: str, **_: Any) -> Answer:
        if method == "GET":
            return build_answer(200, {"status": "cancelled" if flaw == "ended" else "active"})
        if flaw == url.rpartition("/")[2]:
            return build_answer(422, refused)
        fields = {} if flaw == "no Retry-After" else {"Retry-After": "5"}
        return build_answer(503, {**refused, "error": "chain_unavailable"}, **fields)

    async def settle(*_: Any) -> str:
        return "TX"

    link = SimpleNamespace(order=SimpleNamespace(token="A"), bill=None, page=None)
    case = RecordedCase(answer)
    case.mark_not_applicable = lambda *_: None  # type: ignore[attr-defined]
    case.lane = "algorand"  # type: ignore[attr-defined]
    case.session.payers = SimpleNamespace(for_gateway=_return_always(node))
    monkeypatch.setattr(module, "on_first_lane", _return_always(case))
    monkeypatch.setattr(module, "open_link", _return_always(link))
    monkeypatch.setattr(module, "_enter_service", _return_always(None))
    monkeypatch.setattr(module, "payer", _return_always(SimpleNamespace(settle=settle)))
    monkeypatch.setattr(module, "memo_carrier", lambda _: None)
    monkeypatch.setattr(module, "wait_for_paid", _return_always(None if flaw == "unpaid" else object()))
    await module.nothing_is_decided_without_the_chain(case)
    return case


def _return_always(value: Any) -> Any:
    async def function(*_: Any, **__: Any) -> Any:
        return value

    return function


async def test_a_gateway_that_decides_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """503 for both calls, active meanwhile, and Paid afterwards."""
    assert (await run("", monkeypatch)).breaches == []


@pytest.mark.parametrize("flaw", ["verify", "abandon", "ended", "unpaid", "no Retry-After"])
async def test_a_decision_breaks_a_row(flaw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal, an end and a payment that is lost break the row; the header field that of the codes."""
    rows = {row for row, _ in (await run(flaw, monkeypatch)).breaches}
    assert rows == ({"GW-ERR-06"} if flaw == "no Retry-After" else rows & {"GW-ERR-06", module.ROW})
    assert rows
