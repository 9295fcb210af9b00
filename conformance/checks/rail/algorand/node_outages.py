"""RAIL-PAY-02: a payment that was presented during an outage of the chain's node is served afterwards.

The rail must not serve without the node, and it must not forget the payer either: the money has moved. So it keeps a
claim, answers that the proof may be presented again, and decides the claim when the node is back.
"""

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
# Seconds of the reference: a challenge's lifetime, the settle window after it, the skew of clocks, and a minute more.
_PAST_EVERY_WINDOW_SECONDS = 1800 + 900 + 60 + 60
# The reference looks again at an undecided claim after this many seconds, in rounds of one second.
_NEXT_LOOK_SECONDS = 60
_ROUNDS_SECONDS = 3.0


@check(
    "RAIL-PAY-02",
    surface="rail",
    lane="algorand",
    exclusive=Exclusive.CHAIN_AND_CLOCK,
    fix="Keep an undecided claim however long its node is unreachable, and decide it when the node is back.",
)
async def payment_that_outlives_an_outage(case: Case) -> None:
    """A payment made in time is served when the node is back, however long it was away.

    Buys one call, and expects that it is served. Pays for two more, makes the node unreachable, presents both proofs,
    lets every lifetime pass, and presents the first again. Brings the node back and presents the first once more. Then
    waits until the rail looks at the chain by itself, and presents the second. Expects that each is served. The
    interface leaves open how long a proof is valid, so only the reference is tested with an outage, if its node and
    clock can be moved.
    """
    payer = await algorand_payer(case)
    operation = case.session.catalog.operations[0]
    first = await redeem(case, operation, await pay_welded(payer, await challenge(case, operation)))
    case.expect("RAIL-PAY-02", first.status == 200, "200", brief(first), exchange=first)
    offset_file = case.profile.clock.offset_file
    ours = case.profile.is_reference
    # Without a clock that can be moved the outage would have to last longer than every window, which is about an hour.
    if not ours or offset_file is None or _FAULT not in await payer.fault_names():
        return
    if await clock.stays_behind(case.session, case.lane):
        return
    proof, other_proof = [await pay_welded(payer, await challenge(case, operation)) for _ in range(2)]
    async with payer.fault(_FAULT, count=1_000_000):
        outage_answers = [await present(case, operation, each) for each in (proof, other_proof)]
        clock_file.advance(offset_file, _PAST_EVERY_WINDOW_SECONDS)
        late_answer = await present(case, operation, proof)
    await clock.pass_time(case, 0)
    descriptions = [brief(answer) for answer in (*outage_answers, late_answer)]
    if {answer.status for answer in outage_answers} - set(
        case.profile.rail_bindings.chain_down_status
    ) or late_answer.status == 200:
        # Served during the outage, or refused for good: RAIL-WELD-13 judges that, and nothing is left to serve later.
        raise Inconclusive(f"without its node the rail answered {', then '.join(descriptions)}")
    await _judge_service(case, operation, proof, "made in time, presented while the node was away and after")
    # The second proof is not presented again at first: the rail must find its payment by its own look at the chain.
    await clock.pass_time(case, _NEXT_LOOK_SECONDS)
    await asyncio.sleep(_ROUNDS_SECONDS)
    await _judge_service(case, operation, other_proof, "made in time, presented while the node was away and long after")


async def _judge_service(case: Case, operation: Operation, proof: Mapping[str, Any], payment: str) -> None:
    answer = await redeem(case, operation, proof)
    case.expect("RAIL-PAY-02", answer.status == 200, "200", brief(answer), exchange=answer, where={"payment": payment})
