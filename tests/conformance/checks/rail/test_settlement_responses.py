"""What the check of settlement responses makes of rails that tell of each refused payment, and of others."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import NETWORK, PROFILE, Call, Rail, Reply, judged
from tests.conformance.checks.trial import breached

CHECK, ROW = "refused_payment_is_told_of", "RAIL-402-22"
CLAIMED = PROFILE.replace('lanes = ["algorand"]', 'lanes = ["algorand"]\noptions = ["rail.payment_response"]')
TOLD: dict[str, Any] = {"success": False, "errorReason": "refused", "transaction": "", "network": NETWORK}


def encoded(told: Any) -> str:
    """Return the value of the header."""
    return base64.b64encode(json.dumps(told).encode()).decode()


def telling(value: Callable[[Call], str | None]) -> Rail:
    """Return a rail whose 402 to a presented payment carries a value."""

    def changed(call: Call, reply: Reply) -> Reply:
        presented = {"x-payment", "payment-signature"} & {name.lower() for name, _ in call.lines}
        told = value(call) if presented and reply.status == 402 else None
        return reply if told is None else Reply(402, reply.document, {**reply.headers, "PAYMENT-RESPONSE": told})

    return Rail(changed)


async def test_a_rail_that_tells_of_each_refusal_passes() -> None:
    """Further members are allowed."""
    verdicts = await judged(CHECK, telling(lambda _: encoded({**TOLD, "payer": "x"})), profile=CLAIMED)
    assert verdicts == {ROW: Verdict.PASS}


@pytest.mark.parametrize(
    "told",
    [
        {**TOLD, "network": ""},
        {**TOLD, "network": "eip155:1"},
        {**TOLD, "success": True},
        {**TOLD, "errorReason": ""},
        {name: TOLD[name] for name in ("success", "errorReason", "network")},
        [],
    ],
)
async def test_a_response_that_says_less_breaks_the_row(told: Any) -> None:
    """Each member is needed, and so is an object."""
    assert breached(await judged(CHECK, telling(lambda _: encoded(told)), profile=CLAIMED)) == {ROW}


@pytest.mark.parametrize(
    "value",
    [
        lambda _: None,
        lambda _: "%",
        lambda call: None if isinstance(call.proof, dict) and "x402Version" in call.proof else encoded(TOLD),
    ],
)
async def test_a_refusal_without_a_response_breaks_the_row(value: Callable[[Call], str | None]) -> None:
    """On any of them."""
    assert breached(await judged(CHECK, telling(value), profile=CLAIMED)) == {ROW}
