"""What is made of a rail that takes, or refuses, another spelling of an honest authorization."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.assertions.rail.base.funded_challenges import FundedChallenge, FundedChallenges
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.lanes.base.payer import BasePayer

ROW = "RAIL-PAY-04"
WHY = "that numbers may be integers is this suite's default (5.5)"


def answer_with(status: int) -> Answer:
    """Return an answer of a status, without a word."""
    return Answer(1, status, CIMultiDictProxy(CIMultiDict[str]()), json.dumps({}).encode())


async def judge_spelling(status: int, loss: int, due: str | None) -> list[tuple[bool, str | None]]:
    """Return what is judged of a spelling: whether it holds, and why it only warns."""
    judgements: list[tuple[bool, str | None]] = []

    def expect(row: str, holds: bool, *_: object, beyond: str | None = None, **__: object) -> None:
        assert row == ROW
        judgements.append((holds, beyond))

    async def answer(*_: object) -> Answer:
        return answer_with(status)

    async def measure() -> int:
        return loss

    async def accept() -> None:
        return None

    bindings = SimpleNamespace(result_at=None, receipt_at=None)
    case: Any = SimpleNamespace(
        expect=expect, note=lambda _: None, profile=SimpleNamespace(rail_bindings=bindings), client=None
    )
    quote = SimpleNamespace(answer=answer_with(402), operation=SimpleNamespace(path="/pay/v1/a"))
    stake: Any = SimpleNamespace(redeem=answer, measure_loss=measure, price=10, quote=quote, accept_balance=accept)
    stakes = FundedChallenges(cast("Case", case), cast("BasePayer", None))
    await stakes.judge_free_or_paid(ROW, cast("FundedChallenge", stake), {}, "numbers as JSON integers", due=due)
    return judgements


@pytest.mark.parametrize("status", [400, 402, 422])
async def test_who_refuses_a_spelling_that_is_due_is_warned(status: int) -> None:
    """Where an honest reader takes it; other spellings are the target's own matter."""
    assert await judge_spelling(status, 0, WHY) == [(True, None), (False, WHY)]
    assert await judge_spelling(status, 0, None) == [(True, None)]


async def test_who_takes_it_passes() -> None:
    """For one price, and no more."""
    assert await judge_spelling(200, 10, WHY) == [(True, None), (True, WHY)]


@pytest.mark.parametrize("status", [409, 429, 500, 503])
async def test_what_says_nothing_of_a_spelling_is_no_refusal_of_it(status: int) -> None:
    """A limit, a payment at work and a server error are reported by other rows."""
    assert await judge_spelling(status, 0, WHY) == [(True, None)]
