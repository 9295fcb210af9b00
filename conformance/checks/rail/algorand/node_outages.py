"""RAIL-PAY: a payer who was told to come again, because the chain's node was away, is served when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from conformance.discovery.rail import Operation
from conformance.engine import clock
from conformance.engine.check import Case, check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.algorand.payments import algorand_payer, pay_welded
from conformance.surfaces.rail.paid_answers import brief
from conformance.surfaces.rail.purchase import challenge, present, redeem
from conformance.target import clock_file

_FAULT = "unavailable"
# The reference's own: what a challenge lives for, what a claim has after that, what clocks may differ by, and a minute.
_PAST_EVERY_WINDOW = 1800 + 900 + 60 + 60
# The reference's own: after so long it looks again at a claim whose look met no node, in a round of each second.
_NEXT_LOOK = 60
_ROUNDS_SECONDS = 3.0


@check(
    "RAIL-PAY-02",
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Keep a claim that no node could be asked about, however long its node is away, and decide it when it is back.",
)
async def payment_that_outlives_an_outage(case: Case) -> None:
    """A payment made in time is served when the node is back, however long it was away.

    Buys one call, which must be served. Pays for two more, takes the node away, presents both proofs, lets every
    lifetime pass, presents the first again, brings the node back and presents the first once more. Then waits until the
    rail has looked at the chain by itself, and presents the second. Expects that each is served. How long a proof is
    good is open in the interface, so that only the reference goes through the outage, where its node and clock can be
    moved.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    first = await redeem(case, operation, await pay_welded(payer, await challenge(case, operation)))
    case.expect("RAIL-PAY-02", first.status == 200, "200", brief(first), exchange=first)
    offset_file = case.profile.clock.offset_file
    ours = case.profile.is_reference
    if not ours or offset_file is None or _FAULT not in await payer.fault_names():
        return
    if await clock.stays_behind(case.session, case.lane):
        return
    proof, other = [await pay_welded(payer, await challenge(case, operation)) for _ in range(2)]
    async with payer.fault(_FAULT, count=1_000_000):
        away = [await present(case, operation, each) for each in (proof, other)]
        clock_file.advance(offset_file, _PAST_EVERY_WINDOW)
        again = await present(case, operation, proof)
    await clock.pass_time(case, 0)
    told = [brief(answer) for answer in (*away, again)]
    if {answer.status for answer in away} - set(case.profile.rail_bindings.chain_down_status) or again.status == 200:
        raise Inconclusive(f"without its node the rail answered {', then '.join(told)}")
    await _is_served(case, operation, proof, "made in time, presented while the node was away and after")
    await clock.pass_time(case, _NEXT_LOOK)
    await asyncio.sleep(_ROUNDS_SECONDS)
    await _is_served(case, operation, other, "made in time, presented while the node was away and long after")


async def _is_served(case: Case, operation: Operation, proof: Mapping[str, Any], what: str) -> None:
    back = await redeem(case, operation, proof)
    case.expect("RAIL-PAY-02", back.status == 200, "200", brief(back), exchange=back, where={"payment": what})
