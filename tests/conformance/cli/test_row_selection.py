"""Which rows `weldproof run` takes up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.cli.run.options import RunOptions
from conformance.cli.run.row_selection import drop_foreign_documents, select_ids, select_rows
from conformance.engine.runner import explain_absence, select_checks
from conformance.ledger import load
from conformance.processes.own_stack import list_surface_options
from conformance.target import Claims, Profile, Surface
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.lanes.row_applicability import OFFERS
from conformance.vocabulary.profile_claims import LANES, OPTIONS, RECEIPTS_ONLY, SURFACES

CLAIMS = Claims(surfaces=SURFACES, lanes=("algorand",))
FAMILIES = tuple(name for name, lane in FACTS.items() if lane.family == name)


def test_a_whole_surface_brings_its_document_along() -> None:
    """`run GW` drives the gateway's OpenAPI document; a part of it does not."""
    whole = {row.id for row in select_ids(["GW"])}
    assert whole == {row.id for row in load() if row.id.startswith("GW-")} | {"X-OAS-01"}
    assert {row.id for row in select_ids(["gw-link", "RAIL-402-01"])}.isdisjoint({"X-OAS-01"})


def test_nothing_named_is_everything() -> None:
    """Without ids every row is taken up once."""
    assert [row.id for row in select_ids([])] == [row.id for row in load()]


def test_the_first_ledger_is_judged_as_before() -> None:
    """`run --ledger 1` takes up what was there before; an id that came later does not belong to it."""
    assert [row.id for row in select_ids([], 1)] == [row.id for row in load() if row.since == 1]
    assert {"GW-RES-03", "GW-RES-04", "GW-RES-05"} == {row.id for row in select_ids(["GW-RES"])} - {
        row.id for row in select_ids(["GW-RES"], 1)
    }
    with pytest.raises(LookupError, match="GW-RES-03"):
        select_ids(["GW-RES-03"], 1)


def test_what_nobody_claims_applies_to_nobody() -> None:
    """A gateway that claims no option of the second ledger is judged by the first one; payers are the third."""
    profile = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)
    assert {row.id for row in load() if row.since == 2 and explain_absence(row, profile) is None} == set()
    options = tuple(option for option in OPTIONS if option != RECEIPTS_ONLY)
    every = CLAIMS.model_copy(update={"lanes": LANES, "options": options, "specification": "1"})
    claiming_profile = profile.model_copy(update={"claims": every})
    assert not [row.id for row in load() if row.since > 1 and explain_absence(row, claiming_profile) is not None]


def test_webhooks_bring_the_gateway_up() -> None:
    """Webhooks come with the gateway; the row about rail and agent brings these, too."""
    gateway = ["--surface", "gateway", "--companions"]
    three = ["--surface", "agent", "--surface", "gateway", "--surface", "rail", "--companions"]
    all_words = [*three[:2], "--surface", "control_plane", *three[2:]]
    assert list_surface_options(select_ids(["WH-SIG", "WH-BODY"])) == gateway
    assert list_surface_options(select_ids(["WH"])) == three
    assert list_surface_options(select_ids(["X-NET-01"])) == all_words
    assert list_surface_options(select_ids(["GW-LINK"])) == gateway
    assert list_surface_options(select_ids(["GW-LINK"]), companions=False) == gateway[:-1]
    assert list_surface_options(select_ids(["CP"])) == ["--surface", "control_plane"]


def test_a_whole_surface_is_driven_by_its_own_document_only() -> None:
    """`run RAIL` sends no generated calls to the gateway; who names the row itself, or everything, gets all of them."""
    profile = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)

    def list_driven(*ids: str) -> set[str]:
        checks = drop_foreign_documents(select_checks(select_ids(ids), profile), ids)
        return {one.surface for one in checks if "X-OAS-01" in one.rows}

    assert list_driven("RAIL") == {"rail"}
    assert list_driven("gw-", "cp") == {"gateway", "control_plane"}
    assert list_driven("RAIL", "X-OAS") == list_driven() == {"agent", "control_plane", "gateway", "rail"}
    assert list_driven("RAIL-402") == set()


def further_lanes(monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Return the profile of a target that offers a further lane of each family, and no other lane."""
    for family in FAMILIES:
        monkeypatch.setitem(FACTS, f"{family}-2", replace(FACTS[family], name=f"{family}-2"))
    lanes, options = tuple(f"{family}-2" for family in FAMILIES), tuple(one for one in OPTIONS if one != RECEIPTS_ONLY)
    claims = CLAIMS.model_copy(update={"lanes": lanes, "options": options})
    known_profile = Profile(surfaces={name: Surface(url="http://127.0.0.1:9") for name in SURFACES}, claims=CLAIMS)
    return known_profile.model_copy(update={"claims": claims})


def beside(profile: Profile, *lanes: str) -> Profile:
    """Return the profile with lanes claimed before its own."""
    claims = profile.claims.model_copy(update={"lanes": (*lanes, *profile.claims.lanes)})
    return profile.model_copy(update={"claims": claims})


def test_what_is_bound_to_a_lane_is_made_on_others_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """A further lane of a family has all checks of the family, but for those of another lane's offer."""
    further = further_lanes(monkeypatch)
    checks = select_checks(select_ids([]), beside(further, *FAMILIES))
    own = {one.lane: {two.id for two in checks if two.lane == one.lane} for one in checks if one.lane in FAMILIES}
    offers = {"algorand_lane_is_offered", "base_lane_is_offered", "solana_lane_is_offered"}
    for family in FAMILIES:
        names = {name.partition("[")[0] for name in own[family]} - offers
        assert {one.id for one in checks if one.lane == f"{family}-2"} == {f"{name}[{family}-2]" for name in names}
    welds = {"note_without_the_token[algorand-2]", "nonce_that_is_not_the_tokens[base-2]"}
    assert {*welds, "transfer_without_the_reference[solana-2]"} <= {one.id for one in checks}
    alone = select_checks(select_ids([]), further)
    assert [one.id for one in alone] == [one.id for one in checks if one.lane not in FAMILIES]


def test_a_row_that_names_a_lane_is_of_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """It applies where any lane of the family is offered and run; a row of that very lane's offer does not."""
    further = further_lanes(monkeypatch)
    rows = [row for row in load() if row.lane is not None]
    assert {row.id for row in rows if explain_absence(row, further) is not None} == OFFERS
    weld, offer = load()["RAIL-WELD-01"], load()["RAIL-LANE-01"]
    both_lanes = beside(further, "algorand")
    assert explain_absence(weld, further, ("algorand-2",)) is explain_absence(weld, both_lanes, ("algorand-2",)) is None
    assert explain_absence(weld, both_lanes, ("base-2",)) == "this run leaves out the lanes algorand and algorand-2"
    assert explain_absence(offer, both_lanes) is None
    assert explain_absence(offer, both_lanes, ("algorand-2",)) == "this run leaves out the lane algorand"
    assert explain_absence(offer, further) == "the profile does not claim the lane algorand"
    options = RunOptions(ids=("RAIL-WELD", "RAIL-LANE"), ledger=1, lanes=("algorand-2",))
    row_ids = {row.id for row in select_rows(options)}
    assert {"RAIL-WELD-01", "RAIL-WELD-02", "RAIL-WELD-05"} <= row_ids
    assert row_ids.isdisjoint({"RAIL-LANE-01", "RAIL-WELD-03", "RAIL-WELD-04"})
    ids = {one.id for one in select_checks([weld], further, ("algorand-2",))}
    assert ids == {"note_without_the_token[algorand-2]"}
