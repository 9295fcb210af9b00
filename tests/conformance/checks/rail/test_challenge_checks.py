"""What the checks of an unpaid call make of honest and of faulty answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from conformance.checks.rail.challenges import list_paid_methods
from conformance.http.client import Answer
from conformance.outcome import Verdict
from conformance.surfaces.rail.unpaid_answers import find_leaks, is_shareable
from tests.conformance.checks.rail.scripted_rail import PATHS, PROFILE, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

UNPAID = "unpaid_call_is_challenged"
ANY_UNPAID = "every_unpaid_call_is_challenged"


def answer(headers: dict[str, str] | None = None, body: bytes = b"{}") -> Answer:
    """Return an answer as the client gives it."""
    return Answer(1, 402, CIMultiDictProxy(CIMultiDict(headers or {})), body)


def entry(change: Callable[[dict[str, Any]], Any]) -> Rail:
    """Return a rail whose accepts entries are changed."""

    def change_reply(_: Call, reply: Reply) -> Reply:
        if reply.status == 402:
            for entry in reply.document["accepts"]:
                change(entry)
        return reply

    return Rail(change_reply)


def document(**members: Any) -> Rail:
    """Return a rail whose 402 has other members."""
    return Rail(
        lambda _, reply: Reply(402, {**reply.document, **members}, reply.headers) if reply.status == 402 else reply
    )


async def test_an_honest_challenge_breaks_no_row() -> None:
    """Every row of the check is judged, and each is kept."""
    verdicts = await run_check(UNPAID, Rail())
    assert set(verdicts.values()) == {Verdict.PASS}
    assert len(verdicts) == 15


@pytest.mark.parametrize(
    ("rows", "rail"),
    [
        ({"RAIL-402-03", "RAIL-402-21"}, document(x402Version=1)),
        ({"RAIL-402-03", "RAIL-402-21"}, document(x402Version="2")),
        ({"RAIL-402-06", "RAIL-402-07", "RAIL-402-21"}, entry(lambda one: one.update(payTo=""))),
        ({"RAIL-402-07"}, entry(lambda one: one.update(payTo="0x" + "1" * 40))),
        ({"RAIL-402-08"}, entry(lambda one: one.update(maxAmountRequired="0"))),
        ({"RAIL-402-09"}, entry(lambda one: one.update(maxAmountRequired="0.01"))),
        ({"RAIL-402-09"}, entry(lambda one: one.update(maxAmountRequired="1e4"))),
        ({"RAIL-402-09"}, entry(lambda one: one.update(maxAmountRequired=10000))),
        ({"RAIL-402-11"}, entry(lambda one: one["extra"].update(payment_reference="always the same"))),
        ({"RAIL-402-10", "RAIL-402-11", "RAIL-402-21"}, entry(lambda one: one["extra"].clear())),
        ({"RAIL-402-17"}, document(result={"verdict": "ALLOW"})),
        (
            {"RAIL-402-17"},
            document(
                preview={"verdict": "ALLOW", "risk": "low"},
                extensions={"bazaar": {"info": {"output": {"example": {"verdict": "DENY", "risk": "high"}}}}},
            ),
        ),
        ({"RAIL-402-21"}, document(resource=None)),
    ],
)
async def test_a_fault_breaks_its_row(rows: set[str], rail: Rail) -> None:
    """One fault in the 402 breaks the rows that name it, and no other."""
    verdicts = await run_check(UNPAID, rail)
    # An exponent is no positive decimal either; which of the two rows tells it is no promise.
    assert rows <= find_broken_rows(verdicts) <= rows | {"RAIL-402-08"}


def unpaid(status: int, document: Any, *, body: bytes | None = None, accept: str = "") -> Rail:
    """Return a rail that answers unpaid calls with this body, or from who would rather have this, in another way."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        is_chosen = call.body == body if body is not None else accept in call.headers.get("Accept", "")
        return Reply(status, document) if reply.status == 402 and is_chosen else reply

    return Rail(change_reply)


@pytest.mark.parametrize(
    ("row", "rail"),
    [
        ("RAIL-402-01", unpaid(422, {"detail": []}, body=b"")),
        ("RAIL-402-01", unpaid(400, {"error": "bad_json"}, body=b'{"a":')),
        ("RAIL-402-01", unpaid(500, {"error": "internal_error"}, body=b'{"a":9007199254740993}')),
        ("RAIL-402-04", unpaid(402, {"x402Version": 2, "accepts": []}, body=b"")),
        ("RAIL-402-01", unpaid(303, {}, accept="text/html")),
    ],
)
async def test_an_unpaid_call_is_told_the_price_whatever_it_orders(row: str, rail: Rail) -> None:
    """The row that names the fault fails; if it is not said to hold of such calls, the row warns."""
    assert find_broken_rows(await run_check(ANY_UNPAID, rail)) == {row}
    foreign = await run_check(ANY_UNPAID, rail, PROFILE.replace('"reference"', '"none"'))
    assert foreign[row] is Verdict.WARN


