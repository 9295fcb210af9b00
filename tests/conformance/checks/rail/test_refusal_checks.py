"""What the checks of refused and of paid calls make of honest and of faulty rails."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from conformance import target
from conformance.assertions.rail.recovery_after_refusal import judge_fresh_terms
from conformance.checks.rail.algorand.paid_calls import SPELLINGS, spell_proof
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client, Counter, Names
from conformance.log.events import EventLog
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PATHS, PROFILE, Call, Payer, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

UNKNOWN = "unknown_transaction"
OTHER_TARGET = PROFILE.replace('"reference"', '"none"')
PAID_CHECK = "welded_algorand_payment_is_served"


def refusals(reply: Reply, **members: Any) -> Rail:
    """Return a rail that answers a proof it does not take in another way; what it owes it serves."""

    def change_reply(call: Call, honest: Reply) -> Reply:
        if call.proof is None or honest.status == 200:
            return honest
        return Reply(reply.status, {**(reply.document or honest.document), **members}, reply.headers)

    return Rail(change_reply)


async def test_a_refusal_passes_when_the_control_is_served() -> None:
    """An honest rail serves the honest payment and refuses the invented ones."""
    rail = Rail()
    assert await run_check(UNKNOWN, rail) == {"RAIL-PAY-06": Verdict.PASS}
    assert len([call for call in rail.calls if call.proof]) == 3 * (1 + 3)


@pytest.mark.parametrize("status", [400, 402, 404, 409, 422, 503])
async def test_any_refusal_will_do(status: int) -> None:
    """The row asks that nothing is redeemed; which refusal it is, others judge."""
    rail = refusals(Reply(status, {"error": "tx_not_found"}))
    assert await run_check(UNKNOWN, rail) == {"RAIL-PAY-06": Verdict.PASS}


async def test_a_503_that_nobody_made_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes, and the report notes it; a 402 needs no note."""
    notes: list[str] = []
    monkeypatch.setattr(Case, "note", lambda _, text: notes.append(text))
    assert await run_check(UNKNOWN, refusals(Reply(402, {"error": "tx_not_found"}))) == {"RAIL-PAY-06": Verdict.PASS}
    assert notes == []
    assert await run_check(UNKNOWN, refusals(Reply(503, {"error": "x"}))) == {"RAIL-PAY-06": Verdict.PASS}
    assert notes
    assert all("answered 503, although its node is available" in text for text in notes)


@pytest.mark.parametrize("status", [200, 201, 202, 206])
async def test_any_success_is_a_breach(status: int) -> None:
    """A rail that serves with another success than 200 serves all the same."""
    assert find_broken_rows(await run_check(UNKNOWN, refusals(Reply(status, {"ok": True})))) == {"RAIL-PAY-06"}


@pytest.mark.parametrize("members", [{"result": {"verdict": "ALLOW"}}, {"payable_receipt": None}])
async def test_a_refusal_that_hands_the_goods_over_is_a_breach(members: dict[str, Any]) -> None:
    """A result or a payable receipt in a 402 was bought by that proof."""
    if "payable_receipt" in members:
        members = {"payable_receipt": Rail().sign({"kind": "weldproof/payable-svc-receipt/1"})}
    assert find_broken_rows(await run_check(UNKNOWN, refusals(Reply(402, None), **members))) == {"RAIL-PAY-06"}


@pytest.mark.parametrize("status", [500, 502])
async def test_a_server_error_decides_nothing(status: int) -> None:
    """Who breaks has not refused."""
    assert await run_check(UNKNOWN, refusals(Reply(status, {"error": "x"}))) == {"RAIL-PAY-06": Verdict.INCONCLUSIVE}


async def test_a_rail_that_refuses_everything_gets_no_pass() -> None:
    """Without a control that is served, no refusal means anything."""
    rail = Rail(lambda call, reply: rail.challenge(call) if call.proof else reply)
    assert await run_check(UNKNOWN, rail) == {"RAIL-PAY-06": Verdict.INCONCLUSIVE}


