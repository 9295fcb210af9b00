"""What the checks of published documents make of catalogs that agree, differ, or have a shape of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.discovery.rail import path_of
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import BASE, PATHS, Call, Rail, Reply, run_check
from tests.conformance.checks.trial import find_broken_rows

AGREE = "catalogs_agree"
OUTSIDE = {"url": "/v2/outside"}
PRICES_CHECK = "openapi_says_what_costs"


def publish(path: str, change: Callable[[Any], Any]) -> Rail:
    """Return a rail whose document at `path` is another."""

    def change_reply(call: Call, reply: Reply) -> Reply:
        return Reply(reply.status, change(reply.document)) if call.path == path else reply

    return Rail(change_reply)


async def test_documents_that_agree_break_no_row() -> None:
    """Every row of the three checks passes."""
    for check in (AGREE, PRICES_CHECK, "documents_are_free"):
        assert set((await run_check(check, Rail())).values()) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("rows", "path", "change"),
    [
        ({"RAIL-DISC-06"}, "/.well-known/x402", lambda one: {"resources": one["resources"][1:]}),
        ({"RAIL-DISC-06"}, "/discovery/resources", lambda one: {"items": one["items"][1:]}),
        ({"RAIL-DISC-04", "RAIL-DISC-06"}, "/.well-known/x402", lambda _: {"resources": []}),
        ({"RAIL-DISC-05", "RAIL-DISC-06"}, "/discovery/resources", lambda _: {"items": []}),
        ({"RAIL-DISC-13"}, "/pay/v1/index", lambda one: {"services": one["services"][1:]}),
        (
            {"RAIL-DISC-12", "RAIL-DISC-13"},
            "/pay/v1/index",
            lambda one: {"services": [{"url": "/v2/x"}, *one["services"]]},
        ),
        ({"RAIL-DISC-13"}, "/openapi.json", lambda one: {**one, "paths": dict(list(one["paths"].items())[1:])}),
    ],
)
async def test_documents_that_differ_break_their_rows(rows: set[str], path: str, change: Callable[[Any], Any]) -> None:
    """Each difference is reported by the row that compares the two."""
    # The index is compared with OpenAPI, so a shorter OpenAPI document differs from it as well: the same row.
    assert find_broken_rows(await run_check(AGREE, publish(path, change))) == rows


@pytest.mark.parametrize(
    "shape",
    [
        {"products": [{"endpoint": {"href": BASE + path}} for path in PATHS]},
        {"routes": {path: {"price": "0.01"} for path in PATHS} | {"all": list(PATHS)}},
    ],
)
async def test_a_catalog_of_another_shape_is_read_by_its_addresses(shape: dict[str, Any]) -> None:
    """The interface leaves the shape open, so any address under the paid prefix counts."""
    assert find_broken_rows(await run_check(AGREE, publish("/.well-known/x402", lambda _: shape))) == set()


async def test_a_catalog_that_cannot_be_read_decides_nothing() -> None:
    """Names without addresses break nothing that the suite could show."""
    verdicts = await run_check(AGREE, publish("/.well-known/x402", lambda _: {"products": ["verify", "http://[bad"]}))
    assert verdicts["RAIL-DISC-04"] is Verdict.INCONCLUSIVE
    assert verdicts["RAIL-DISC-06"] is Verdict.INCONCLUSIVE
    assert find_broken_rows(verdicts) == set()


@pytest.mark.parametrize("path", ["/.well-known/x402", "/discovery/resources", "/pay/v1/index"])
async def test_a_document_that_is_not_there_breaks_its_row(path: str) -> None:
    """404 is reported for each of the three."""
    rail = Rail(lambda call, reply: Reply(404, {"detail": "Not Found"}) if call.path == path else reply)
    row = {"/.well-known/x402": "RAIL-DISC-04", "/discovery/resources": "RAIL-DISC-05"}.get(path, "RAIL-DISC-07")
    assert row in find_broken_rows(await run_check(AGREE, rail))
    assert find_broken_rows(await run_check("documents_are_free", rail)) == {"RAIL-DISC-11"}


@pytest.mark.parametrize(("row", "mark"), [("RAIL-DISC-09", "x-payment-info"), ("RAIL-DISC-10", "402")])
async def test_a_paid_operation_without_its_mark_is_told(row: str, mark: str) -> None:
    """One operation without price, or without a declared 402, breaks the row."""

    def bare(document: Any) -> Any:
        path = next(iter(PATHS))
        operation = document["paths"][path]["post"]
        responses = {name: one for name, one in operation["responses"].items() if name != mark}
        change_reply = {name: one for name, one in {**operation, "responses": responses}.items() if name != mark}
        return {**document, "paths": {**document["paths"], path: {"post": change_reply}}}

    assert find_broken_rows(await run_check(PRICES_CHECK, publish("/openapi.json", bare))) == {row}


async def test_an_invalid_openapi_document_is_told() -> None:
    """A document that the standard's own validator refuses breaks its row."""
    rail = publish("/openapi.json", lambda one: {name: one[name] for name in one if name != "info"})
    assert find_broken_rows(await run_check(PRICES_CHECK, rail)) == {"RAIL-DISC-08"}


async def test_an_openapi_document_in_pieces_is_not_judged() -> None:
    """Where a reference leads out of the document nothing is fetched: whether it is valid stays open."""
    rail = publish("/openapi.json", lambda one: {**one, "components": {"schemas": {"A": {"$ref": "other.json"}}}})
    verdicts = await run_check(PRICES_CHECK, rail)
    assert verdicts.pop("RAIL-DISC-08") is Verdict.INCONCLUSIVE
    assert set(verdicts.values()) == {Verdict.PASS}


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/pay/v1/a", "http://rail.test/pay/v1/a?x=1"),
        ("/pay/v1/a", "/pay/v1/a"),
        ("/pay/v1/a", "http://rail.test/base/pay/v1/a"),
        ("", "http://[bad/pay"),
        ("", ""),
    ],
)
def test_the_path_of_an_address(path: str, url: str) -> None:
    """Absolute and relative addresses have one, and another text has none."""
    assert path_of("http://rail.test/base", url) == path


def _below_a_server(document: Any) -> Any:
    servers = [{"url": BASE + "/pay/v1"}]
    paths = {path.removeprefix("/pay/v1"): {"servers": servers, **item} for path, item in document["paths"].items()}
    return {**document, "paths": paths}


@pytest.mark.parametrize("check", [AGREE, PRICES_CHECK, "every_listed_operation_costs_something", "nobody_signs_in"])
async def test_paths_below_the_servers_of_their_item_are_found(check: str) -> None:
    """OpenAPI lets a path item say below which server its path stands."""
    verdicts = await run_check(check, publish("/openapi.json", _below_a_server))
    assert set(verdicts.values()) == {Verdict.PASS}, verdicts
