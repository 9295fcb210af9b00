"""A service that is switched off takes no new payment, and keeps its word to everybody who paid before (P-ST-04)."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.rail.a2a.a2a_client import artifact, build_payment_params, entry_of, envelope, open_task, pay
from tests.reference.rail.rail_answers import refused_otherwise
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, RECEIPT, RECEIPT_BODY, Payer, Rail, proof_of

OFF = {"WP_RAIL_DISABLED_SERVICES": "compliance-receipt"}


def test_what_was_sold_before_is_given_after(
    own_rail: Callable[..., Rail], payer: Payer, database: dict[str, str]
) -> None:
    """The stored answer byte for byte; a payment on an earlier quote its answer; a call without payment, 503."""
    rail = own_rail(**database)
    second_entry, late = rail.quote(), rail.quote()
    proof = proof_of(payer.pay(second_entry), second_entry)
    reply = rail.present(proof)
    rail.stop()
    rail.settings |= OFF
    rail.start()
    again = rail.present(proof)
    assert (again.status_code, again.content) == (200, reply.content), again.text
    assert again.headers["Idempotent-Replayed"] == "true"
    task = rail.present(proof_of(payer.pay(late), late))
    assert task.status_code == 200, task.text
    for method in ("GET", "POST"):
        refused_otherwise(rail.http.request(method, COMPLIANCE, json=COMPLIANCE_BODY), 503, "service_disabled")
    assert rail.http.post(RECEIPT, json=RECEIPT_BODY).status_code == 402


def test_a_refused_proof_is_not_quoted_anew(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """A 402 would carry tokens of a service that is not sold: 503, with the wait of the refusal, and no `accepts`."""
    rail = own_rail()
    entry, second_entry = rail.quote(), rail.quote()
    rail.stop()
    rail.settings |= OFF
    rail.start()
    unknown = rail.present(proof_of("A" * 52, entry))
    refused_otherwise(unknown, 503, "service_disabled")
    assert (unknown.headers["Retry-After"], "tx_not_found" in unknown.json()["message"]) == ("2", True)
    wrong = rail.present(proof_of(payer.pay(second_entry), entry))
    refused_otherwise(wrong, 503, "service_disabled")
    assert (wrong.headers["Retry-After"], "weld_mismatch" in wrong.json()["message"]) == ("60", True)
    assert rail.present(proof_of(payer.pay(entry), entry)).status_code == 200


def test_the_a2a_door_keeps_the_same_word(own_rail: Callable[..., Rail], payer: Payer) -> None:
    """A task that was quoted before is paid and completed; a proof that buys nothing is not answered by a new quote."""
    rail = own_rail()
    paid, unpaid = open_task(rail), open_task(rail)
    rail.stop()
    rail.settings |= OFF
    rail.start()
    entry = entry_of(paid)
    outcome = artifact(pay(rail, paid, proof_of(payer.pay(entry), entry)))
    assert outcome["service_id"] == "compliance-receipt"
    stray = proof_of(payer.pay(entry), entry_of(unpaid))
    answer = rail.http.post("/a2a", json=envelope("message/send", build_payment_params(unpaid["id"], stray)))
    assert (answer.status_code, answer.json()["error"]) == (503, "service_disabled"), answer.text
