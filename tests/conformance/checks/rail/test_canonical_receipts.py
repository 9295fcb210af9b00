"""Receipts whose hashes are over another JSON than the RFC 8785 form fail, whatever the usual request hides."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.discovery.encoder_sensitive_bodies import NAMES, NUMBERS, TEXTS, repeated_bodies, unusual_places
from conformance.log.events import EventLog
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.jose import JwsFault, parse
from conformance.oracles.json_encodings import AS_SENT, OTHER_ENCODINGS, Encoder
from conformance.outcome import Verdict
from conformance.surfaces.rail.receipts import claims_of
from tests.conformance.checks.rail.scripted_rail import PATHS, PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

CHECK = "receipt_binds_request_response_and_payment"
UNBOUND = PROFILE.replace('"reference"', '"none"') + (
    '[rail.services]\nreceipt-verify = "/pay/v1/verify/receipt"\n'
    'compliance-receipt = "/pay/v1/compliance/receipt"\nrfc9421-verify = "/pay/v1/verify/rfc9421"\n'
    '[rail.bodies.receipt-verify]\njws = "e30.e30.AA"\n'
    '[rail.bodies.compliance-receipt]\nnetwork = "algorand_mainnet"\nrecipient_address = "screen-allow"\n'
)
SHOP = UNBOUND.replace('"screen-allow"', '"A&B <shop>"')
# What a text and a query alone tell; order and numbers take a member that is left open.
OF_TEXTS = [name for name in OTHER_ENCODINGS if "sorts" not in name and "numbers" not in name]
FREE_FORM = {"type": "object", "properties": {"data": {"title": "Data"}}}


class Hashing(Rail):
    """Hashes requests by an encoder; `describe_body` is the schema of its bodies."""

    def __init__(
        self, encode: Encoder, described: Any = None, change: Callable[[Call, Reply], Reply] | None = None
    ) -> None:
        super().__init__(change)
        self.encode, self.described = encode, described

    def request_hash(self, call: Call) -> str:  # type: ignore[override]
        """Return the hash that binds a call."""
        envelope = {"body": json.loads(call.body), "method": call.method, "path": call.path, "query": call.query}
        return "sha256:" + sha256_hex(self.encode({**envelope, "service_id": PATHS[call.path]}))

    def _openapi(self) -> Any:  # type: ignore[override]
        document = super()._openapi()
        if self.described is not None:
            body = {"content": {"application/json": {"schema": self.described}}}
            for item in document["paths"].values():
                item["post"] = {**item["post"], "requestBody": body}
        return document


def refuse_bodies(bad: Callable[[str], bool]) -> Callable[[Call, Reply], Reply]:
    """Return a change that refuses the bodies for which `bad` is true, before it looks for a payment."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        is_refused = call.path in PATHS and bad(call.body.decode())
        return Reply(422, {"detail": [{"loc": ["body"]}]}) if is_refused else reply

    return change_reply


@pytest.mark.parametrize("profile", [PROFILE, UNBOUND])
@pytest.mark.parametrize("name", OF_TEXTS)
async def test_another_encoding_of_texts_is_told(name: str, profile: str) -> None:
    """The usual requests have no text that encoders write differently; the unusual ones have.

    A slash is in every path, so that no usual recipe fits a signer that escapes it: the report names the encoding.
    """
    log = EventLog()
    verdicts = await run_check(CHECK, Hashing(OTHER_ENCODINGS[name]), profile, log)
    if "PHP" in name and profile == UNBOUND:
        assert verdicts["RAIL-RCPT-04"] is Verdict.INCONCLUSIVE
        assert any(f"over JSON that {name}" in str(event["expected"]) for event in log.of("judgement"))
    else:
        assert find_broken_rows(verdicts) == {"RAIL-RCPT-04"}


@pytest.mark.parametrize("profile", [PROFILE, UNBOUND])
@pytest.mark.parametrize("name", [name for name in OTHER_ENCODINGS if name not in OF_TEXTS])
async def test_another_order_or_spelling_of_numbers_is_told_in_an_open_member(name: str, profile: str) -> None:
    """A member whose schema leaves it open takes names beyond the basic plane and numbers at the edges."""
    rail = Hashing(OTHER_ENCODINGS[name], FREE_FORM)
    assert find_broken_rows(await run_check(CHECK, rail, profile)) == {"RAIL-RCPT-04"}


