"""Paying a task on every lane, and what becomes of payments that buy nothing (P-RA-07 to P-RA-11)."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.reference.rail.a2a.a2a_client import (
    ERROR,
    ORDER,
    PAYLOAD,
    RECEIPTS,
    REQUIRED,
    STATUS,
    URI,
    artifact,
    build_payment_params,
    call,
    entry_of,
    error,
    get,
    message,
    open_task,
    pay,
    result,
    status_metadata_of,
)
from tests.reference.rail.a2a.conftest import Paying
from tests.reference.rail.base_stack import BasePayer, SimulatedBase
from tests.reference.rail.rail_answers import code_of
from tests.reference.rail.rail_stack import Payer, Rail, SimulatedChain, payload_of, proof_of

KEY = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
LANES = ["algorand", "eip155", "solana"]
OTHER = {"service_id": "compliance-receipt", "request": {**ORDER["request"], "recipient_address": "screen-block"}}


def check_refused(task: Mapping[str, Any], code: str, name: str) -> None:
    """Check a task whose payment was refused: open, with the reason by both names and a fresh challenge."""
    assert task["status"]["state"] == "input-required", task
    assert task["metadata"] == {"payment_state": "a2a-x402"}
    metadata = status_metadata_of(task)
    [receipt] = metadata[RECEIPTS]
    assert ("payment-failed", name) == (metadata[STATUS], metadata[ERROR])
    assert (False, code) == (receipt["success"], receipt["errorReason"])
    assert receipt["network"] in {entry["network"] for entry in metadata[REQUIRED]["accepts"]}


def check_undecided(task: Mapping[str, Any], seconds: int) -> None:
    """Check a task whose payment cannot be judged yet: the same payment again, and no other."""
    assert task["status"]["state"] == "input-required", task
    assert {"retry_after_seconds": seconds} == task["metadata"]
    assert status_metadata_of(task) == {STATUS: "payment-submitted"}


@pytest.mark.parametrize("lane", LANES)
def test_a_paid_task_is_completed(three_lanes: Rail, payments: Mapping[str, Paying], lane: str) -> None:
    """P-RA-08: one artifact with the body of the paid 200, a receipt by the extension, and the same by tasks/get."""
    rail = three_lanes
    task = open_task(rail)
    entry = entry_of(task, lane)
    proof = payments[lane](entry)

    outcome = pay(rail, task, proof)

    body = artifact(outcome)
    [receipt] = status_metadata_of(outcome)[RECEIPTS]
    assert {STATUS: "payment-completed", RECEIPTS: [receipt]} == status_metadata_of(outcome)
    assert ([URI], "metadata" in outcome) == (outcome["status"]["message"]["extensions"], False)
    assert (True, entry["network"], "50000") == tuple(receipt[name] for name in ("success", "network", "amount"))
    assert entry["extra"]["request_hash"] == body["request_hash"] == payload_of(body["payable_receipt"])["request_hash"]
    assert outcome == get(rail, task)

    by_rest = rail.present(proof)
    assert (200, "true", body) == (by_rest.status_code, by_rest.headers["Idempotent-Replayed"], by_rest.json())
    assert receipt == json.loads(base64.b64decode(by_rest.headers["PAYMENT-RESPONSE"]))


@pytest.mark.parametrize("lane", LANES)
def test_a_proof_whose_task_is_gone_is_redeemed_with_its_order(
    three_lanes: Rail, payments: Mapping[str, Paying], lane: str
) -> None:
    """P-RA-12: the order again as a data part, and no taskId; by REST it is the same payment."""
    rail = three_lanes
    proof = payments[lane](entry_of(open_task(rail), lane))
    payment_metadata = {STATUS: "payment-submitted", PAYLOAD: proof}
    of_another = result(call(rail, "message/send", {"message": message(OTHER, metadata=payment_metadata)}))
    check_refused(of_another, "request_mismatch", "SETTLEMENT_FAILED")

    outcome = result(call(rail, "message/send", {"message": message(ORDER, metadata=payment_metadata)}))

    later_task = artifact(outcome)
    assert outcome == get(rail, outcome)
    assert json.dumps(proof) not in json.dumps(outcome)
    again = call(rail, "message/send", {"message": message(ORDER, metadata=payment_metadata)})
    assert again.headers["Idempotent-Replayed"] == "true"
    assert later_task == artifact(result(again)) == rail.present(proof).json()
    assert error(call(rail, "message/send", {"message": message(metadata=payment_metadata)}))["code"] == -32001
    unknown = message(ORDER, task=str(uuid.uuid4()), metadata=payment_metadata)
    assert error(call(rail, "message/send", {"message": unknown}))["code"] == -32001
    rejected = message(ORDER, metadata={STATUS: "payment-rejected"})
    assert error(call(rail, "message/send", {"message": rejected}))["code"] == -32001


@pytest.mark.parametrize("lane", LANES)
def test_a_payment_used_by_rest_is_dead_here(three_lanes: Rail, payments: Mapping[str, Paying], lane: str) -> None:
    """P-RA-10: the stored answer for the same request, marked as such; DUPLICATE_NONCE for another."""
    rail = three_lanes
    document = rail.http.post("/pay/v1/compliance/receipt", json=ORDER["request"]).json()["accepts"]
    proof = payments[lane](next(one for one in document if one["network"].startswith(lane)))
    reply = rail.present(proof)
    assert reply.status_code == 200, reply.text

    check_refused(pay(rail, open_task(rail, OTHER), proof), "payment_already_spent", "DUPLICATE_NONCE")
    again = call(rail, "message/send", build_payment_params(open_task(rail)["id"], proof))

    assert again.headers["Idempotent-Replayed"] == "true"
    assert reply.json() == artifact(result(again))


@pytest.mark.parametrize("lane", LANES)
def test_a_payment_used_here_is_dead_by_rest(three_lanes: Rail, payments: Mapping[str, Paying], lane: str) -> None:
    """And dead in another task: what it bought first is all that it buys."""
    rail = three_lanes
    task = open_task(rail)
    proof = payments[lane](entry_of(task, lane))
    first = call(rail, "message/send", build_payment_params(task["id"], proof))
    outcome = artifact(result(first))

    answer = rail.present(proof, body=OTHER["request"])

    assert "Idempotent-Replayed" not in first.headers
    assert code_of(answer) == (409, "payment_already_spent")
    check_refused(pay(rail, open_task(rail, OTHER), proof), "payment_already_spent", "DUPLICATE_NONCE")
    assert outcome == artifact(pay(rail, open_task(rail), proof))


def test_a_payment_of_rest_s_challenge_pays_a_task(rail: Rail, payer: Payer) -> None:
    """The doors share their challenges, too: the equal request has one hash (P-RH-01)."""
    entry = rail.quote()

    assert (
        entry["extra"]["request_hash"]
        == artifact(pay(rail, open_task(rail), proof_of(payer.pay(entry), entry)))["request_hash"]
    )


def test_what_is_no_request_runs_the_example(rail: Rail, payer: Payer) -> None:
    """P-RA-05: a payment of a challenge over the example runs the example."""
    task = open_task(rail, {"service_id": "compliance-receipt", "request": {"recipient_address": 5}})
    entry = entry_of(task)

    body = artifact(pay(rail, task, proof_of(payer.pay(entry), entry)))

    assert ("ALLOW", entry["extra"]["request_hash"]) == (body["result"]["verdict"], body["request_hash"])


def test_a_payment_runs_what_the_task_was_opened_with(rail: Rail, payer: Payer) -> None:
    """A data part that comes with the payment orders nothing."""
    task = open_task(rail, OTHER)
    entry = entry_of(task)
    params = build_payment_params(task["id"], proof_of(payer.pay(entry), entry))
    params["message"]["parts"] = message(ORDER)["parts"]

    assert artifact(result(call(rail, "message/send", params)))["result"]["verdict"] == "DENY"


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (None, "invalid_payment_header"),
        ("e30=", "invalid_payment_header"),
        ({}, "invalid_payment_header"),
        ([], "invalid_payment_header"),
        ({"tx_id": 5, "payment_reference": "x"}, "invalid_payment_header"),
        ({"tx_id": "A" * 9000, "payment_reference": "x"}, "invalid_payment_header"),
        ({"tx_id": "A" * 52, "payment_reference": "x"}, "unknown_challenge"),
        ({"x402Version": 2, "payload": {}, "accepted": {}}, "payment_not_welded"),
        ({"scheme": "exact", "tx_id": "A" * 52, "payment_reference": "x"}, "payment_not_welded"),
    ],
)
def test_payloads_that_are_no_proof(rail: Rail, payload: Any, code: str) -> None:
    """P-RA-07: REST's codes, P-XP-01 and P-XP-03; the task stays open."""
    check_refused(pay(rail, open_task(rail), payload), code, "SETTLEMENT_FAILED")