async def test_a_page_for_browsers_is_no_challenge() -> None:
    """A browser is answered in JSON, too."""
    rail = unpaid(402, b"<!doctype html>", accept="text/html")
    assert find_broken_rows(await run_check(ANY_UNPAID, rail)) == {"RAIL-402-02"}


@pytest.mark.parametrize(("defaults", "verdict"), [("reference", Verdict.FAIL), ("none", Verdict.WARN)])
async def test_a_call_that_is_turned_away_without_a_price_warns(defaults: str, verdict: Verdict) -> None:
    """A header that only a proxy may set can be refused, which the interface leaves open."""
    rail = Rail(
        lambda call, reply: Reply(400, {"error": "bad_request"}) if "X-Forwarded-For" in call.headers else reply
    )
    profile = PROFILE.replace('"reference"', f'"{defaults}"')
    assert (await run_check(ANY_UNPAID, rail, profile))["RAIL-402-01"] is verdict


@pytest.mark.parametrize("profile", [PROFILE, PROFILE.replace('"reference"', '"none"')])
@pytest.mark.parametrize(
    "let_in",
    [
        lambda call: call.headers.get("X-Forwarded-For") == "127.0.0.1",
        lambda call: call.path.endswith("/"),
        lambda call: "//" in call.path,
        lambda call: call.path != call.path.lower(),
        lambda call: "/./" in call.path,
    ],
)
async def test_a_way_round_the_price_is_told(let_in: Callable[[Call], bool], profile: str) -> None:
    """Headers that claim a local client, and a path that a router takes for the paid one, gain nothing."""
    result = {"result": {"verdict": "ALLOW"}}
    rail = Rail(lambda call, reply: Reply(200, result) if let_in(call) and call.method == "POST" else reply)
    assert (await run_check(ANY_UNPAID, rail, profile))["RAIL-402-01"] is Verdict.FAIL


async def test_a_page_at_another_path_is_no_way_round() -> None:
    """Nothing is handed over by a 200 that holds nothing that is sold."""
    rail = Rail(lambda call, reply: Reply(200, {"hint": "no slash"}) if call.path.endswith("/") else reply)
    assert find_broken_rows(await run_check(ANY_UNPAID, rail)) == set()


async def test_an_honest_rail_challenges_every_unpaid_call() -> None:
    """The three rows pass."""
    assert set((await run_check(ANY_UNPAID, Rail())).values()) == {Verdict.PASS}


@pytest.mark.parametrize("members", [{"accepts": []}, {"accepts": None}, {"accepts": {}}])
async def test_a_challenge_without_accepts_is_no_challenge(members: dict[str, Any]) -> None:
    """A challenge without entries breaks a separate row."""
    assert "RAIL-402-04" in find_broken_rows(await run_check(UNPAID, document(**members)))


async def test_two_entries_for_one_network_are_one_too_many() -> None:
    """The same lane twice is detected."""

    def double_entries(_: Call, reply: Reply) -> Reply:
        if reply.status == 402:
            reply.document["accepts"] *= 2
        return reply

    assert find_broken_rows(await run_check(UNPAID, Rail(double_entries))) == {"RAIL-402-05"}


@pytest.mark.parametrize(
    ("shareable", "headers"),
    [
        (False, {}),
        (False, {"Cache-Control": "no-store"}),
        (False, {"Cache-Control": "private, max-age=60"}),
        (False, {"Cache-Control": "max-age=0, must-revalidate"}),
        (False, {"Cache-Control": "no-cache"}),
        (False, {"Cache-Control": "no-store", "Expires": "Fri, 01 Jan 2100 00:00:00 GMT"}),
        (False, {"Expires": "0", "Date": "Fri, 01 Jan 2027 00:00:00 GMT"}),
        (True, {"Cache-Control": "public"}),
        (True, {"Cache-Control": "PUBLIC, max-age=0"}),
        (True, {"Cache-Control": "max-age=60"}),
        (True, {"Cache-Control": 's-maxage="5", max-age=0'}),
        (True, {"Expires": "Fri, 01 Jan 2100 00:00:00 GMT", "Date": "Fri, 01 Jan 2027 00:00:00 GMT"}),
    ],
)
def test_what_a_shared_cache_may_keep(shareable: bool, headers: dict[str, str]) -> None:
    """Leave is given by public, a lifetime or a later expiry, and taken back by private or no-store."""
    assert shareable is is_shareable(answer(headers))


