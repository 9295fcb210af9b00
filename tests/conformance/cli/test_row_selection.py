"""Which rows `weldproof run` takes up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.cli.row_selection import chosen, wanted
from conformance.engine import check
from conformance.engine.runner import absent, select_checks
from conformance.ledger import load
from conformance.processes.own_stack import surface_options
from conformance.target import Claims, Profile, Surface
from conformance.vocabulary.claims import LANES, OPTIONS, SURFACES
from conformance.vocabulary.lanes.registry import FACTS

CLAIMS = Claims(surfaces=SURFACES, lanes=("algorand",))


def test_a_whole_surface_brings_its_document_along() -> None:
    """`run GW` drives the gateway's OpenAPI document; a part of it does not."""
    whole = {row.id for row in chosen(["GW"])}
    assert whole == {row.id for row in load() if row.id.startswith("GW-")} | {"X-OAS-01"}
    assert {row.id for row in chosen(["gw-link", "RAIL-402-01"])}.isdisjoint({"X-OAS-01"})


def test_nothing_named_is_everything() -> None:
    """Without ids every row is taken up once."""
    assert [row.id for row in chosen([])] == [row.id for row in load()]


def test_the_first_ledger_is_judged_as_before() -> None:
    """`run --ledger 1` takes up what was there before; an id that came later is none of it."""
    assert [row.id for row in chosen([], 1)] == [row.id for row in load() if row.since == 1]
    assert {"GW-RES-03", "GW-RES-04", "GW-RES-05"} == {row.id for row in chosen(["GW-RES"])} - {
        row.id for row in chosen(["GW-RES"], 1)
    }
    with pytest.raises(LookupError, match="GW-RES-03"):
        chosen(["GW-RES-03"], 1)


def test_what_nobody_claims_applies_to_nobody() -> None:
    """A gateway that claims no option of the second ledger is judged by the first one."""
    profile = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)
    assert {row.id for row in load() if row.since > 1 and absent(row, profile) is None} == set()
    every = CLAIMS.model_copy(update={"lanes": LANES, "options": OPTIONS[-3:]})
    claimed = profile.model_copy(update={"claims": every})
    assert not [row.id for row in load() if row.since > 1 and absent(row, claimed) is not None]


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


def test_what_is_bound_to_a_lane_is_made_on_others_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """A further lane of a family has the family's checks; rows that name a lane are decided on that lane alone."""
    further = {"further": replace(FACTS["algorand"], name="further")}
    monkeypatch.setattr(check, "FACTS", {**FACTS, **further})
    claims = CLAIMS.model_copy(update={"lanes": ("algorand", "further")})
    known = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)
    profile = known.model_copy(update={"claims": claims})
    made = {one.id: one.lane for one in select_checks(chosen(["RAIL-WELD-05", "RAIL-LANE"]), profile)}
    assert made["stray_transfer"] == made["algorand_lane_is_offered"] == "algorand"
    assert made["stray_transfer[further]"] == "further"
    assert "algorand_lane_is_offered[further]" not in made
    alone = {one.id: one.lane for one in select_checks(chosen(["RAIL-WELD-05"]), profile, ("further",))}
    assert alone["stray_transfer[further]"] == "further"
    assert "algorand" not in alone.values()