def test_a_payload_in_base64_s_place_left_out(rail: Rail) -> None:
    """A payment without its payload is refused like an empty one."""
    task = open_task(rail)
    outcome = result(
        call(rail, "message/send", {"message": message(task=task["id"], metadata={STATUS: "payment-submitted"})})
    )

    check_refused(outcome, "invalid_payment_header", "SETTLEMENT_FAILED")


def test_refusals_on_algorand_by_name(rail: Rail, payer: Payer) -> None:
    """P-RA-09, and fresh tokens with each; the task is payable all the while."""
    task = open_task(rail)
    tokens = set()
    for changes, code, name in (
        ({"note": b"another note"}, "weld_mismatch", "INVALID_SIGNATURE"),
        ({"amount": 49_999}, "wrong_amount", "INVALID_AMOUNT"),
        ({"receiver": payer.address}, "wrong_recipient", "SETTLEMENT_FAILED"),
    ):
        entry = entry_of(task)
        tokens.add(entry["extra"]["payment_reference"])
        tx_id = payer.pay(entry, **changes)
        task = pay(rail, task, proof_of(tx_id, entry))
        check_refused(task, code, name)
        [receipt] = status_metadata_of(task)[RECEIPTS]
        assert (tx_id, entry["network"]) == (receipt["transaction"], receipt["network"])
    entry = entry_of(task)
    assert entry["extra"]["payment_reference"] not in tokens
    assert len(tokens) == 3
    artifact(pay(rail, task, proof_of(payer.pay(entry), entry)))


