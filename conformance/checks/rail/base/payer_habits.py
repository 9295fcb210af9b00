"""RAIL-PAY-18 on Base: paid answers to authorizations of wallets with other habits."""

from __future__ import annotations

from conformance.assertions.rail.base.funded_challenges import FundedChallenges, get_base_payer
from conformance.assertions.rail.paid_answer_members import ROW, judge_sale
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.engine.quick_policy import sample
from conformance.lanes.base.payer_habits import list_windows
from conformance.surfaces.rail.base.spellings import spellings
from conformance.surfaces.rail.keys import published_did, published_keys


@check(
    ROW,
    surface="rail",
    lane="base",
    fix="Accept every window that includes now and the next 30 seconds, however early it begins and however late it "
    "ends, and every spelling of 5.5. Compute each member of the answer from challenge, authorization and settlement.",
    quick=sample("habits"),
)
async def answers_to_habits_on_base(case: Case) -> None:
    """Each member of a paid answer is right, whatever habit the payer's wallet on Base has.

    Pays each operation in turn, from a fresh account each time: by authorizations that are valid for two minutes, from
    long ago, for a year, and for ever, in every spelling of 5.5, and by one that a relayer has already submitted.
    Expects 200 with exactly the members of 5.9, each computed from request, challenge and settlement, and the same
    bytes for the same proof again. Windows that end late are only signed on simulated chains.
    """
    payer, operations = await get_base_payer(case), case.session.catalog.operations
    stakes = FundedChallenges(case, payer)
    keys, did = (await published_keys(case))[0], await published_did(case)
    windows = list_windows(await payer.block_time(), is_simulated=payer.has_control)
    writers = spellings(payer.caip2)
    relayed = "submitted by a relayer"

    async def attempt(number: int, habit: str) -> None:
        stake = await stakes.open_challenge(operations[number % len(operations)])
        authorization = await stake.sign(**windows.get(habit, {}))
        if habit == relayed:
            await payer.use(authorization)
        proof = writers[habit](authorization) if habit in writers else authorization.proof()
        await judge_sale(case, stake.quote, proof, keys, did, habit, address=stake.account.address)

    habits = case.sample([*windows, *writers, relayed])
    await run_concurrently((attempt(number, habit) for number, habit in enumerate(habits)), at_once=4)
