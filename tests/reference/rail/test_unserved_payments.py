"""`weldproof-rail payments` beside real processes: what was paid and not served is seen, served, or given back."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from reference.protocol.redemption import State
from tests import prepared
from tests.reference.rail.a2a.a2a_client import ERROR, RECEIPTS, STATUS, open_task, pay, status_metadata_of
from tests.reference.rail.base_stack import BasePayer, SimulatedBase, until
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import COMPLIANCE_BODY, Payer, Rail, proof_of
from tests.reference.rail.rail_tables import drop_claims, rows_of, settlements_of

GIVEN_BACK = "B" * 51 + "A"
EXPIRED = (402, "challenge_expired")


def payments(rail: Rail, *words: str) -> tuple[int, str, str]:
    """Run the command with a rail's settings and return its exit code and what it printed."""
    outcome = prepared.run("reference.rail", "payments", *words, env=rail.environment())
    return outcome.returncode, outcome.stdout, outcome.stderr


def begin_command(rail: Rail, *words: str, out: IO[str], err: IO[str]) -> prepared.Prepared | subprocess.Popen[bytes]:
    """Start the command, which writes into these files."""
    return prepared.start("reference.rail", "payments", *words, env=rail.environment(), stdout=out, stderr=err)


def list_payments(rail: Rail, *words: str) -> list[dict[str, Any]]:
    """Return what the command lists."""
    status, out, err = payments(rail, *words, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["more"] is False
    entries: list[dict[str, Any]] = document["payments"]
    return entries


def left_paid(make: Callable[..., Rail], payer: Payer, **settings: str) -> tuple[Rail, dict[str, str], str]:
    """Pay a rail that is killed between the payment and the answer; return it, dead, with proof and number."""
    rail = make(mutant="crash-after-paid", WP_RAIL_LEASE_SECONDS="0.5", **settings)
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    with pytest.raises(httpx.TransportError):
        rail.present(proof)
    assert rail.process.wait(120) == -signal.SIGKILL
    [listed_payments] = list_payments(rail)
    assert (listed_payments["state"], listed_payments["tx_id"], listed_payments["payer"]) == (
        "paid_unserved",
        proof["tx_id"],
        payer.address,
    )
    assert (listed_payments["service_id"], listed_payments["amount"], listed_payments["network"]) == (
        "compliance-receipt",
        "50000",
        "algorand_mainnet",
    )
    assert listed_payments["request_is_kept"]
    return rail, proof, listed_payments["id"]


def test_served_by_the_operator_while_no_worker_runs(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str]
) -> None:
    """The answer is printed, and the same proof gets it, byte for byte, when the rail is back."""
    rail, proof, number = left_paid(own_rail, payer, **database)
    status, listed_payments, _ = payments(rail)
    assert status == 0
    assert [line.split()[:3:2] for line in listed_payments.splitlines()[:2]] == [
        ["ID", "STATE"],
        [number, "paid_unserved"],
    ]
    assert proof["tx_id"] in listed_payments
    status, answer, _ = payments(rail, "serve", number)
    assert status == 0
    rail.start()
    reply = rail.present(proof)
    assert (reply.status_code, reply.headers["Idempotent-Replayed"]) == (200, "true")
    assert reply.text == answer.rstrip("\n")
    assert json.loads(answer)["request_hash"] == rows_of(rail)[0].request_hash
    assert list_payments(rail) == []
    for words in (("serve", number), ("refunded", number, "--transaction", GIVEN_BACK)):
        status, out, err = payments(rail, *words)
        assert (status, out) == (1, "")
        assert "it was served at" in err
    assert rail.present(proof).content == reply.content