async def test_an_honest_sale_breaks_no_row() -> None:
    """Every row of the paid call passes."""
    verdicts = await run_check(PAID_CHECK, Rail())
    assert verdicts == dict.fromkeys(("RAIL-PAY-01", "RAIL-PAY-02", "RAIL-PAY-05", "RAIL-PAY-16"), Verdict.PASS)


@pytest.mark.parametrize("defaults", ["reference", "none"])
async def test_a_sale_without_a_receipt_is_a_breach(defaults: str) -> None:
    """No token at the bound place, nor anywhere where no place is bound."""

    def bare(_: Call, reply: Reply) -> Reply:
        if reply.status == 200:
            for name in ("payable_receipt", "compliance_receipt"):
                reply.document.pop(name, None)
        return reply

    profile = PROFILE.replace('"reference"', f'"{defaults}"')
    assert find_broken_rows(await run_check(PAID_CHECK, Rail(bare), profile)) == {"RAIL-PAY-05"}


async def test_a_token_of_a_stranger_is_no_receipt() -> None:
    """Where no place is bound, only what the rail's own key signed counts."""

    def strange(_: Call, reply: Reply) -> Reply:
        if "payable_receipt" in reply.document:
            token = reply.document["payable_receipt"]
            reply.document |= {"payable_receipt": token[:-4] + "AAAA", "compliance_receipt": ""}
        return reply

    profile = PROFILE.replace('"reference"', '"none"')
    assert find_broken_rows(await run_check(PAID_CHECK, Rail(strange), profile)) == {"RAIL-PAY-05"}


async def test_leave_for_shared_caches_is_told() -> None:
    """A paid answer that a shared cache may keep warns."""
    rail = Rail(lambda _, reply: Reply(reply.status, reply.document, {"Cache-Control": "max-age=60"}))
    assert find_broken_rows(await run_check(PAID_CHECK, rail)) == {"RAIL-PAY-16"}


@pytest.mark.parametrize("what", SPELLINGS)
def test_a_spelling_is_the_same_proof(what: str) -> None:
    """Whatever the spelling, a JSON reader reads the same members."""
    proof = {"tx_id": "A" * 52, "payment_reference": "1:2:3"}
    assert json.loads(spell_proof(proof, what)) == proof
    assert len({spell_proof(proof, one) for one in SPELLINGS}) == len(SPELLINGS)