@pytest.mark.parametrize("described", [None, FREE_FORM])
@pytest.mark.parametrize("profile", [PROFILE, UNBOUND, SHOP])
async def test_the_canonical_form_breaks_nothing(profile: str, described: Any) -> None:
    """The same requests, hashed by RFC 8785."""
    verdicts = await run_check(CHECK, Hashing(jcs_bytes, described), profile)
    assert set(verdicts.values()) == {Verdict.PASS}


async def test_a_shops_name_in_the_profile_does_not_hide_an_encoder_for_pages() -> None:
    """A recipe that fits two operations and not the third is broken there, and not unknown."""
    log = EventLog()
    go = OTHER_ENCODINGS["is Go's json.Marshal"]
    assert find_broken_rows(
        await run_check(CHECK, Hashing(go, change=refuse_bodies(lambda body: "\u2028" in body)), SHOP, log)
    ) == {"RAIL-RCPT-04"}
    findings = [str(event["found"]) for event in log.of("judgement") if event["verdict"] == "fail"]
    assert any("recipe jcs-envelope over JSON that escapes &" in text for text in findings), findings


async def test_a_model_inside_the_body_that_drops_unknown_members_breaks_nothing() -> None:
    """Frameworks describe such a model without `additionalProperties`, and hash what the model keeps."""
    described = {
        "type": "object",
        "properties": {"payer": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }

    class Modelled(Hashing):
        def request_hash(self, call: Call) -> str:  # type: ignore[override]
            body = json.loads(call.body)
            if "payer" in body:
                body["payer"] = {name: body["payer"][name] for name in ("city",) if name in body["payer"]}
            return super().request_hash(replace(call, body=json.dumps(body).encode()))

    assert set((await run_check(CHECK, Modelled(jcs_bytes, described), UNBOUND)).values()) == {Verdict.PASS}


async def test_a_body_that_is_refused_is_not_judged() -> None:
    """A rail that takes none of the values is judged by its usual requests and by the query."""
    rail = Hashing(jcs_bytes, FREE_FORM, refuse_bodies(lambda body: "a&b" in body))
    assert set((await run_check(CHECK, rail, UNBOUND)).values()) == {Verdict.PASS}
    assert not [call for call in rail.calls if b"a&b" in call.body and call.proof and call.proof["tx_id"] in rail.paid]


async def test_a_body_that_is_refused_behind_its_payment_decides_nothing() -> None:
    """A rail that reads the body only after the payment breaks no row by a refusal then."""

    def late(call: Call, reply: Reply) -> Reply:
        return Reply(422, {}) if reply.status == 200 and b"a&b" in call.body else reply

    rail = Hashing(jcs_bytes, FREE_FORM, late)
    assert set((await run_check(CHECK, rail, UNBOUND)).values()) == {Verdict.PASS}


async def test_milder_values_are_tried_where_the_first_is_refused() -> None:
    """A service that takes no control characters is asked with others."""
    strict = refuse_bodies(lambda body: "\\b" in body)
    rail = Hashing(OTHER_ENCODINGS["escapes what is not ASCII as Python's json.dumps does"], change=strict)
    assert find_broken_rows(await run_check(CHECK, rail, UNBOUND)) == {"RAIL-RCPT-04"}


async def test_members_in_the_order_that_was_sent_are_a_recipe_that_is_not_known() -> None:
    """A signer of what JSON.stringify writes agrees with a verifier who has what was sent: nothing is broken."""

    class Sending(Hashing):
        def request_hash(self, call: Call) -> str:  # type: ignore[override]
            return "sha256:" + sha256_hex(self.encode(json.loads(call.body)))

    assert (await run_check(CHECK, Sending(AS_SENT, FREE_FORM), UNBOUND))["RAIL-RCPT-04"] is Verdict.INCONCLUSIVE


async def test_a_response_that_holds_what_was_asked_is_bound_by_its_canonical_form() -> None:
    """A result that repeats the request shows how the response is encoded."""

    def make_answering_rail(encode: Encoder) -> Rail:
        def change_reply(call: Call, reply: Reply) -> Reply:
            if reply.status == 200 and call.path in PATHS:
                result = {"asked": json.loads(call.body)}
                claims = {
                    "kind": "weldproof/payable-svc-receipt/1",
                    "request_hash": rail.request_hash(call),
                    "response_hash": "sha256:" + sha256_hex(encode(result)),
                    "settled_payment_ref": "sha256:"
                    + sha256_hex(f"weldproof-payable-core:{call.proof['tx_id']}:algorand_mainnet".encode()),
                }
                return Reply(200, {"result": result, "payable_receipt": rail.sign(claims)})
            return reply

        rail = Hashing(jcs_bytes, change=change_reply)
        return rail

    go = OTHER_ENCODINGS["is Go's json.Marshal"]
    assert find_broken_rows(await run_check(CHECK, make_answering_rail(go), UNBOUND)) == {"RAIL-RCPT-05"}
    assert find_broken_rows(await run_check(CHECK, make_answering_rail(jcs_bytes), UNBOUND)) == set()


def describe_body(schema: Any) -> dict[str, Any]:
    """Return an OpenAPI document with one operation, /x, that takes a schema's body."""
    body = {"content": {"application/json": {"schema": schema}}}
    return {"paths": {"/x": {"post": {"requestBody": body}}}}


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"type": "string"}, TEXTS),
        ({"type": "string", "enum": ["a"]}, ()),
        ({"type": "string", "pattern": "a+"}, ()),
        ({"type": "boolean"}, ()),
        ({"type": "integer", "maximum": 10}, (5.0,)),
        ({"type": "number"}, (1e-7, 1e21, 1000000.0, 5.0)),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, TEXTS),
        ({"type": "array", "items": {"type": "string"}}, tuple([text] for text in TEXTS)),
        ({"type": "object", "additionalProperties": False}, ()),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            tuple(dict.fromkeys(NAMES, text) for text in TEXTS),
        ),
    ],
)
def test_members_take_the_values_that_their_schema_allows(schema: Any, values: tuple[Any, ...]) -> None:
    """Nothing is put where a list, a pattern or a limit forbids it."""
    places = unusual_places(describe_body({"properties": {"m": schema}}), "/x", "post", {})
    assert [place.values for place in places] == ([values] if values else [])


