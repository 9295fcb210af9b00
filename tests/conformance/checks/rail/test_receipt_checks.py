"""What the checks of receipts, keys and services make of honest and of faulty rails."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks.rail.keys import names_host
from conformance.checks.rail.receipt_bindings import find_claim_at
from conformance.checks.rail.receipt_signatures import change_each_once, is_published
from conformance.checks.rail.services import asks_to_sign_in, list_security_requirements, list_verdicts
from conformance.log.events import EventLog
from conformance.oracles import hash_recipes, jose
from conformance.oracles.ed25519_keys import Ed25519Key
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.rail.test_challenge_checks import answer
from tests.conformance.checks.trial import find_broken_rows

SIGNATURE_CHECK = "receipt_verifies_offline"
BINDING_CHECK = "receipt_binds_request_response_and_payment"
SCREENING_CHECK = "screening_is_sold"
UNBOUND = PROFILE.replace('"reference"', '"none"') + (
    '[rail.services]\nreceipt-verify = "/pay/v1/verify/receipt"\n'
    'compliance-receipt = "/pay/v1/compliance/receipt"\nrfc9421-verify = "/pay/v1/verify/rfc9421"\n'
)


def sell(change: Callable[[Rail, Call, dict[str, Any]], None]) -> Rail:
    """Return a rail whose paid answers are changed."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if reply.status == 200 and call.path.startswith("/pay/v1/") and "result" in reply.document:
            change(rail, call, reply.document)
        return reply

    rail = Rail(change_reply)
    return rail


def test_every_place_of_the_signature_and_samples_of_the_rest_are_changed() -> None:
    """Each change is one character, the signature is covered whole, and both other segments are sampled."""
    token = Rail().sign({"kind": "x" * 200})
    change_reply = change_each_once(token, random.Random(3))
    first, second = token.index("."), token.rindex(".")
    places = [place for place, _ in change_reply]
    assert set(range(second + 1, len(token))) <= set(places)
    assert any(place < first for place in places)
    assert any(first < place < second for place in places)
    assert len(set(places)) == len(places)
    for place, text in change_reply:
        assert [n for n, (a, b) in enumerate(zip(token, text, strict=True)) if a != b] == [place]
    assert change_reply == change_each_once(token, random.Random(3))


async def test_an_honest_receipt_breaks_no_row() -> None:
    """Signature, keys and bindings all pass."""
    verdicts = await run_check(SIGNATURE_CHECK, Rail()) | await run_check(BINDING_CHECK, Rail())
    assert verdicts == {f"RAIL-RCPT-{number:02}": Verdict.PASS for number in range(1, 11)}


async def test_a_key_missing_from_one_document_is_told_by_its_row() -> None:
    """A receipt that only one of the two documents verifies breaks the other's row only."""
    rail = Rail(lambda call, reply: Reply(200, {"keys": []}) if call.path.endswith("jwks.json") else reply)
    assert find_broken_rows(await run_check(SIGNATURE_CHECK, rail)) == {"RAIL-RCPT-02"}
    rail = Rail(lambda call, reply: Reply(200, {"id": "did:web:x"}) if call.path.endswith("did.json") else reply)
    assert find_broken_rows(await run_check(SIGNATURE_CHECK, rail)) == {"RAIL-RCPT-03"}


async def test_a_changed_receipt_is_told() -> None:
    """A signature over something else breaks both key rows and the offline one."""

    def forge_receipt(_: Rail, __: Call, document: dict[str, Any]) -> None:
        head, payload, signature = document["payable_receipt"].split(".")
        document["payable_receipt"] = f"{head}.{payload}.{signature[:-2]}AA"

    assert find_broken_rows(await run_check(SIGNATURE_CHECK, sell(forge_receipt))) == {
        "RAIL-RCPT-02",
        "RAIL-RCPT-03",
        "RAIL-RCPT-08",
    }