async def test_a_rail_that_matches_text_instead_of_reading_json_is_seen() -> None:
    """A proof whose members come in the other order is the same proof."""

    def textual(call: Call, reply: Reply) -> Reply:
        if isinstance(call.proof, dict) and next(iter(call.proof)) != "tx_id":
            return Reply(402, {"accepts": []})
        return reply

    assert find_broken_rows(await run_check("proof_is_read_as_json", Rail(textual))) == {"RAIL-PAY-01"}
    assert find_broken_rows(await run_check("proof_is_read_as_json", Rail())) == set()


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("request and payment", set()),
        ("payment", {"RAIL-WELD-08", "RAIL-WELD-09"}),
        ("request", {"RAIL-WELD-15"}),
        ("request, or another payment", {"RAIL-WELD-15"}),
    ],
)
async def test_the_stored_answer_is_for_what_was_paid(
    bound: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rail that serves any client that names the payment, or the token, warns by the row of the omission."""
    sales: dict[str, tuple[str, str, Reply]] = {}

    def change_reply(call: Call, honest: Reply) -> Reply:
        if not call.proof or "tx_id" not in call.proof or call.path not in PATHS:
            return honest
        tx_id, token, request = call.proof["tx_id"], call.proof.get("payment_reference"), f"{call.path} {call.body!r}"
        if honest.status == 200 and token not in sales and all(paid != tx_id for paid, *_ in sales.values()):
            sales[token] = (tx_id, request, honest)
        if token not in sales:
            return rail.challenge(call)
        paid, asked, reply = sales[token]
        elsewhere = any(other == tx_id for one, (other, *_) in sales.items() if one != token)
        right = {
            "request": asked == request,
            "request, or another payment": asked == request and not elsewhere,
            "payment": paid == tx_id,
        }
        return reply if right.get(bound, paid == tx_id and asked == request) else rail.challenge(call)

    monkeypatch.setattr(Rail, "request_hash", staticmethod(lambda _: f"sha256:{'0' * 64}"))
    rail = Rail(change_reply)
    found = await run_check("captured_proof_buys_nothing_else", rail)
    assert find_broken_rows(found) == expected
    assert Verdict.FAIL not in found.values()


@pytest.mark.parametrize(("said", "expected"), [("stored-answer", {"RAIL-WELD-11"}), ("refuse", set())])
async def test_the_same_proof_again_gets_what_the_profile_says(
    said: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rail that refuses it warns where its operator says that it gets the stored answer."""
    known_tokens: set[str] = set()

    def change_reply(call: Call, honest: Reply) -> Reply:
        if honest.status != 200 or call.proof is None:
            return honest
        again = call.proof["tx_id"] in known_tokens
        known_tokens.add(call.proof["tx_id"])
        return Reply(409, {"error": "payment_already_spent"}) if again else honest

    monkeypatch.setattr(Rail, "request_hash", staticmethod(lambda _: f"sha256:{'0' * 64}"))
    profile = f'{PROFILE}[rail]\nreplay = "{said}"\n'
    found = await run_check("captured_proof_buys_nothing_else", Rail(change_reply), profile)
    assert find_broken_rows(found) == expected
    assert Verdict.FAIL not in found.values()


@pytest.mark.parametrize(
    ("status", "row"), [(200, "RAIL-PAY-16"), (402, "RAIL-402-18"), (409, "RAIL-402-18"), (None, None)]
)
async def test_an_answer_to_a_replay_that_caches_may_keep_is_told(
    status: int | None, row: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored answer is as private as the first one, and a refusal is for the one who was refused."""
    answers: dict[tuple[str, str, bytes], Reply] = {}
    leave = {"Cache-Control": "public, max-age=60"}

    def change_reply(call: Call, honest: Reply) -> Reply:
        if call.proof is None or "tx_id" not in call.proof or call.path not in PATHS:
            return honest
        token, asked = (
            call.proof.get("payment_reference"),
            (call.proof["tx_id"], call.path, call.body + call.query.encode()),
        )
        right = (call.proof["tx_id"], token) in rail_pays
        if honest.status == 200 and right and asked not in answers and asked[0] not in {one for one, *_ in answers}:
            answers[asked] = honest
            return honest
        if asked in answers and right and call.method == "POST":
            return Reply(200, answers[asked].document, leave if status == 200 else {})
        if status == 409:
            return Reply(409, {"error": "payment_already_spent"}, leave)
        refusal = rail.challenge(call)
        return Reply(402, refusal.document, leave if status == 402 else refusal.headers)

    rail_pays: set[tuple[str, str]] = set()
    paid = Payer.pay

    async def pay(self: Payer, entry: Any) -> dict[str, Any]:
        proof = await paid(self, entry)
        rail_pays.add((proof["tx_id"], proof["payment_reference"]))
        return proof

    monkeypatch.setattr(Payer, "pay", pay)
    monkeypatch.setattr(Rail, "request_hash", staticmethod(lambda _: f"sha256:{'0' * 64}"))
    rail = Rail(change_reply)
    found = await run_check("captured_proof_buys_nothing_else", rail)
    assert find_broken_rows(found) == ({row} if row else set())
    assert Verdict.FAIL not in found.values()


async def test_a_rail_that_sells_its_usual_request_alone_is_seen() -> None:
    """A payment for any other request is not served."""
    usual: dict[str, bytes] = {}

    def change_reply(call: Call, honest: Reply) -> Reply:
        if call.path not in PATHS:
            return honest
        first_body = usual.setdefault(call.path, call.body)
        return honest if call.body == first_body or call.proof is None else rail.challenge(call)

    rail = Rail(change_reply)
    assert find_broken_rows(await run_check(PAID_CHECK, rail)) == {"RAIL-PAY-01", "RAIL-PAY-02"}


@pytest.mark.parametrize(
    ("check", "path", "row"),
    [
        ("message_verification_is_sold", "/pay/v1/verify/rfc9421", "RAIL-SVC-02"),
        ("screening_is_sold", "/pay/v1/compliance/receipt", "RAIL-SVC-03"),
    ],
)
async def test_a_service_that_is_not_where_the_profile_says_is_not_offered(check: str, path: str, row: str) -> None:
    """A bound path that the server does not have breaks the row of its service."""
    rail = Rail(lambda call, honest: Reply(404, {"detail": "Not Found"}) if call.path == path else honest)
    assert (await run_check(check, rail))[row] is Verdict.FAIL
    assert find_broken_rows(await run_check(check, Rail())) == set()


def bound_to(body: bytes | None) -> Rail:
    """Return a rail whose refusals are for this body, whatever was ordered; None for what was ordered."""
    bodies_by_token: dict[str, bytes] = {}

    def change_reply(call: Call, reply: Reply) -> Reply:
        if reply.status == 402:
            has_payment = any(name.lower() == "x-payment" for name, _ in call.lines)
            token = reply.document["accepts"][0]["extra"]["payment_reference"]
            bodies_by_token[token] = call.body if body is None or not has_payment else body
            return reply
        is_same_body = call.proof is None or bodies_by_token.get(call.proof["payment_reference"]) == call.body
        return reply if is_same_body else Reply(402, {"error": "weld_mismatch"})

    return Rail(change_reply)


@pytest.mark.parametrize(("body", "verdict"), [(None, "pass"), (b"{}", "fail")])
async def test_who_pays_what_a_refusal_asks_for_is_served(body: bytes | None, verdict: str) -> None:
    """With fresh tokens, and tokens for something else than was requested, a payer cannot recover."""
    rail, names, log = bound_to(body), Names(), EventLog()

    async def judge_terms(case: Case) -> None:
        await judge_fresh_terms(case, case.session.catalog.operations[0])

    row = Check("made_up", ("RAIL-WELD-16",), "rail", "algorand", Exclusive.NOTHING, "Mend it.", judge_terms)
    client, profile = Client(rail, log, row.id, names, Counter()), target.parse(PROFILE)
    session = Session(profile, client, names, 1)
    await session.open()
    session.payers.open_payers["algorand"] = Payer(rail)
    try:
        await judge_terms(Case(row, profile, client, log, random.Random(1), session))
    finally:
        await session.close()
    assert [event["verdict"] for event in log.of("judgement")] == [verdict]


@pytest.mark.parametrize(("profile", "found"), [(PROFILE, Verdict.FAIL), (OTHER_TARGET, Verdict.WARN)])
async def test_a_call_that_was_quoted_with_its_query_is_served_with_it(profile: str, found: Verdict) -> None:
    """Who quotes the call without its query and then refuses it took money for nothing."""

    def forgetful(call: Call, reply: Reply) -> Reply:
        asked = call.query and call.path in PATHS
        return Rail().challenge(call) if asked and reply.status == 200 else reply

    assert (await run_check(PAID_CHECK, Rail(forgetful), profile))["RAIL-PAY-02"] is found
    unsold = Rail(lambda call, reply: Reply(400, {}) if call.query and call.path in PATHS else reply)
    assert find_broken_rows(await run_check(PAID_CHECK, unsold, profile)) == set()