def test_refusals_on_base_by_name(three_lanes: Rail, base: SimulatedBase) -> None:
    """What needs no chain, and what the chain says."""
    rail, rich, poor = three_lanes, BasePayer(base), BasePayer(base, usdc=0)

    def proofs(entry: dict[str, Any]) -> dict[str, tuple[Any, str]]:
        good = rich.authorize(entry)
        return {
            "invalid_signature": ({**good, "signature": poor.authorize(entry)["signature"]}, "INVALID_SIGNATURE"),
            "authorization_expired": (rich.authorize(entry, validBefore=1), "EXPIRED_PAYMENT"),
            "wrong_amount": (rich.authorize(entry, value=49_999), "INVALID_AMOUNT"),
            "insufficient_funds": (poor.authorize(entry), "INSUFFICIENT_FUNDS"),
            "lane_mismatch": ({**good, "network": "eip155:1"}, "NETWORK_MISMATCH"),
        }

    for code in proofs(entry_of(open_task(rail), "eip155")):
        task = open_task(rail)
        proof, name = proofs(entry_of(task, "eip155"))[code]
        check_refused(pay(rail, task, proof), code, name)


def test_numbers_may_come_as_floats(three_lanes: Rail, base: SimulatedBase) -> None:
    """Clients that speak protobuf write 5 as 5.0: the same request, the same hash, the same payment."""
    rail = three_lanes
    request = {
        "method": "GET",
        "authority": "example.com",
        "path": "/",
        "headers": {},
        "public_key_hex": KEY,
        "now": 1000,
    }
    by_rest = rail.http.post("/pay/v1/verify/rfc9421", json=request).json()["accepts"][0]["extra"]["request_hash"]
    task = open_task(rail, {"service_id": "rfc9421-verify", "request": {**request, "now": 1000.0}})
    entry = entry_of(task, "eip155")
    proof = BasePayer(base).authorize(entry)
    floats = {name: float(proof["authorization"][name]) for name in ("value", "validAfter", "validBefore")}
    proof["authorization"] |= floats

    body = artifact(pay(rail, task, proof))

    assert by_rest == entry["extra"]["request_hash"] == body["request_hash"]
    assert "missing_signature_input" in body["result"]["error_codes"]


def test_an_expired_challenge_is_refused_by_its_name(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """EXPIRED_PAYMENT; and the task, which is younger than a day, is payable again."""
    rail = own_rail()
    task = open_task(rail)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)
    rail.set_clock(1861)
    check_refused(pay(rail, task, proof), "challenge_expired", "EXPIRED_PAYMENT")


def test_a_payment_for_another_request_is_refused(rail: Rail, payer: Payer) -> None:
    """Half B holds at this door, too; the task that it was made for takes it."""
    task, other = open_task(rail), open_task(rail, OTHER)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)

    check_refused(pay(rail, other, proof), "request_mismatch", "SETTLEMENT_FAILED")
    artifact(pay(rail, task, proof))