@pytest.mark.parametrize(
    ("member", "rows"),
    [
        ("request_hash", {"RAIL-RCPT-04", "RAIL-RCPT-07"}),
        ("response_hash", {"RAIL-RCPT-05"}),
        ("settled_payment_ref", {"RAIL-RCPT-06"}),
    ],
)
async def test_a_binding_that_binds_nothing_is_told(member: str, rows: set[str]) -> None:
    """A hash of nothing in the place of one binding breaks its row; one for all requests breaks the comparison too."""

    def constant(rail: Rail, call: Call, document: dict[str, Any]) -> None:
        claims = {
            "kind": "weldproof/payable-svc-receipt/1",
            "request_hash": rail.request_hash(call),
            **dict.fromkeys(("response_hash", "settled_payment_ref"), "sha256:" + "0" * 64),
            member: "sha256:" + "0" * 64,
        }
        operation = {"request_hash", "response_hash", "settled_payment_ref"} - {member}
        honest = jose.parse(document["payable_receipt"]).claims()
        document["payable_receipt"] = rail.sign({**claims, **{name: honest[name] for name in operation}})

    assert find_broken_rows(await run_check(BINDING_CHECK, sell(constant))) == rows


async def test_a_receipt_without_the_query_is_told() -> None:
    """A query belongs to the request that a receipt binds, in every recipe."""
    rail = sell(lambda rail, call, document: document.update(payable_receipt=bare(rail, call, document)))
    assert find_broken_rows(await run_check(BINDING_CHECK, rail)) == {"RAIL-RCPT-04"}
    assert find_broken_rows(await run_check(BINDING_CHECK, rail, UNBOUND)) == {"RAIL-RCPT-04"}


async def test_a_service_that_refuses_a_query_is_sold_none() -> None:
    """What it does without payment shows that such a call cannot be sold."""
    rail = Rail(lambda call, reply: Reply(422, {}) if call.query and call.path.startswith("/pay/v1/c") else reply)
    assert find_broken_rows(await run_check(BINDING_CHECK, rail, UNBOUND)) == set()
    assert find_broken_rows(await run_check(BINDING_CHECK, Rail(), UNBOUND)) == set()


async def test_a_hash_of_the_body_alone_is_told_as_one() -> None:
    """It is not said whether a receipt holds the query, so the row passes with a note."""

    def body_alone(rail: Rail, call: Call, document: dict[str, Any]) -> None:
        claims = jose.parse(document["payable_receipt"]).claims()
        digest = "sha256:" + hash_recipes.sha256_hex(hash_recipes.jcs_bytes(json.loads(call.body)))
        document["payable_receipt"] = rail.sign({**claims, "request_hash": digest})

    log = EventLog()
    verdicts = await run_check(BINDING_CHECK, sell(body_alone), UNBOUND, log)
    assert verdicts["RAIL-RCPT-04"] is Verdict.PASS
    assert [event for event in log.of("judgement") if "jcs-body hashes only the body" in event["expected"]]


@pytest.mark.parametrize("first", [True, False])
async def test_the_claim_with_the_familys_name_is_the_one_that_counts(first: bool) -> None:
    """A reference of the payment before is detected, although another claim contains a part of this one."""
    before = [] if first else [f"sha256:{'0' * 64}"]

    def previous(rail: Rail, call: Call, document: dict[str, Any]) -> None:
        claims = jose.parse(document["payable_receipt"]).claims()
        before.append(claims["settled_payment_ref"])
        claims_by_name = {"settled_payment_ref": before[-2:][0], "also": call.proof["tx_id"]}
        document["payable_receipt"] = rail.sign({**claims, **claims_by_name})

    assert find_broken_rows(await run_check(BINDING_CHECK, sell(previous), UNBOUND)) == {"RAIL-RCPT-06"}


async def test_a_binding_that_one_operation_alone_lacks_is_broken() -> None:
    """A recipe that holds for two operations must hold for the third; the report names that operation."""

    def partial(rail: Rail, call: Call, document: dict[str, Any]) -> None:
        if "compliance" in call.path:
            claims = jose.parse(document["payable_receipt"]).claims()
            document["payable_receipt"] = rail.sign({**claims, "response_hash": "sha256:" + "0" * 64})

    log = EventLog()
    verdicts = await run_check(BINDING_CHECK, sell(partial), UNBOUND, log)
    assert verdicts["RAIL-RCPT-05"] is Verdict.FAIL
    failure = next(event for event in log.of("judgement") if event["verdict"] == "fail")
    assert failure["where"]["operation"] == "/pay/v1/compliance/receipt"
    assert failure["expected"] == "recipe jcs-result of this call"


