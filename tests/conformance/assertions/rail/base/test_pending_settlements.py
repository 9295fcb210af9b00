"""A payment that is refused while its settlement waits, or afterwards, and cashed all the same."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.assertions.rail.base.pending_settlements import judge_cashed, judge_wide_windows
from conformance.engine.check import Case
from conformance.http.client import Answer

PRICE = 10_000


def answer(status: int, error: str, **headers: str) -> Answer:
    """Return a refusal."""
    body = json.dumps({"error": error}).encode()
    return Answer(1, status, CIMultiDictProxy(CIMultiDict(headers)), body)


WAITS = answer(402, "tx_not_confirmed", **{"Retry-After": "2"})
EXPIRED_ANSWER = answer(402, "authorization_expired")


async def judge_window(answer: Answer, loss: int, beside: list[Answer]) -> bool:
    """Return the verdict on one payment that was answered so, and then moved so much."""
    judgements: list[bool] = []

    async def measure() -> int:
        return loss

    case: Any = SimpleNamespace(expect=lambda _, holds, *__, **___: judgements.append(holds))
    stake: Any = SimpleNamespace(measure_loss=measure, price=PRICE)
    await judge_wide_windows(
        cast("Case", case), {"2^64": (stake, cast("Any", None))}, [answer], ordinary_answers=beside
    )
    return judgements == [True]


async def test_a_payment_that_is_refused_for_its_window_and_cashed_is_a_breach() -> None:
    """It does not count if nothing is cashed."""
    assert not await judge_window(EXPIRED_ANSWER, PRICE, [WAITS] * 4)
    assert await judge_window(EXPIRED_ANSWER, 0, [WAITS] * 4)


@pytest.mark.parametrize(
    ("chain_answer", "beside"),
    [
        (WAITS, [WAITS] * 4),
        (answer(402, "pending"), [answer(402, "pending")] * 4),
        (answer(402, "0x1 waits"), [answer(402, f"0x{n} waits") for n in range(2, 6)]),
        (answer(409, "payment_in_progress"), [WAITS] * 4),
        (answer(429, "slow_down"), [WAITS] * 4),
        (answer(503, "chain_unavailable"), [WAITS] * 4),
    ],
)
async def test_what_says_nothing_of_the_window_decides_nothing(chain_answer: Answer, beside: list[Answer]) -> None:
    """Later, the same as any payment that waits, words that differ with each payment, or a service that is away."""
    assert await judge_window(chain_answer, PRICE, beside)


@pytest.mark.parametrize(
    ("chain_answer", "moved_amount", "holds"),
    [
        (answer(402, "settlement_failed"), PRICE, False),
        (answer(409, "payment_in_progress"), PRICE, True),
        (answer(402, "settlement_failed"), 0, True),
        (WAITS, PRICE, True),
        (answer(503, "chain_unavailable"), PRICE, True),
        (answer(200, ""), PRICE, True),
    ],
)
def test_who_cashes_a_payment_that_took_a_while_does_not_refuse_it_for_good(
    chain_answer: Answer, moved_amount: int, *, holds: bool
) -> None:
    """Later, served, or a service that is away are no refusal, and one that moved nothing costs the payer nothing."""
    judgements: list[bool] = []
    case: Any = SimpleNamespace(expect=lambda _, held, *__, **___: judgements.append(held))
    judge_cashed(cast("Case", case), chain_answer, moved_amount, "its settlement was held up for a while")
    assert judgements == [holds]