def test_what_cannot_be_judged_yet_is_sent_again(
    own_rail: Callable[..., Rail], payer: Payer, calm_chain: SimulatedChain
) -> None:
    """P-RA-08: not found, not confirmed, chain away: the same payment again, until it is served."""
    rail = own_rail(WP_RAIL_CONFIRM_WAIT="0")
    task = open_task(rail)
    entry = entry_of(task)
    check_undecided(pay(rail, task, proof_of("A" * 52, entry)), 2)
    calm_chain.control("fault", name="withhold", count=1)
    note, amount = entry["extra"]["payment_reference"].encode(), int(entry["amount"])
    proof = proof_of(payer.transfer(receiver=entry["payTo"], amount=amount, note=note, wait=False), entry)
    check_undecided(pay(rail, task, proof), 2)
    check_undecided(get(rail, task), 2)
    calm_chain.control("release")
    calm_chain.control("advance", blocks=1)
    calm_chain.control("fault", name="unavailable", count=1000)
    check_undecided(pay(rail, task, proof), 5)
    calm_chain.calm()
    artifact(pay(rail, task, proof))


def test_a_client_that_does_not_pay_ends_the_task(rail: Rail, payer: Payer) -> None:
    """payment-rejected: failed, for good; its challenge stays valid."""
    task = open_task(rail)
    entry = entry_of(task)
    outcome = result(
        call(rail, "message/send", {"message": message(task=task["id"], metadata={STATUS: "payment-rejected"})})
    )

    assert (outcome["status"]["state"], status_metadata_of(outcome)) == ("failed", {STATUS: "payment-rejected"})
    assert "metadata" not in outcome
    assert error(call(rail, "message/send", build_payment_params(task["id"], {})))["code"] == -32602
    assert error(call(rail, "tasks/cancel", {"id": task["id"]}))["code"] == -32002
    artifact(pay(rail, open_task(rail), proof_of(payer.pay(entry), entry)))


def test_a_canceled_task_s_challenge_stays_redeemable(rail: Rail, payer: Payer) -> None:
    """P-RA-11: canceled once; the payment is served by REST and by another task, not by the canceled one."""
    task = open_task(rail)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)
    outcome = result(call(rail, "tasks/cancel", {"id": task["id"]}))

    assert ("canceled", outcome) == (outcome["status"]["state"], get(rail, task))
    assert error(call(rail, "message/send", build_payment_params(task["id"], proof)))["code"] == -32602
    assert error(call(rail, "tasks/cancel", {"id": task["id"]}))["code"] == -32002
    assert rail.present(proof).json() == artifact(pay(rail, open_task(rail), proof))


def test_a_completed_task_takes_nothing_more(rail: Rail, payer: Payer) -> None:
    """Neither a message nor a cancellation."""
    task = open_task(rail)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)
    artifact(pay(rail, task, proof))

    assert error(call(rail, "message/send", build_payment_params(task["id"], proof)))["code"] == -32602
    assert error(call(rail, "tasks/cancel", {"id": task["id"]}))["code"] == -32002


def test_a_payload_is_never_told_again(rail: Rail, payer: Payer) -> None:
    """P-CV-12: the history has the message that paid, without the credential in it."""
    task = open_task(rail)
    entry = entry_of(task)
    proof = proof_of(payer.pay(entry), entry)
    for payload in ({"tx_id": "A" * 52, "payment_reference": "kept-secret"}, proof):
        sent = build_payment_params(task["id"], payload)
        sent["message"]["metadata"]["mine"] = "kept"
        task = result(call(rail, "message/send", sent))
    paid = [one["metadata"] for one in task["history"] if one["role"] == "user" and "metadata" in one]

    assert paid == [{STATUS: "payment-submitted", "mine": "kept"}] * 2
    assert PAYLOAD not in json.dumps(task)
    assert "kept-secret" not in rail.log()


def test_an_x_payment_header_means_nothing_here(rail: Rail, payer: Payer) -> None:
    """The payment is the message's: a header neither pays nor hinders."""
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    headers = {"X-PAYMENT": base64.b64encode(json.dumps(proof).encode()).decode()}
    task = result(call(rail, "message/send", {"message": message(ORDER)}, headers=headers))

    assert status_metadata_of(task)[STATUS] == "payment-required"
    assert rail.present(proof).status_code == 200
