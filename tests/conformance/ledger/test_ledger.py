"""The ledger: every requirement, once, as data."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from conformance.engine.registration import registered
from conformance.ledger import NEWEST, load
from conformance.vocabulary.claims import CHECKOUT, PAYMENT_RESPONSE, RECORDS, TENANTS
from conformance.vocabulary.lanes.families import OFFERS


def test_the_first_ledger_holds_every_row() -> None:
    """403 rows, 287 stated, 326 MUST, all of which decide; per surface as the interface is cut."""
    rows = list(load().at(1))
    assert len(rows) == len({row.id for row in rows}) == 403
    assert Counter(row.level for row in rows) == {"MUST": 326, "SHOULD": 75, "MAY": 2}
    assert Counter(row.basis for row in rows) == {"stated": 287, "implied": 116}
    assert Counter(row.level for row in rows if row.decides) == {"MUST": 326}
    assert Counter(row.surface for row in rows) == {
        "gateway": 126,
        "rail": 100,
        "control_plane": 68,
        "agent": 63,
        "webhooks": 37,
        "shared": 9,
    }


def test_the_second_ledger_adds_rows_for_who_claims_them() -> None:
    """Each of its rows is of an option that no target has to claim, and decides if it is claimed; none is changed."""
    added = [row for row in load().at(NEWEST) if row.id not in load().at(1)]
    assert len(added) == 14
    assert {(row.since, row.basis, row.level) for row in added} == {(2, "claimed", "MUST")}
    assert {row.option for row in added} == {RECORDS, CHECKOUT, TENANTS, PAYMENT_RESPONSE}
    assert [row for row in load() if row not in added] == list(load().at(1))


def test_prefixes_select_by_letters() -> None:
    """A prefix selects by its letters, in ledger order; no prefix selects all; an unknown one is named."""
    ledger = load()
    assert len(ledger.select(["RAIL"])) == 101
    assert [row.id for row in ledger.select(["rail-weld-02"])] == ["RAIL-WELD-02"]
    assert {row.id.rsplit("-", 1)[0] for row in ledger.select(["RAIL-RCPT", "RAIL-KEY"])} == {"RAIL-RCPT", "RAIL-KEY"}
    assert len(ledger.select([])) == 417
    assert ledger.select(["rail-wel"]) == ledger.select(["RAIL-WELD"])
    assert [row.id for row in ledger.select(["RAIL-WELD-0"])][-1] == "RAIL-WELD-09"
    with pytest.raises(LookupError, match="RAIL-WLD"):
        ledger.select(["RAIL-WLD"])
    with pytest.raises(LookupError, match=r"^$"):
        ledger.select([" "])


def test_rows_without_a_wire_say_why() -> None:
    """Each row that only reading can decide carries its written reason."""
    assert all(row.documented for row in load() if "D" in row.needs)


def test_a_row_that_one_lane_shows_is_of_that_lane() -> None:
    """A run of other lanes, or a target without that lane, is not left without a verdict for want of it (GW-CHK-15)."""
    lanes: defaultdict[str, set[str | None]] = defaultdict(set)
    for one in registered():
        for row in one.rows:
            lanes[row].add(one.lane)
    alone = {row: found.pop() for row, found in lanes.items() if len(found) == 1 and found.isdisjoint({None, "each"})}
    assert alone == {row: load()[row].lane for row in alone}
    assert alone["GW-CHK-15"] == "algorand"


def test_what_is_of_one_lane_alone_names_it() -> None:
    """Each row of a lane's offer is in the ledger and names the lane; a rule of the protocol is of the whole family."""
    assert all(load()[row].lane is not None for row in OFFERS)
    assert {row.rpartition("-")[0] for row in OFFERS} == {"RAIL-LANE"}
