"""Many at once, one worker or two, on both databases: one execution a payment (P-ST-05, P-ST-08)."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.reference.rail.base_stack import until
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import (
    COMPLIANCE,
    COMPLIANCE_BODY,
    Payer,
    Rail,
    SimulatedChain,
    header,
    proof_of,
)
from tests.reference.rail.rail_tables import claims_on

AT_ONCE = 50
# A call that joins another or waits for a block gets its answer, however busy the machine is.
PATIENT = {"WP_RAIL_JOIN_WAIT": "50", "WP_RAIL_CONFIRM_WAIT": "50"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def workers(request: pytest.FixtureRequest, own_rail: Callable[..., Rail]) -> list[Rail]:
    """Two workers of one rail: the same database, secrets and public address."""
    environment = {} if request.param == "sqlite" else {"WP_RAIL_DB": request.getfixturevalue("postgres_database")}
    first = own_rail(**PATIENT, **environment)
    shared = {"WP_RAIL_DATA_DIR": str(first.folder / "data"), "WP_RAIL_PUBLIC_URL": first.public_url, **first.settings}
    return [first, own_rail(**shared)]


def present_all(rails: Sequence[Rail], proof: object, bodies: Sequence[Any], at_once: int) -> list[httpx.Response]:
    """Present one proof many times at once, round the rails and bodies."""

    async def present() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=at_once)
        async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as http:
            calls = [
                http.post(
                    rails[n % len(rails)].url + COMPLIANCE,
                    json=bodies[n % len(bodies)],
                    headers={"X-PAYMENT": header(proof)},
                )
                for n in range(at_once)
            ]
            return await asyncio.gather(*calls)

    return asyncio.run(present())


def test_many_identical_proofs_are_one_execution(workers: list[Rail], payer: Payer) -> None:
    """Fifty calls over two workers: everybody gets the same receipt, one of them first."""
    entry = workers[0].quote()
    answers = present_all(workers, proof_of(payer.pay(entry), entry), [COMPLIANCE_BODY], AT_ONCE)
    assert Counter({200: AT_ONCE}) == Counter(answer.status_code for answer in answers)
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in answers) == 1


def test_many_requests_with_one_proof_are_one_execution(workers: list[Rail], payer: Payer) -> None:
    """Half of the calls ask for something else: they get nothing, the other half one receipt."""
    entry = workers[0].quote()
    other_request = {**COMPLIANCE_BODY, "recipient_address": "screen-block"}
    answers = present_all(
        workers, proof_of(payer.pay(entry), entry), [COMPLIANCE_BODY, COMPLIANCE_BODY, other_request], 30
    )
    served = [answer for answer in answers if answer.status_code == 200]
    assert len({answer.content for answer in served}) == 1
    assert len(served) == 20
    assert {code_of(answer) for answer in answers if answer.status_code != 200} <= {
        (402, "request_mismatch"),
        (409, "payment_already_spent"),
    }


def test_many_payments_of_one_token_buy_one_call(workers: list[Rail], payer: Payer) -> None:
    """P-ST-09: of several payments for one token, presented at once, one is served."""
    entry = workers[0].quote()
    proofs = [proof_of(payer.pay(entry, amount=50_000 + n), entry) for n in range(4)]
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda pair: pair[0].present(pair[1]), zip(workers * 2, proofs, strict=True)))
    assert Counter({(409, "payment_already_spent"): 3}) == Counter(
        code_of(answer) for answer in answers if answer.status_code != 200
    )


def test_a_failed_attempt_answers_all_who_waited(rail: Rail, payer: Payer) -> None:
    """Waiters get what the worker got: the same refusal, each with fresh tokens of its own."""
    entry = rail.quote()
    answers = present_all([rail], proof_of(payer.pay(entry, amount=1), entry), [COMPLIANCE_BODY], 20)
    assert {(402, "wrong_amount")} == {code_of(answer) for answer in answers}
    tokens = {answer.json()["accepts"][0]["extra"]["payment_reference"] for answer in answers}
    assert len(tokens) == 20


def test_strangers_cannot_lock_the_owner_out(rail: Rail, payer: Payer) -> None:
    """P-ST-08: a dozen claims on the owner's token, and claims of the payment under other tokens, do not hinder it."""
    entry = rail.quote()
    unknown = ["".join(letters) + "A" * 50 for letters in zip("ABCDEFGHIJKL", "MNOPQRSTUVWX", strict=True)]
    for tx_id in unknown:
        assert code_of(rail.present(proof_of(tx_id, entry))) == (402, "tx_not_found")
    tx_id = payer.pay(entry)
    for _ in range(3):
        stranger = rail.quote()
        assert code_of(rail.present(proof_of(tx_id, stranger))) == (402, "weld_mismatch")
    assert rail.present(proof_of(tx_id, entry)).status_code == 200


def test_a_client_that_hangs_up_loses_nothing(
    own_rail: Callable[..., Rail], payer: Payer, calm_chain: SimulatedChain
) -> None:
    """The work goes on without its client; the same proof gets what it made."""
    rail = own_rail(**PATIENT)
    calm_chain.control("fault", name="withhold", count=1)
    entry = rail.quote()
    note, amount = entry["extra"]["payment_reference"].encode(), int(entry["amount"])
    tx_id = payer.transfer(receiver=entry["payTo"], amount=amount, note=note, wait=False)
    proof = proof_of(tx_id, entry)
    with rail.present_and_hang_up(proof):
        until(lambda: claims_on(rail, proof["payment_reference"]))
    calm_chain.control("release")
    started_at = time.monotonic()
    answer = rail.present(proof)
    assert (answer.status_code, answer.headers.get("Idempotent-Replayed")) == (200, "true")
    assert time.monotonic() - started_at < 20


def test_a_pending_claim_outlives_its_challenge(
    own_rail: Callable[..., Rail], payer: Payer, calm_chain: SimulatedChain
) -> None:
    """P-ST-01: presented in time, confirmed late: served; and after the settle window the claim is gone."""
    rail = own_rail(WP_CHALLENGE_TTL="1000", WP_RAIL_CONFIRM_WAIT="0", WP_RAIL_SETTLE_WINDOW="1000")
    calm_chain.control("fault", name="withhold", count=2)
    entries = [rail.quote(), rail.quote()]
    proofs = []
    for entry in entries:
        note, amount = entry["extra"]["payment_reference"].encode(), int(entry["amount"])
        tx_id = payer.transfer(receiver=entry["payTo"], amount=amount, note=note, wait=False)
        proofs.append(proof_of(tx_id, entry))
        assert code_of(rail.present(proofs[-1])) == (402, "tx_not_confirmed")
    rail.set_clock(1500)
    assert code_of(rail.present(proofs[0])) == (402, "tx_not_confirmed")
    calm_chain.control("release")
    calm_chain.control("advance", blocks=1)
    assert rail.present(proofs[0]).status_code == 200
    rail.set_clock(2600)
    assert code_of(rail.present(proofs[1])) == (402, "challenge_expired")
