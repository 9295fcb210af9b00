"""The corpora of unreadable payments: each entry is what it says, and a rail that trips over one is seen."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.checks.rail.malformed_payments import make_non_base64, make_non_json, make_wrong_fields
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

TOKEN = "1795240615:047652b0a2d99b35:" + "ab" * 32
CHECKS = {
    "payment_that_is_not_base64": ("RAIL-402-14", make_non_base64),
    "payment_that_is_not_json": ("RAIL-402-15", make_non_json),
    "payment_with_wrong_fields": ("RAIL-402-16", make_wrong_fields),
}
_MOST = 8192


def strict_json(data: bytes) -> object:
    """Read JSON as RFC 8259 has it."""

    def refuse(name: str) -> object:
        raise ValueError(name)

    return json.loads(data.decode("utf-8"), parse_constant=refuse)


@pytest.mark.parametrize("what", make_non_base64(TOKEN))
def test_not_base64_is_none(what: str) -> None:
    """Either it is not standard padded base64, or there are two header fields."""
    values = make_non_base64(TOKEN)[what]
    if len(values) == 1:
        with pytest.raises(ValueError, match=r"."):
            base64.b64decode(values[0].encode(), validate=True)


@pytest.mark.parametrize("what", make_non_json(TOKEN))
def test_not_json_is_base64_of_something_else(what: str) -> None:
    """The base64 is right, and its content is not a JSON text."""
    raw = base64.b64decode(make_non_json(TOKEN)[what][0], validate=True)
    with pytest.raises((ValueError, RecursionError)):
        strict_json(raw)


@pytest.mark.parametrize("what", sorted(set(make_wrong_fields(TOKEN)) - {"deep nesting", "a huge integer"}))
def test_wrong_fields_are_json_and_no_proof(what: str) -> None:
    """The JSON can be read, and holds no transaction id of any chain together with the live token."""
    proof = strict_json(base64.b64decode(make_wrong_fields(TOKEN)[what][0], validate=True))
    members = proof if isinstance(proof, dict) else {}
    whole = isinstance(members.get("tx_id"), str) and members.get("payment_reference") == TOKEN
    assert not whole or what == "duplicate members" or len(members["tx_id"]) != 52 or "\0" in members["tx_id"]


@pytest.mark.parametrize("corpus", [make_non_base64, make_non_json, make_wrong_fields])
def test_values_fit_into_one_header_line(corpus: object) -> None:
    """No server may blame the size of its header buffer, and no value breaks a line."""
    for values in corpus(TOKEN).values():  # type: ignore[operator]
        assert all(len(value) <= _MOST and "\n" not in value and "\r" not in value for value in values)


@pytest.mark.parametrize("check", CHECKS)
async def test_an_honest_rail_passes(check: str) -> None:
    """Every malformed value is answered 402 with accepts, on every operation."""
    row, corpus = CHECKS[check]
    rail = Rail()
    assert await run_check(check, rail) == {row: Verdict.PASS}
    assert len(rail.calls) == 3 * (1 + len(corpus(TOKEN)))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("number", [0, 7, 19])
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_one_wrong_answer_among_all_is_seen(check: str, number: int, status: int) -> None:
    """Any single value that is answered differently breaks the row."""
    row, corpus = CHECKS[check]
    exception = list(corpus(TOKEN))[number % len(corpus(TOKEN))]
    call_count = 0

    def trip(call: Call, reply: Reply) -> Reply:
        nonlocal call_count
        if call.path.endswith("9421") and "X-PAYMENT" in call.headers:
            call_count += 1
            if call_count == list(corpus(TOKEN)).index(exception) + 1:
                return Reply(status, {"error": "bad header"})
        return reply

    assert find_broken_rows(await run_check(check, Rail(trip))) == {row}


async def test_a_rail_that_takes_the_token_alone_is_seen() -> None:
    """A live token without a transaction is refused."""

    def credulous(call: Call, reply: Reply) -> Reply:
        token = isinstance(call.proof, dict) and call.proof.get("payment_reference")
        return Reply(200, {"result": {}}) if token and "tx_id" not in call.proof else reply

    assert find_broken_rows(await run_check("payment_with_wrong_fields", Rail(credulous))) == {"RAIL-402-16"}


WHOLE = "a_refusal_is_a_whole_challenge"


def refuse_with(**members: object) -> Rail:
    """Return a rail whose 402 to a presented proof has other members."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if reply.status != 402 or "X-PAYMENT" not in call.headers:
            return reply
        return Reply(402, {**reply.document, **members}, reply.headers)

    return Rail(change_reply)


async def test_a_refusal_like_the_challenge_breaks_no_row() -> None:
    """An honest rail says the same again, with fresh tokens."""
    assert set((await run_check(WHOLE, Rail())).values()) == {Verdict.PASS}


async def test_a_refusal_in_another_form_is_told() -> None:
    """Its version, its form and its lanes are each reported by the row that names them; other lanes only warn."""
    lane = Rail().challenge(Call("POST", "/pay/v1/verify/receipt", {}, b"", ())).document["accepts"][0]
    two = [lane, {**lane, "network": "eip155:8453"}]
    assert find_broken_rows(await run_check(WHOLE, refuse_with(x402Version="2"))) == {"RAIL-402-03", "RAIL-402-21"}
    assert find_broken_rows(await run_check(WHOLE, refuse_with(resource=None))) == {"RAIL-402-21"}
    assert find_broken_rows(await run_check(WHOLE, refuse_with(accepts=two))) == {"RAIL-402-05"}
    foreign = await run_check(WHOLE, refuse_with(accepts=two), PROFILE.replace('"reference"', '"none"'))
    assert foreign["RAIL-402-05"] is Verdict.WARN


async def test_a_refusal_that_caches_may_keep_is_told() -> None:
    """The first challenge of a call may be well kept from caches, and the one that refuses its proof not."""

    def make_cacheable(call: Call, reply: Reply) -> Reply:
        public = {"Cache-Control": "public, max-age=60"}
        return Reply(402, reply.document, public) if "X-PAYMENT" in call.headers else reply

    assert find_broken_rows(await run_check(WHOLE, Rail(make_cacheable))) == {"RAIL-402-18"}


async def test_a_proof_that_is_refused_otherwise_is_judged_elsewhere() -> None:
    """A rail that answers 409 or 503 has no challenge to look at."""
    away = Rail(lambda call, reply: Reply(503, {}) if "X-PAYMENT" in call.headers else reply)
    assert set((await run_check(WHOLE, away)).values()) == {Verdict.NOT_APPLICABLE}