def test_a_token_in_a_challenge_is_goods_unless_an_extension_signs_an_offer() -> None:
    """A signed token anywhere in a 402 leaks, save in extensions and in the header that repeats the body."""
    token = Rail().sign({"kind": "x"})
    body = f'{{"hint": "{token}"}}'.encode()
    assert find_leaks(answer(body=body)) == ["body:hint"]
    assert find_leaks(answer(body=f'{{"extensions": {{"offer": "{token}"}}}}'.encode())) == []
    assert find_leaks(answer({"X-Receipt": token})) == ["header:X-Receipt"]


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key", "X-Tenant-Id", "Cookie"])
@pytest.mark.parametrize("status", [200, 401, 403])
async def test_a_credential_that_changes_the_answer_is_told(header: str, status: int) -> None:
    """A rail that looks at one kind of credential only is seen."""
    rail = Rail(lambda call, reply: Reply(status, {}) if header in call.headers else reply)
    assert find_broken_rows(await run_check("account_credentials_change_nothing", rail)) == {"RAIL-402-13"}


@pytest.mark.parametrize(("price", "broken"), [("9000", {"RAIL-402-13"}), ("10000", set())])
async def test_a_credential_that_changes_the_price_is_told(price: str, broken: set[str]) -> None:
    """Who has an account pays what everybody pays."""

    def change_price(call: Call, reply: Reply) -> Reply:
        if reply.status == 402 and "X-API-Key" in call.headers:
            reply.document["accepts"][0]["maxAmountRequired"] = price
        return reply

    assert find_broken_rows(await run_check("account_credentials_change_nothing", Rail(change_price))) == broken


async def test_a_price_that_changes_by_itself_is_nobodys_discount() -> None:
    """A price of the moment differs without a credential, too."""
    prices = iter(range(10_000, 20_000))

    def change_price(_: Call, reply: Reply) -> Reply:
        if reply.status == 402:
            reply.document["accepts"][0]["maxAmountRequired"] = str(next(prices))
        return reply

    assert find_broken_rows(await run_check("account_credentials_change_nothing", Rail(change_price))) == set()


async def test_a_listed_address_is_called_by_the_method_it_is_declared_with() -> None:
    """An operation that is free by GET is detected, though its POST costs something."""

    def free_to_get(call: Call, reply: Reply) -> Reply:
        if call.path == "/openapi.json":
            for item in reply.document["paths"].values():
                item["get"] = item["post"]
        return Reply(200, {}) if call.method == "GET" and call.path.startswith("/pay/v1/v") else reply

    assert find_broken_rows(await run_check("every_listed_operation_costs_something", Rail(free_to_get))) == {
        "RAIL-402-19"
    }
    assert find_broken_rows(await run_check("every_listed_operation_costs_something", Rail())) == set()


async def test_an_address_outside_the_paid_prefix_is_called_too() -> None:
    """A catalog that lists a free address is detected, wherever the address is."""

    def change_listing(call: Call, reply: Reply) -> Reply:
        if call.path == "/.well-known/x402":
            reply.document["resources"].append("http://rail.test/free")
        return Reply(200, {}) if call.path == "/free" else reply

    assert find_broken_rows(await run_check("every_listed_operation_costs_something", Rail(change_listing))) == {
        "RAIL-402-19"
    }


def test_paid_methods_are_those_that_say_so() -> None:
    """A method counts by its extension or its 402, and anything else is ignored."""
    openapi = {
        "paths": {"/a": {"get": {"responses": {"402": {}}}, "post": {"responses": {}}, "parameters": []}, "/b": 5}
    }
    assert list(list_paid_methods(openapi)) == [("/a", "GET")]
    assert list(list_paid_methods({"paths": []})) == []


def listing(base: str, did: str = "did:web:rail.test") -> Rail:
    """Return a rail whose catalog lists addresses below this one."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        if call.path == "/.well-known/x402":
            return Reply(200, {"resources": [base + path for path in PATHS]})
        return Reply(200, {**reply.document, "id": did}) if call.path.endswith("did.json") else reply

    return Rail(change_reply)


@pytest.mark.parametrize(
    ("verdict", "rail"),
    [
        (Verdict.WARN, listing("http://10.0.0.7:8402")),
        (Verdict.WARN, listing("http://rail.test:8402")),
        (Verdict.PASS, listing("http://rail.test:80")),
        (Verdict.PASS, listing("")),
        (Verdict.PASS, listing("https://shop.example", "did:web:shop.example")),
    ],
)
async def test_a_catalog_that_lists_another_host_warns(verdict: Verdict, rail: Rail) -> None:
    """Unless the rail says by its DID that its public address is another than the one under test."""
    assert (await run_check("every_listed_operation_costs_something", rail))["RAIL-402-19"] is verdict