async def test_a_result_under_another_name_at_one_operation_is_unbound() -> None:
    """The interface names no place of the result: the recipe over it cannot be tried where it has another name."""

    def rename_member(_: Rail, call: Call, document: dict[str, Any]) -> None:
        if "compliance" in call.path:
            document["report"] = document.pop("result")

    assert (await run_check(BINDING_CHECK, sell(rename_member), UNBOUND))["RAIL-RCPT-05"] is Verdict.INCONCLUSIVE


async def test_a_binding_that_one_of_two_operations_lacks_is_told_with_the_other() -> None:
    """One operation says nothing of another one: the row stays open, and the report says where the recipe is."""

    def partial(rail: Rail, call: Call, document: dict[str, Any]) -> None:
        if "verify" not in call.path:
            claims = jose.parse(document["payable_receipt"]).claims()
            document["payable_receipt"] = rail.sign({**claims, "response_hash": "sha256:" + "0" * 64})
        elif "rfc9421" in call.path:
            document["payable_receipt"] = "e30.e30.AA"

    log = EventLog()
    verdicts = await run_check(BINDING_CHECK, sell(partial), UNBOUND, log)
    assert verdicts["RAIL-RCPT-05"] is Verdict.INCONCLUSIVE
    texts = next(
        event["expected"] for event in log.of("judgement") if "response_hash or result_at" in event["expected"]
    )
    assert "the claims of /pay/v1/compliance/receipt" in texts
    assert "jcs-result is found at /pay/v1/verify/receipt" in texts


def bare(rail: Rail, call: Call, document: dict[str, Any]) -> str:
    """Return the receipt of a call as if it had no query."""
    claims = jose.parse(document["payable_receipt"]).claims()
    return rail.sign({**claims, "request_hash": rail.request_hash(replace(call, query=""))})


async def test_bindings_nobody_named_are_found_or_undecided_never_broken() -> None:
    """On a target that bound nothing usual recipes are found, and unusual ones leave the rows open."""
    verdicts = await run_check(BINDING_CHECK, Rail(), UNBOUND)
    assert find_broken_rows(verdicts) == set()
    assert verdicts["RAIL-RCPT-05"] is Verdict.PASS

    def unusual(rail: Rail, _: Call, document: dict[str, Any]) -> None:
        document["payable_receipt"] = rail.sign({"kind": "payable", "req": "?", "res": "?", "paid": "?"})

    verdicts = await run_check(BINDING_CHECK, sell(unusual), UNBOUND)
    assert set(verdicts.values()) == {Verdict.INCONCLUSIVE}
    assert len(verdicts) == 4


def test_a_kid_names_a_key_by_itself_or_as_a_fragment() -> None:
    """DID URLs and bare names both count; a value that is not a text names no key."""
    keys = [Ed25519Key(b"\1" * 32, "k1"), Ed25519Key(b"\2" * 32, None)]
    assert is_published("k1", keys)
    assert is_published("did:web:x#k1", keys)
    assert not any(is_published(kid, keys) for kid in ("k2", "", None, 1, ["k1"], {"k": 1}))


def test_a_claim_is_found_by_its_place() -> None:
    """Dots go into objects and brackets into lists; a place that is not there holds nothing."""
    claims = {"a": {"b": [{"c": "x"}]}}
    assert find_claim_at(claims, "a.b[0].c") == "x"
    assert find_claim_at(claims, "a.c") is None
    assert find_claim_at(claims, "a.b.c") is None


def test_a_did_names_the_host_it_is_published_on() -> None:
    """Percent signs may be written either way, and a loopback address may be called localhost."""
    assert names_host("did:web:localhost%3a8402", "did:web:localhost%3A8402")
    assert names_host("did:web:localhost%3A8402", "did:web:127.0.0.1%3A8402")
    assert names_host("did:web:rail.test:pay", "did:web:rail.test:pay")
    assert not names_host("did:web:localhost", "did:web:127.0.0.1%3A8402")
    assert not names_host("did:web:localhost%3A1", "did:web:10.0.0.1%3A1")
    assert not names_host("did:web:localhost.evil.test", "did:web:127.0.0.1.evil.test")
    assert not names_host(None, "did:web:rail.test")