def test_given_back_and_refused_at_every_door(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str]
) -> None:
    """409 `payment_refunded` by REST and by A2A, for good; the operator sees by what it was given back."""
    rail, proof, number = left_paid(own_rail, payer, **database)
    rail.start()
    assert payments(rail, "refunded", number, "--transaction", proof["tx_id"])[0] == 1
    assert payments(rail, "refunded", number, "--transaction", GIVEN_BACK)[0] == 0
    for _ in range(2):
        answer = rail.present(proof)
        assert code_of(answer) == (409, "payment_refunded")
        assert "PAYMENT-RESPONSE" not in answer.headers
    rail.stop()
    rail.start()
    assert code_of(rail.present(proof)) == (409, "payment_refunded")
    task = open_task(rail, {"service_id": "compliance-receipt", "request": COMPLIANCE_BODY})
    metadata = status_metadata_of(pay(rail, task, proof))
    assert (metadata[STATUS], metadata[ERROR]) == ("payment-failed", "DUPLICATE_NONCE")
    assert [listed_payments["errorReason"] for listed_payments in metadata[RECEIPTS]] == ["payment_refunded"]
    status, out, err = payments(rail, "serve", number)
    assert (status, out) == (1, "")
    assert f"given back by {GIVEN_BACK}" in err
    assert list_payments(rail) == []
    [listed_payments] = list_payments(rail, "--refunded")
    assert (listed_payments["id"], listed_payments["state"], listed_payments["refund_tx_id"]) == (
        number,
        "refunded",
        GIVEN_BACK,
    )
    [row] = rows_of(rail)
    assert (row.state, row.answer) == (State.REFUNDED, None)


@pytest.mark.parametrize("words", [("serve",), ("refunded", "--transaction", GIVEN_BACK)])
def test_a_payer_who_comes_while_the_operator_acts(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    """Two payers press on while the command starts, looks and writes: one outcome, the same for all from then on."""
    rail, proof, number = left_paid(own_rail, payer, **database)
    rail.start()
    with (tmp_path / "out").open("w") as output, (tmp_path / "err").open("w") as error_output:
        acting = begin_command(rail, words[0], number, *words[1:], out=output, err=error_output)
    time.sleep(random.uniform(0, 0.2))
    answers: list[httpx.Response] = []

    def press() -> None:
        while not any(one.status_code == 200 or one.json()["error"] == "payment_refunded" for one in answers[-1:]):
            answers.append(rail.present(proof))

    with ThreadPoolExecutor() as payers:
        for one in [payers.submit(press) for _ in range(2)]:
            one.result(120)
    acting.wait(120)
    out, err = ((tmp_path / name).read_text("utf-8") for name in ("out", "err"))
    last = rail.present(proof)
    bodies = {one.content for one in [*answers, last] if one.status_code == 200}
    refused = {code_of(one) for one in answers if one.status_code != 200}
    [row] = rows_of(rail)
    if acting.returncode == 0 and words[0] == "refunded":
        assert (bodies, code_of(last), row.state) == (set(), (409, "payment_refunded"), State.REFUNDED)
        return
    assert refused <= {(409, "payment_in_progress")}
    assert (bodies, row.state) == ({row.answer}, State.SPENT)
    assert out.rstrip("\n").encode() == row.answer if acting.returncode == 0 else "it was served at" in err


@pytest.mark.parametrize("words", [("serve",), ("refunded", "--transaction", GIVEN_BACK)])
def test_an_operator_that_is_killed_leaves_one_outcome(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str], words: tuple[str, ...], tmp_path: Path
) -> None:
    """Killed anywhere in the command: the payment is as before, served or given back, and the payer's call shows it."""
    rail, proof, number = left_paid(own_rail, payer, **database)
    with (tmp_path / "said").open("w") as output:
        acting = begin_command(rail, words[0], number, *words[1:], out=output, err=output)
    before = rows_of(rail)[0]
    while acting.poll() is None and (row := rows_of(rail)[0]).lease_counter == before.lease_counter:
        time.sleep(0.01)
    acting.kill()
    acting.wait(60)
    rail.start()
    deadline = time.monotonic() + 60
    answer = rail.present(proof)
    while answer.headers.get("Retry-After") and time.monotonic() < deadline:
        answer = rail.present(proof)
    [row] = rows_of(rail)
    if words[0] == "serve":
        assert (answer.status_code, row.state, row.answer) == (200, State.SPENT, answer.content)
    else:
        assert row.state is (State.SPENT if answer.status_code == 200 else State.REFUNDED)
        assert answer.status_code == 200 or code_of(answer) == (409, "payment_refunded")
    assert rail.present(proof).status_code == answer.status_code


