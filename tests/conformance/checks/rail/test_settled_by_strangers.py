"""An authorization that a stranger used first: the reference's choice to serve it decides for its defaults alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.rail.base.third_party_settlement import _judge_foreign_settlement
from conformance.http.client import Answer


class Stake:
    """A challenge whose price has moved, and what the rail answers to its proof."""

    price = 10_000

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers

    async def redeem(self, case: object, authorization: object) -> Answer:
        """Return the rail's answer."""
        del case, authorization
        reply: Any = SimpleNamespace(status=self.status, headers=self.headers, read_object=dict, json=dict, body=b"{}")
        answer: Answer = reply
        return answer

    async def measure_loss(self) -> int:
        """Return what the payer's account paid."""
        return self.price


class Case:
    """Keeps the verdicts on a target with the reference's defaults, or without them."""

    def __init__(self, *, is_reference: bool) -> None:
        self.profile = SimpleNamespace(is_reference=is_reference)
        self.judged: dict[str, tuple[bool, str | None]] = {}

    def expect(self, row: str, holds: bool, *texts: object, beyond: str | None = None, **more: object) -> None:
        """Keep whether a row held, and why a breach of it would only warn."""
        del texts, more
        self.judged[row] = holds, beyond


@pytest.mark.parametrize("is_reference", [True, False])
@pytest.mark.parametrize(
    ("status", "headers", "held"),
    [(200, {}, True), (402, {"retry-after": "2"}, True), (402, {}, False), (409, {}, False)],
)
async def test_a_refusal_for_good_is_a_breach(
    is_reference: bool, status: int, headers: dict[str, str], held: bool
) -> None:
    """A call that is served holds, and so does "not yet"; without the reference's defaults a refusal only warns."""
    case: Any = Case(is_reference=is_reference)
    stake: Any = Stake(status, headers)
    authorization: Any = None
    await _judge_foreign_settlement(case, stake, authorization, "used by a stranger")
    assert case.judged["RAIL-PAY-07"] == (True, None)
    holds, beyond = case.judged["RAIL-PAY-04"]
    assert holds is held
    assert (beyond is None) is is_reference