def test_an_open_member_takes_names_and_numbers() -> None:
    """A member without a type takes everything at once."""
    [place] = unusual_places(describe_body({"properties": {"m": {"title": "M"}}}), "/x", "post", {})
    [value] = place.values
    assert value["numbers"] == list(NUMBERS)
    assert set(NAMES) <= value.keys()


def test_no_body_has_no_places() -> None:
    """An operation that is called without an object is called as it is."""
    assert unusual_places({}, "/x", "post", [1]) == ()
    assert unusual_places({}, "/x", "post", {"n": 1}) == ()


class Repeating(Hashing):
    """Repeats in its result the `kid` of the receipt that it verifies, and hashes the result by an encoder."""

    def __init__(self, encode: Encoder) -> None:
        super().__init__(jcs_bytes)
        self.of_result = encode

    def _paid_call(self, call: Call) -> Reply:
        reply = super()._paid_call(call)
        if reply.status != 200:
            return reply
        result = {**reply.document["result"], "kid": _kid_of(json.loads(call.body).get("jws"))}
        claims = claims_of(reply.document["payable_receipt"])
        claims["response_hash"] = "sha256:" + sha256_hex(self.of_result(result))
        return replace(reply, document={**reply.document, "result": result, "payable_receipt": self.sign(claims)})


def _kid_of(jws: Any) -> Any:
    try:
        return parse(jws).header.get("kid")
    except (JwsFault, AttributeError):
        return None


@pytest.mark.parametrize("profile", [PROFILE, UNBOUND])
async def test_another_encoding_of_what_a_result_repeats_is_reported(profile: str) -> None:
    """Results of the usual requests are plain: an unusual name of a key in a receipt is repeated in the report."""
    ascii_only = OTHER_ENCODINGS["escapes what is not ASCII as Python's json.dumps does"]
    assert find_broken_rows(await run_check(CHECK, Repeating(ascii_only), profile)) == {"RAIL-RCPT-05"}
    assert set((await run_check(CHECK, Repeating(jcs_bytes), profile)).values()) == {Verdict.PASS}


def test_only_the_bodies_of_verifiers_are_repeated() -> None:
    """Another operation has no member whose text its result is known to repeat."""
    assert [_kid_of(body["jws"]) for body in repeated_bodies({"jws": "e30.e30.AA"})] == list(TEXTS)
    assert [body["required_components"] for body in repeated_bodies({"headers": {}})] == [[text] for text in TEXTS]
    assert list(repeated_bodies({"recipient_address": "screen-allow"})) == []
    assert list(repeated_bodies(["jws"])) == []
