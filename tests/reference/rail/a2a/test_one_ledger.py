"""REST and A2A share one ledger: one execution for each payment, by either endpoint (P-ST-02, P-RA-10)."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import pytest

from reference.protocol.redemption import State
from tests.reference.rail.a2a.a2a_client import (
    ORDER,
    artifact,
    build_payment_params,
    call,
    entry_of,
    envelope,
    error,
    get,
    message,
    open_task,
    pay,
    result,
)
from tests.reference.rail.a2a.conftest import Paying
from tests.reference.rail.base_stack import BasePayer, Settler, SimulatedBase, until
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, USDC, Payer, Rail, header, proof_of
from tests.reference.rail.rail_tables import claims_on, rows_of

RACERS = 32
PRICE = 50_000


def usdc_of(payer: Payer) -> int:
    """Return what a payer on Algorand holds."""
    match: Any = payer.chain.client.account_asset_info(payer.address, USDC)
    return int(match["asset-holding"]["amount"])


def race(rails: Sequence[Rail], proof: object, tasks: Sequence[str]) -> list[httpx.Response]:
    """Present one proof at once, by turns at both doors: by REST, and to the tasks."""
    headers = {"X-PAYMENT": header(proof)}

    async def present() -> list[httpx.Response]:
        async with httpx.AsyncClient(trust_env=False, timeout=60, limits=httpx.Limits(max_connections=99)) as http:
            by_rest = [
                http.post(rails[n % len(rails)].url + COMPLIANCE, json=COMPLIANCE_BODY, headers=headers)
                for n in range(RACERS - len(tasks))
            ]
            by_message = [
                http.post(
                    rails[n % len(rails)].url + "/a2a", json=envelope("message/send", build_payment_params(task, proof))
                )
                for n, task in enumerate(tasks)
            ]
            return await asyncio.gather(*(one for pair in zip(by_rest, by_message, strict=True) for one in pair))

    return asyncio.run(present())


def receipts_of(answers: Sequence[httpx.Response]) -> list[str]:
    """Return the receipt in each answer that has one, by either door."""
    bodies = [answer.json() for answer in answers]
    served = [one for one in bodies if "payable_receipt" in one]
    served += [artifact(one["result"]) for one in bodies if "jsonrpc" in one and "result" in one]
    return [one["payable_receipt"] for one in served]


def test_racers_at_both_doors_are_one_execution(workers: list[Rail], payer: Payer) -> None:
    """32 at once, a task each at one door: one receipt for all, one price, and one of them was first."""
    tasks = [open_task(workers[n % 2])["id"] for n in range(RACERS // 2)]
    entry = workers[0].quote()
    before = usdc_of(payer)
    answers = race(workers, proof_of(payer.pay(entry), entry), tasks)

    assert {200} == {answer.status_code for answer in answers}
    assert len(receipts_of(answers)) == RACERS
    assert len(set(receipts_of(answers))) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1
    assert before - PRICE == usdc_of(payer)
    token = entry["extra"]["payment_reference"]
    assert [row.state for row in rows_of(workers[0]) if row.token == token] == [State.SPENT]


def test_racers_for_one_task_complete_it_once(workers: list[Rail], payer: Payer) -> None:
    """Half of them at one task over two workers: completed once, and every call at work on it gets that answer, too."""
    task = open_task(workers[0])
    entry = entry_of(task)
    answers = race(workers, proof_of(payer.pay(entry), entry), [task["id"]] * (RACERS // 2))
    by_message = [answer.json() for answer in answers if "jsonrpc" in answer.json()]

    assert len(set(receipts_of(answers))) == 1
    assert len({json.dumps(one["result"]) for one in by_message if "result" in one}) == 1
    # A later message gets the error that the task is over.
    assert {one["error"]["code"] for one in by_message if "error" in one} <= {-32602}
    assert {artifact(get(rail, task)).get("payable_receipt") for rail in workers} == set(receipts_of(answers))


def test_racers_on_base_are_charged_once(
    own_rail: Callable[..., Rail],
    base: SimulatedBase,
    base_payer: BasePayer,
    settler: Settler,
    on_base: dict[str, str],
) -> None:
    """The rail settles once, whichever door was first."""
    rail = own_rail(**on_base)
    tasks = [open_task(rail)["id"] for _ in range(RACERS // 2)]
    before = base_payer.usdc
    answers = race([rail], base_payer.authorize(rail.quote()), tasks)

    assert (len(receipts_of(answers)), len(set(receipts_of(answers)))) == (RACERS, 1)
    assert (before - PRICE, 1) == (base_payer.usdc, base.count_of(settler.address))


def test_a_task_is_of_every_worker(workers: list[Rail], payer: Payer) -> None:
    """Opened at one, read, paid and canceled at the other."""
    first, second = workers
    task, other = open_task(first), open_task(second)
    entry = entry_of(task)

    assert task == get(second, task)
    outcome = pay(second, task, proof_of(payer.pay(entry), entry))
    assert outcome == get(first, task)
    assert result(call(first, "tasks/cancel", {"id": other["id"]}))["status"]["state"] == "canceled"
    assert error(call(second, "message/send", {"message": message(ORDER, task=other["id"])}))["code"] == -32602


def test_a_crash_before_the_service_runs_ends_in_a_completed_task(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """SIGKILL when the payment is marked paid: the task is there, the same payment completes it, for one price."""
    ends_in_a_completed_task(own_rail, payer, "crash-after-paid", {})


def test_a_crash_between_ledger_and_task_ends_in_a_completed_task(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str]
) -> None:
    """Spent in the ledger, open as a task: on both databases the same payment completes it."""
    ends_in_a_completed_task(own_rail, payer, "crash-before-task", database)


def ends_in_a_completed_task(
    own_rail: Callable[..., Rail], payer: Payer, mutant: str, database: dict[str, str]
) -> None:
    """Pay a task of a rail that dies on it, start the rail again, and pay with the same proof."""
    rail = own_rail(mutant=mutant, WP_RAIL_LEASE_SECONDS="0.3", **database)
    task = open_task(rail)
    entry = entry_of(task)
    before = usdc_of(payer)
    proof = proof_of(payer.pay(entry), entry)
    with pytest.raises(httpx.TransportError):
        call(rail, "message/send", build_payment_params(task["id"], proof))
    assert rail.process.wait(120) == -signal.SIGKILL
    rail.start()

    assert task == get(rail, task)
    outcome = artifact(pay(rail, task, proof))

    assert outcome == rail.present(proof).json()
    assert before - PRICE == usdc_of(payer)
    [row] = rows_of(rail)
    assert (State.SPENT, outcome) == (row.state, json.loads(row.answer or b""))


def test_a_crash_after_the_task_is_completed_loses_nothing(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """SIGKILL before the answer is sent: the task returns it."""
    rail = own_rail(mutant="crash-after-task")
    task = open_task(rail)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)
    with pytest.raises(httpx.TransportError):
        call(rail, "message/send", build_payment_params(task["id"], proof))
    assert rail.process.wait(120) == -signal.SIGKILL
    rail.start()

    assert artifact(get(rail, task)) == rail.present(proof).json()


@pytest.mark.parametrize("lane", ["algorand", "eip155", "solana"])
def test_a_payment_begun_by_rest_ends_as_a_task(three_lanes: Rail, payments: Mapping[str, Paying], lane: str) -> None:
    """A client that hung up at one door is served at the other, on every lane."""
    rail = three_lanes
    task = open_task(rail)
    proof = payments[lane](entry_of(task, lane))
    with rail.present_and_hang_up(proof):
        until(lambda: claims_on(rail, token_of(proof)))

    outcome = until(lambda: _get_completed(rail, task, proof))

    assert outcome == rail.present(proof).json()


def token_of(proof: Mapping[str, Any]) -> str:
    """Return the challenge token of a proof, whichever lane it is of."""
    token: str = proof.get("payment_reference") or proof["challenge_token"]
    return token


def _get_completed(rail: Rail, task: Mapping[str, Any], proof: object) -> dict[str, Any] | None:
    outcome = pay(rail, task, proof)
    return artifact(outcome) if outcome["status"]["state"] == "completed" else None
