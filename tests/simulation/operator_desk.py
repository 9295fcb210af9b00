"""An operator who lists what was not served, and has it served or gives it back, just when its payer comes again.

Each look is a command of its own, on a machine of its own, which may be killed between any two of its steps.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from reference.rail.payments_command import open_payment_operations
from reference.rail.settlement.unserved_payments import PaymentOperations
from reference.store.database import DatabaseUnavailable
from reference.store.unserved_payments import UnservedState
from reference.web.operator_commands import NotDone
from reference.web.settings import Misconfigured
from tests.simulation.judging import content
from tests.simulation.machines import Machine
from tests.simulation.payers import PATHS, Market, Payment, pay, redeem, request_quote
from tests.simulation.wire import NoAnswer
from tests.simulation.workers import Worker

_LOOKS = 3
_GIVEN_BACK = "B" * 51 + "A"
_Result = TypeVar("_Result")


async def operator(market: Market, actor: str, chance: random.Random) -> None:
    """Pay at a worker that dies over it; its payer comes again while an operator acts on what is paid, not served."""
    path, body = PATHS["compliance-receipt"][0], json.dumps(PATHS["compliance-receipt"][1]).encode()
    document = await request_quote(market, actor, chance, path, body)
    alive = market.rail.alive()
    payment = document and await pay(market, actor, chance, document, "compliance-receipt", body, within=0.5)
    if not payment or not alive:
        return
    market.payments.append(payment)
    worker = chance.choice(alive)
    if worker.machine is not None:
        worker.machine.kill_after(commits=chance.randrange(1, 5))
    with suppress(NoAnswer):
        answer = await market.ask(actor, chance, path, body, payment.proof, worker=worker)
        if answer.status == 200:
            market.judge.judge_served(actor, payment.tx_id, payment.token, answer)
    await asyncio.gather(
        _come_again(market, payment, chance),
        _start_again(worker, random.Random(chance.random())),
        *(_look(market, random.Random(chance.random())) for _ in range(chance.randrange(1, 4))),
    )


async def _start_again(worker: Worker, chance: random.Random) -> None:
    """Restart a worker that died: payers retry until a worker answers, and would never stop if all workers had died."""
    await asyncio.sleep(chance.choice((1.0, 30.0, 300.0)))
    await worker.start()


async def _come_again(market: Market, payment: Payment, chance: random.Random) -> None:
    await asyncio.sleep(chance.choice((0.0, 0.1, 3.0, 30.0, 100.0)))
    await redeem(market, payment, chance, until=market.now() + 86_400)


async def _look(market: Market, chance: random.Random) -> None:
    """Look some times, and act on what is there."""
    for _ in range(_LOOKS):
        await asyncio.sleep(chance.choice((0.0, 0.1, 3.0, 30.0)))
        await _at_desk(market, chance, lambda desk: _act(market, chance, desk), may_die=chance.random() < 0.2)


async def _act(market: Market, chance: random.Random, desk: PaymentOperations) -> None:
    for entry in await desk.list_payments(is_refunded=False, most=100):
        payment = entry.payment
        if payment.id is None or payment.state is not UnservedState.PAID:
            continue
        if chance.random() < 0.5:
            market.judge.given_back.add(payment.tx_id)  # whether or not it comes to that
            await desk.refund(payment.id, _GIVEN_BACK)
            market.judge.count("given back")
            market.judge.note("operator", "gave back", payment.tx_id)
        else:
            body = await desk.serve(payment.id)
            market.judge.count("served by the operator")
            market.judge.note("operator", "served", payment.tx_id)
            market.judge.bought.setdefault(payment.tx_id, set()).add(content(body))


async def judge_refunds(market: Market, chance: random.Random) -> None:
    """What was given back has bought nothing."""
    refunds = await _at_desk(
        market, chance, lambda desk: desk.list_payments(is_refunded=True, most=10_000), may_die=False
    )
    if refunds is None:
        market.judge.note_violation("no-list", "operator", "the refunds cannot be listed")
        return
    for entry in refunds:
        tx_id = entry.payment.tx_id
        if market.judge.bought.get(tx_id):
            market.judge.note_violation(
                "refunded-and-served", "operator", f"{tx_id} was given back, and it bought an answer"
            )


async def _at_desk(
    market: Market,
    chance: random.Random,
    act: Callable[[PaymentOperations], Awaitable[_Result]],
    *,
    may_die: bool,
) -> _Result | None:
    """Return what an act comes to; None when nothing was done, or when the machine died over it."""
    loop, rail = market.rail.loop, market.rail
    machine = Machine("operator", loop, f"{rail.seed}:operator:{chance.random()}")
    end_future: asyncio.Future[_Result | None] = loop.create_future()

    async def run() -> None:
        result: _Result | None = None
        try:
            async with open_payment_operations(rail.settings()) as desk:
                result = await act(desk)
        except (NotDone, DatabaseUnavailable, Misconfigured) as reason:
            market.judge.note("operator", "not done", reason)
        finally:
            if not end_future.done():
                end_future.set_result(result)

    machine.at_death.append(lambda: None if end_future.done() else end_future.set_result(None))
    if may_die:
        machine.kill_after(**chance.choice(({"steps": chance.randrange(1, 120)}, {"commits": chance.randrange(1, 6)})))
    loop.busy += 1
    try:
        loop.create_task(run(), context=machine.context.copy())
        return await end_future
    finally:
        loop.busy -= 1
        machine.kill()