def test_what_was_sent_on_base_is_listed_until_it_is_served(
    own_rail: Callable[..., Rail], on_base: dict[str, str], calm_base: SimulatedBase, base_payer: BasePayer
) -> None:
    """Its outcome is unknown, but its payer is known: later it is paid, without a call, and served by the operator."""
    rail = own_rail(**on_base | {"WP_RAIL_CONFIRM_WAIT": "0.2"})
    calm_base.control("fault", name="withhold", count=1000)  # what it sends again, too, however long this takes
    proof = base_payer.authorize(rail.quote())
    assert code_of(rail.present(proof)) == (402, "tx_not_confirmed")
    [listed_payments] = list_payments(rail)
    [settlements] = settlements_of(rail)
    assert (listed_payments["state"], listed_payments["tx_id"], listed_payments["payer"].lower()) == (
        "sent",
        settlements.hashes[0],
        base_payer.address.lower(),
    )
    assert (listed_payments["network"], listed_payments["amount"], listed_payments["request_is_kept"]) == (
        "base_mainnet",
        "50000",
        True,
    )
    for words in (("serve", listed_payments["id"]), ("refunded", listed_payments["id"], "--transaction", GIVEN_BACK)):
        assert payments(rail, *words)[0] == 1
    calm_base.calm()
    until(lambda: rows_of(rail)[0].paid_at)
    [paid] = list_payments(rail)
    assert (paid["id"], paid["state"]) == (listed_payments["id"], "paid_unserved")
    status, answer, err = payments(rail, "serve", listed_payments["id"])
    assert (status, err) == (0, "")
    assert rail.present(proof).text == answer.rstrip("\n")


def sent_without_a_claim(rail: Rail, chain: SimulatedBase, payer: BasePayer) -> dict[str, Any]:
    """Have a rail send what a payer authorized, into no block yet, and lose its claim; return the proof."""
    chain.control("fault", name="withhold", count=1000)
    proof = payer.authorize(rail.quote())
    assert code_of(rail.present(proof)) == (402, "tx_not_confirmed")
    rail.stop()
    drop_claims(rail)
    rail.start()
    [listed_payments] = list_payments(rail)
    assert (listed_payments["id"], listed_payments["state"]) == (None, "sent")
    return proof


@pytest.mark.parametrize("by_stranger", [False, True])
def test_money_that_moved_without_a_claim_is_given_back(
    own_rail: Callable[..., Rail],
    on_base: dict[str, str],
    calm_base: SimulatedBase,
    base_payer: BasePayer,
    database: dict[str, str],
    by_stranger: bool,
) -> None:
    """The rail's transaction moved it, or a stranger's did before; marked once, its proof is refused for good."""
    rail = own_rail(**on_base | database | {"WP_RAIL_CONFIRM_WAIT": "0.2"})
    proof = sent_without_a_claim(rail, calm_base, base_payer)
    calm_base.control("fault", name="withhold", count=0)
    if by_stranger:
        BasePayer(calm_base).use(proof)
    calm_base.control("release")
    [outcome] = until(
        lambda: [
            listed_payments for listed_payments in list_payments(rail) if listed_payments["state"] == "moved_unclaimed"
        ]
    )
    [settlements] = settlements_of(rail)
    assert (outcome["id"], outcome["tx_id"], outcome["payer"]) == (
        settlements.hashes[-1],
        settlements.hashes[-1],
        proof["authorization"]["from"].lower(),
    )
    for words in (
        ("refunded", outcome["id"], "--transaction", outcome["id"]),
        ("refunded", "0x00", "--transaction", GIVEN_BACK),
    ):
        assert payments(rail, *words)[0] == 1
    assert payments(rail, "refunded", outcome["id"], "--transaction", GIVEN_BACK)[0] == 0
    assert payments(rail, "refunded", outcome["id"], "--transaction", GIVEN_BACK)[0] == 1
    assert list_payments(rail) == []
    [listed_payments] = list_payments(rail, "--refunded")
    assert (listed_payments["state"], listed_payments["tx_id"], listed_payments["refund_tx_id"]) == (
        "refunded",
        outcome["id"],
        GIVEN_BACK,
    )
    assert (listed_payments["network"], listed_payments["amount"], listed_payments["payer"]) == (
        "base_mainnet",
        "50000",
        outcome["payer"],
    )
    for _ in range(2):
        assert code_of(rail.present(proof)) == (409, "payment_refunded")