@pytest.mark.parametrize(
    ("rows", "change"),
    [
        ({"RAIL-KEY-02"}, {"id": "did:web:other.test"}),
        ({"RAIL-KEY-01", "RAIL-KEY-04"}, {"verificationMethod": [{"id": "did:web:rail.test#k2"}]}),
        ({"RAIL-KEY-01", "RAIL-KEY-04"}, {"verificationMethod": {"id": "did:web:rail.test#k1"}}),
        ({"RAIL-KEY-04"}, {"verificationMethod": [{"id": "#k2", "type": "JsonWebKey2020", "controller": "did:x:y"}]}),
        ({"RAIL-KEY-01", "RAIL-KEY-04"}, {"verificationMethod": []}),
        ({"RAIL-KEY-05"}, {"publicKey": {"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "AA"}}),
    ],
)
async def test_a_fault_in_the_did_document_breaks_its_row(rows: set[str], change: dict[str, Any]) -> None:
    """Each fault breaks the row that names it."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        return Reply(200, {**reply.document, **change}) if call.path.endswith("did.json") else reply

    assert find_broken_rows(await run_check("keys_are_published", Rail(change_reply))) == rows
    assert find_broken_rows(await run_check("keys_are_published", Rail())) == set()


@pytest.mark.parametrize("member", ["id", "type", "controller"])
async def test_a_method_without_what_did_core_demands_warns(member: str) -> None:
    """The interface leaves it to DID Core what a method is, so that a lack of it fails our own target alone."""

    def drop_member(call: Call, reply: Reply) -> Reply:
        if call.path.endswith("did.json"):
            reply.document["verificationMethod"].append({"id": "#k2", "type": "x", "controller": "did:x:y"})
            del reply.document["verificationMethod"][1][member]
        return reply

    assert (await run_check("keys_are_published", Rail(drop_member), UNBOUND))["RAIL-KEY-01"] is Verdict.WARN
    assert (await run_check("keys_are_published", Rail(drop_member)))["RAIL-KEY-01"] is Verdict.FAIL


SERVICE = {"id": "#x402", "type": "Paid", "serviceEndpoint": "https://rail.test/pay/v1"}


@pytest.mark.parametrize(
    ("services", "sound"),
    [
        ([], True),
        ([SERVICE], True),
        (
            [SERVICE, {**SERVICE, "id": "did:web:rail.test#a2a", "type": ["A", "B"], "serviceEndpoint": {"a": "b"}}],
            True,
        ),
        (SERVICE, False),
        (["#x402"], False),
        ([SERVICE, SERVICE], False),
        *(([{name: value for name, value in SERVICE.items() if name != left}], False) for left in SERVICE),
        ([{**SERVICE, "type": []}], False),
        ([{**SERVICE, "serviceEndpoint": None}], False),
    ],
)
async def test_services_are_those_of_did_core(services: Any, sound: bool) -> None:
    """None are needed; each has a separate id, a type and an endpoint, and a document that lacks one gets a warning."""

    def serve_did(call: Call, reply: Reply) -> Reply:
        return Reply(200, {**reply.document, "service": services}) if call.path.endswith("did.json") else reply

    ours = (await run_check("keys_are_published", Rail(serve_did)))["RAIL-KEY-01"]
    verdict = (await run_check("keys_are_published", Rail(serve_did), UNBOUND))["RAIL-KEY-01"]
    assert (ours, verdict) == ((Verdict.PASS, Verdict.PASS) if sound else (Verdict.FAIL, Verdict.WARN))


async def test_a_key_may_stand_inside_the_relationship_that_uses_it() -> None:
    """DID Core demands no verificationMethod of a document whose assertionMethod embeds the method."""

    def embed_method(call: Call, reply: Reply) -> Reply:
        if not call.path.endswith("did.json"):
            return reply
        return Reply(200, {"id": reply.document["id"], "assertionMethod": reply.document["verificationMethod"]})

    verdicts = await run_check("keys_are_published", Rail(embed_method))
    assert set(verdicts.values()) == {Verdict.PASS}
    assert find_broken_rows(await run_check(SIGNATURE_CHECK, Rail(embed_method))) == set()


async def test_a_screening_with_verdicts_of_the_set_passes() -> None:
    """The scripted rail allows everybody, in the result and in a signed token."""
    assert await run_check(SCREENING_CHECK, Rail()) == dict.fromkeys(("RAIL-SVC-03", "RAIL-SVC-04"), Verdict.PASS)


ALLOWED_PROFILE = UNBOUND + '[rail.bodies.compliance-receipt]\nrecipient_address = "screen-allow"\n'


@pytest.mark.parametrize("word", ["REFER", "REVIEW"])
async def test_an_address_that_is_flagged_is_screened_where_nobody_bound_one(word: str) -> None:
    """The specification's examples name it; a verdict outside the set is reported, too."""

    def flag_address(_: Rail, call: Call, document: dict[str, Any]) -> None:
        if b"screen-flag" in call.body:
            document["result"]["verdict"] = word

    verdicts = await run_check(SCREENING_CHECK, sell(flag_address), ALLOWED_PROFILE)
    assert find_broken_rows(verdicts) == (set() if word == "REFER" else {"RAIL-SVC-04"})


async def test_a_service_that_refuses_those_addresses_passes_in_part() -> None:
    """Nothing is bought with a body that it refuses, and the report says that one verdict alone was seen."""

    def strict(call: Call, reply: Reply) -> Reply:
        return Reply(422, {}) if b"screen-flag" in call.body or b"screen-block" in call.body else reply

    log, rail = EventLog(), Rail(strict)
    assert set((await run_check(SCREENING_CHECK, rail, ALLOWED_PROFILE, log)).values()) == {Verdict.PASS}
    assert len(rail.paid) == 1
    texts = [event["expected"] for event in log.of("judgement") if event["verdict"] == "documented"]
    assert len(texts) == 1
    assert "bind [rail.other_bodies] compliance-receipt" in texts[0]


@pytest.mark.parametrize("verdict", ["allow", "BLOCK", None, 1, ["ALLOW"], {"is": "ALLOW"}])
@pytest.mark.parametrize("place", ["result", "token"])
async def test_a_verdict_outside_the_set_is_told_wherever_it_stands(verdict: Any, place: str) -> None:
    """The set holds for the result and for the receipt, and odd types do not crash the suite."""

    def wrong(rail: Rail, _: Call, document: dict[str, Any]) -> None:
        if place == "result":
            document["result"]["verdict"] = verdict
        else:
            document["compliance_receipt"] = rail.sign({"screen_result": verdict})

    assert find_broken_rows(await run_check(SCREENING_CHECK, sell(wrong))) == {"RAIL-SVC-04"}


async def test_a_verdict_that_no_receipt_carries_is_told() -> None:
    """The result alone is not signed."""
    rail = sell(lambda _, __, document: document.pop("compliance_receipt"))
    assert find_broken_rows(await run_check(SCREENING_CHECK, rail)) == {"RAIL-SVC-03"}


LETTERS = "letters_of_an_address_change_no_verdict"
ON_BASE = UNBOUND + (
    f'[rail.bodies.compliance-receipt]\nrecipient_address = "0x{"aB" * 20}"\nnetwork = "base_mainnet"\n'
)


@pytest.mark.parametrize("profile", [PROFILE, ON_BASE])
async def test_an_address_is_one_in_whatever_letters(profile: str) -> None:
    """Who looks it up by its letters has two verdicts for one account; elsewhere that warns."""

    def by_letters(_: Rail, call: Call, document: dict[str, Any]) -> None:
        address = json.loads(call.body).get("recipient_address", "")
        document["result"]["verdict"] = "DENY" if address == address.lower() else "ALLOW"

    texts = Verdict.FAIL if profile is PROFILE else Verdict.WARN
    assert await run_check(LETTERS, sell(by_letters), profile) == {"RAIL-SVC-03": texts}
    assert await run_check(LETTERS, Rail(), profile) == {"RAIL-SVC-03": Verdict.PASS}


async def test_a_screening_without_such_an_address_is_not_judged() -> None:
    """How it is asked is unknown; nor is a rail judged that refuses addresses without a checksum."""
    assert await run_check(LETTERS, Rail(), ALLOWED_PROFILE) == {"RAIL-SVC-03": Verdict.NOT_APPLICABLE}
    strict = Rail(lambda call, reply: Reply(422, {}) if b"0xab" in call.body else reply)
    assert await run_check(LETTERS, strict, ON_BASE) == {"RAIL-SVC-03": Verdict.NOT_APPLICABLE}


def test_a_verdict_is_found_by_name_or_else_by_value() -> None:
    """A claim of another name counts when its value is one of the three."""
    token = Rail().sign({"outcome": {"word": "REFER"}})
    token_verdicts, texts = list_verdicts(answer(body=f'{{"r": "{token}"}}'.encode()), {"verdict": "REFER"})
    assert (token_verdicts, texts) == (["REFER"], ["REFER", "REFER"])


async def test_a_message_verification_without_a_receipt_is_told() -> None:
    """The result has to come with a receipt."""
    name = "message_verification_is_sold"
    rail = sell(lambda _, __, document: document.pop("payable_receipt"))
    assert find_broken_rows(await run_check(name, rail)) == {"RAIL-SVC-02"}
    assert find_broken_rows(await run_check(name, Rail())) == set()


@pytest.mark.parametrize(
    ("rows", "status", "price"),
    [(set(), 402, "10000"), ({"RAIL-SVC-05"}, 402, "20000"), ({"RAIL-SVC-01"}, 404, "10000")],
)
async def test_receipt_verification_is_offered_at_its_price(rows: set[str], status: int, price: str) -> None:
    """A service that does not exist, or costs something else than declared, is detected."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if call.path == "/pay/v1/verify/receipt":
            reply.status = status
            reply.document["accepts"][0]["maxAmountRequired"] = price
        return reply

    assert find_broken_rows(await run_check("receipt_verification_is_sold", Rail(change_reply))) == rows


@pytest.mark.parametrize("status", [401, 403, 407])
async def test_a_document_behind_a_sign_in_is_told(status: int) -> None:
    """Any published document or declared path that wants an account breaks the row."""

    def demand_sign_in(call: Call, reply: Reply) -> Reply:
        if call.path == "/openapi.json":
            reply.document["paths"]["/status"] = {"get": {"responses": {}}}
        return Reply(status, {}) if call.path == "/status" else reply

    assert find_broken_rows(await run_check("nobody_signs_in", Rail(demand_sign_in))) == {"RAIL-SVC-06"}
    assert find_broken_rows(await run_check("nobody_signs_in", Rail())) == set()


def test_only_a_redirect_to_a_sign_in_asks_for_one() -> None:
    """Other redirects, and a challenge to pay, ask for no account."""
    redirect = answer({"Location": "https://rail.test/login?next=/"})
    object.__setattr__(redirect, "status", 302)
    assert asks_to_sign_in(redirect)
    object.__setattr__(redirect, "headers", answer({"Location": "https://rail.test/v2/"}).headers)
    assert not asks_to_sign_in(redirect)
    assert not asks_to_sign_in(answer({"WWW-Authenticate": "Payment"}))


def test_security_counts_where_no_empty_requirement_lifts_it() -> None:
    """An operation's own word goes before the document's, and one empty requirement makes the rest optional."""
    operation: dict[str, Any] = {"responses": {}}
    free, secured = {**operation, "security": []}, {**operation, "security": [{"key": []}]}
    either = {**operation, "security": [{"key": []}, {}]}
    paths = {"/a": {"get": operation, "post": free, "parameters": []}, "/b": {"get": secured, "post": either}}
    assert list_security_requirements({"paths": paths}) == ["GET /b"]
    assert list_security_requirements({"paths": paths, "security": [{"key": []}]}) == ["GET /a", "GET /b"]
    assert list_security_requirements({"paths": []}) == []


@pytest.mark.parametrize(
    ("key", "bound", "fits", "row"),
    [
        ("request_hash", "jcs-body", "jcs-envelope", "RAIL-RCPT-04"),
        ("response_hash", "raw-body", "jcs-result", "RAIL-RCPT-05"),
    ],
)
async def test_a_recipe_that_fits_is_told_with_its_key(key: str, bound: str, fits: str, row: str) -> None:
    """Where another usual recipe fits, the profile is likelier wrong than the hash; else nothing of that is said."""
    log, profile = EventLog(), f'{PROFILE}[rail]\n{key} = "{bound}"\n'
    assert row in find_broken_rows(await run_check(BINDING_CHECK, Rail(), profile, log))
    hints = [event["hint"] for event in log.of("judgement") if (event["row"], event["verdict"]) == (row, "fail")]
    assert hints
    assert all(f'bind [rail] {key} = "{fits}"' in hint for hint in hints)


async def test_a_further_page_that_wants_an_account_is_told() -> None:
    """A client that pages through the catalog needs no account either."""

    def demand_sign_in(call: Call, reply: Reply) -> Reply:
        return Reply(401, {}) if "offset" in call.query else reply

    assert find_broken_rows(await run_check("nobody_signs_in", Rail(demand_sign_in))) == {"RAIL-SVC-06"}
    assert find_broken_rows(await run_check("nobody_signs_in", Rail())) == set()
