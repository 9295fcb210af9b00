"""Which rows `weldproof run` takes up."""

from __future__ import annotations

from conformance.cli.running import chosen, wanted
from conformance.engine.runner import select_checks
from conformance.ledger import load
from conformance.processes.own_stack import surface_options
from conformance.target import Claims, Profile, Surface
from conformance.vocabulary.claims import SURFACES

CLAIMS = Claims(surfaces=SURFACES, lanes=("algorand",))


def test_a_whole_surface_brings_its_document_along() -> None:
    """`run GW` drives the gateway's OpenAPI document; a part of it does not."""
    whole = {row.id for row in chosen(["GW"])}
    assert whole == {row.id for row in load() if row.id.startswith("GW-")} | {"X-OAS-01"}
    assert {row.id for row in chosen(["gw-link", "RAIL-402-01"])}.isdisjoint({"X-OAS-01"})


def test_nothing_named_is_everything() -> None:
    """Without ids every row is taken up once."""
    assert [row.id for row in chosen([])] == [row.id for row in load()]


def test_webhooks_bring_the_gateway_up() -> None:
    """Webhooks come with the gateway; the row about rail and agent brings these, too."""
    gateway = ["--surface", "gateway", "--companions"]
    three = ["--surface", "agent", "--surface", "gateway", "--surface", "rail", "--companions"]
    everything = [*three[:2], "--surface", "control_plane", *three[2:]]
    assert surface_options(chosen(["WH-SIG", "WH-BODY"])) == gateway
    assert surface_options(chosen(["WH"])) == three
    assert surface_options(chosen(["X-NET-01"])) == everything
    assert surface_options(chosen(["GW-LINK"])) == gateway
    assert surface_options(chosen(["GW-LINK"]), companions=False) == gateway[:-1]
    assert surface_options(chosen(["CP"])) == ["--surface", "control_plane"]


def test_a_whole_surface_is_driven_by_its_own_document_only() -> None:
    """`run RAIL` sends no generated calls to the gateway; who names the row itself, or everything, gets all of them."""
    profile = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)

    def driven(*ids: str) -> set[str]:
        checks = wanted(select_checks(chosen(ids), profile), ids)
        return {one.surface for one in checks if "X-OAS-01" in one.rows}

    assert driven("RAIL") == {"rail"}
    assert driven("gw-", "cp") == {"gateway", "control_plane"}
    assert driven("RAIL", "X-OAS") == driven() == {"agent", "control_plane", "gateway", "rail"}
    assert driven("RAIL-402") == set()