def test_money_that_moved_without_a_claim_is_served_to_its_payer(
    own_rail: Callable[..., Rail], on_base: dict[str, str], calm_base: SimulatedBase, base_payer: BasePayer
) -> None:
    """Who comes in time is served as before, and then nothing is left to give back."""
    rail = own_rail(**on_base | {"WP_RAIL_CONFIRM_WAIT": "0.2"})
    proof = sent_without_a_claim(rail, calm_base, base_payer)
    calm_base.calm()
    [outcome] = until(lambda: [one for one in list_payments(rail) if one["state"] == "moved_unclaimed"])
    assert rail.present(proof).status_code == 200
    assert list_payments(rail) == []
    assert payments(rail, "refunded", outcome["id"], "--transaction", GIVEN_BACK)[0] == 1
    assert rail.present(proof).status_code == 200


def test_what_a_third_party_settled_for_a_challenge_that_is_over_is_listed(
    own_rail: Callable[..., Rail],
    on_base: dict[str, str],
    calm_base: SimulatedBase,
    base_payer: BasePayer,
    database: dict[str, str],
) -> None:
    """Presented after the lifetime it is refused, listed with its reason, and given back once."""
    rail = own_rail(**on_base | database)
    proof = base_payer.authorize(rail.quote())
    tx_id = BasePayer(calm_base, usdc=0).use(proof)
    authorization = base_payer.authorize(rail.quote())
    rail.set_clock(2000)
    assert until(lambda: (code := code_of(rail.present(proof))) != (402, "tx_not_confirmed") and code) == EXPIRED
    for late in (proof, authorization):
        assert code_of(rail.present(late)) == EXPIRED
    [listed_payments] = list_payments(rail)
    assert (listed_payments["id"], listed_payments["state"], listed_payments["refused_with"]) == (
        tx_id,
        "paid_refused",
        "challenge_expired",
    )
    assert (listed_payments["network"], listed_payments["amount"], listed_payments["payer"]) == (
        "base_mainnet",
        "50000",
        base_payer.address.lower(),
    )
    assert payments(rail, "refunded", tx_id, "--transaction", GIVEN_BACK)[0] == 0
    assert payments(rail, "refunded", tx_id, "--transaction", GIVEN_BACK)[0] == 1
    assert list_payments(rail) == []
    assert code_of(rail.present(proof)) == (409, "payment_refunded")


def test_without_a_ledger_or_a_database_nothing_is_made(own_rail: Callable[..., Rail]) -> None:
    """Exit code 2 and a line that names the setting."""
    rail = own_rail()
    rail.settings["WP_RAIL_DATA_DIR"] = str(rail.folder / "elsewhere")
    status, _, err = payments(rail)
    assert (status, err.split(":")[0]) == (2, "WP_RAIL_DATA_DIR")
    assert not (rail.folder / "elsewhere").exists()
    rail.settings["WP_RAIL_DB"] = "postgresql://localhost:1/nothing"
    status, _, err = payments(rail)
    assert (status, err.split(":")[0]) == (2, "WP_RAIL_DB")
    assert payments(rail, "refunded", "1")[0] == 2
