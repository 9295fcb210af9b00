"""A rail that is ended while its node is slow: every call gets an answer of the specified form, no payment is lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from tests.reference.rail.a2a.a2a_client import build_payment_params, entry_of, envelope, open_task
from tests.reference.rail.base_stack import PRICE, BasePayer, Settler, SimulatedBase, base_settings, until
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain, header, proof_of
from tests.reference.rail.rail_tables import rows_of
from tests.reference.stalling_node import StallingNode, stalling_node

PAID = 5
UNPAID = 4
SERVERS = pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])


def answer_of(rail: Rail, headers: dict[str, str]) -> httpx.Response | None:
    """Return the answer to one call on a connection of its own, None where the connection was refused or ended."""
    with httpx.Client(base_url=rail.url, trust_env=False, timeout=60) as http:
        try:
            return http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers=headers)
        except httpx.TransportError:
            return None


def check_specified(answer: httpx.Response) -> None:
    """Check that an answer is a 402, or the 503 of a service that ends."""
    assert answer.status_code in {402, 503}, answer.text
    assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["X-Request-Id"])
    if answer.status_code == 503:
        assert answer.headers["Content-Type"] == "application/json"
        assert int(answer.headers["Retry-After"]) >= 1
        body = answer.json()
        assert (body["error"], body["request_id"]) == ("shutting_down", answer.headers["X-Request-Id"])
        assert body["message"]


@SERVERS
def test_calls_that_wait_for_a_slow_node_are_told_when_to_come_again(
    chain: SimulatedChain, pay_to: str, payer: Payer, tmp_path: Path, server: str
) -> None:
    """Each paid call gets 503 with a body, others 402 or 503; after the restart the same proofs are served, once."""
    with stalling_node(chain.algod) as node:
        settings = {"WP_SERVER": server, "WP_NODE_ALGORAND_MAINNET": node.url}
        rail = Rail(chain, tmp_path / "rail", pay_to, settings).start()
        try:
            proofs = [proof_of(payer.pay(entry), entry) for entry in [rail.quote() for _ in range(PAID)]]
            reply, unpaid = answers_over_a_restart(rail, node, proofs)

            assert [answer.status_code for answer in reply if answer is not None] == [503] * PAID
            for answer in [*reply, *unpaid]:
                if answer is not None:
                    check_specified(answer)
            served = [rail.present(proof) for proof in proofs]
            assert [(one.status_code, "Idempotent-Replayed" in one.headers) for one in served] == [(200, False)] * PAID
            assert [rail.present(proof).content for proof in proofs] == [one.content for one in served]
            assert "unplanned_fault" not in rail.log()
        finally:
            node.flowing.set()
            rail.close()


def answers_over_a_restart(
    rail: Rail, node: StallingNode, proofs: Sequence[Any]
) -> tuple[list[httpx.Response | None], list[httpx.Response | None]]:
    """Return the answers to calls with proofs that the node holds up, and to unpaid ones that go on meanwhile."""
    is_back = threading.Event()

    def unpaid() -> list[httpx.Response | None]:
        matches = []
        while not is_back.is_set():
            matches.append(answer_of(rail, {}))
        return matches

    node.stall()
    with ThreadPoolExecutor(PAID + UNPAID) as pool:
        try:
            paid = [pool.submit(answer_of, rail, {"X-PAYMENT": header(proof)}) for proof in proofs]
            until(lambda: node.held >= len(proofs))
            others = [pool.submit(unpaid) for _ in range(UNPAID)]
            rail.stop()
            node.flowing.set()
            rail.start()  # calls that came in between wait at the socket, which is open all the time
        finally:
            is_back.set()
        return [one.result() for one in paid], [answer for one in others for answer in one.result()]


def test_what_was_under_way_is_kept_and_free(chain: SimulatedChain, pay_to: str, payer: Payer, tmp_path: Path) -> None:
    """The claim of an interrupted call does not lapse, and no lease of the process that is gone holds it."""
    with stalling_node(chain.algod) as node:
        rail = Rail(chain, tmp_path / "rail", pay_to, {"WP_NODE_ALGORAND_MAINNET": node.url}).start()
        try:
            entry = rail.quote()
            proof = proof_of(payer.pay(entry), entry)
            node.stall()
            with rail.present_and_hang_up(proof):
                until(lambda: node.held >= 1)
                rail.stop()
            (row,) = rows_of(rail)
            assert (row.lease, row.is_kept) == (None, True)
        finally:
            node.flowing.set()
            rail.close()


def test_a_settlement_that_the_end_interrupts_charges_once(
    chain: SimulatedChain, base: SimulatedBase, base_payer: BasePayer, settler: Settler, tmp_path: Path
) -> None:
    """On Base the rail sends the payment itself: 503 at the end, one transfer and one receipt after the restart."""
    with stalling_node(base.rpc) as node:
        settings = base_settings(base, settler, Account.create().address) | {"WP_NODE_BASE_MAINNET": node.url}
        rail = Rail(chain, tmp_path / "rail", "", settings).start()
        try:
            proof, before = base_payer.authorize(rail.quote()), base_payer.usdc
            (answer,), _ = answers_over_a_restart(rail, node, [proof])
            assert answer is not None
            check_specified(answer)
            assert answer.status_code == 503
            outcome = until(lambda: get_paid_answer(rail, proof))
            assert rail.present(proof).content == outcome.content
            assert before - base_payer.usdc == PRICE
        finally:
            node.flowing.set()
            rail.close()


def get_paid_answer(rail: Rail, proof: Any) -> httpx.Response | None:
    """Return the paid answer to a proof, None while its payment is under way."""
    answer = rail.present(proof)
    assert answer.status_code in {200, 402, 409}, answer.text
    assert answer.status_code != 402 or answer.json()["error"] == "tx_not_confirmed"
    return answer if answer.status_code == 200 else None


def test_a_payment_over_a2a_that_the_end_interrupts_is_served_after_it(
    chain: SimulatedChain, pay_to: str, payer: Payer, tmp_path: Path
) -> None:
    """The task stays open: the same message completes it."""
    with stalling_node(chain.algod) as node:
        rail = Rail(chain, tmp_path / "rail", pay_to, {"WP_NODE_ALGORAND_MAINNET": node.url}).start()
        try:
            task = open_task(rail)
            entry = entry_of(task)
            outcome = envelope("message/send", build_payment_params(task["id"], proof_of(payer.pay(entry), entry)))
            node.stall()
            with ThreadPoolExecutor(1) as pool:
                call = pool.submit(httpx.post, f"{rail.url}/a2a", json=outcome, trust_env=False, timeout=60)
                until(lambda: node.held >= 1)
                rail.stop()
                check_specified(call.result())
            node.flowing.set()
            rail.start()
            answer = rail.http.post("/a2a", json=outcome)
            assert answer.json()["result"]["status"]["state"] == "completed", answer.text
        finally:
            node.flowing.set()
            rail.close()
