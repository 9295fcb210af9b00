"""The ledger: every requirement, once, as data."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from conformance.engine.check_loading import load_checks
from conformance.ledger import NEWEST, VERSIONS, load
from conformance.vocabulary.lanes.row_applicability import OFFERS
from conformance.vocabulary.profile_claims import (
    CHECKOUT,
    PAYMENT_RESPONSE,
    RECORDS,
    SHORT_HEADERS,
    SPECIFICATION,
    TENANTS,
)


def test_each_row_is_listed_once_and_decides_if_it_is_a_must() -> None:
    """Every version of the ledger contains that before it, row by row, and each row has the words of its columns."""
    rows = list(load())
    assert [name for name, count in Counter(row.id for row in rows).items() if count > 1] == []
    assert {row.level for row in rows} == {"MUST", "SHOULD", "MAY"}
    assert {row.surface for row in rows} == {
        *("gateway", "rail", "control_plane", "agent", "webhooks", "payer", "shared")
    }
    assert [row.id for row in rows if row.decides != (row.level == "MUST")] == []
    for before, after in pairwise(VERSIONS):
        assert [row for row in load().at_version(after) if row.since <= before] == list(load().at_version(before))


OPTIONS_OF_CLAIMED_ROWS = (RECORDS, CHECKOUT, TENANTS, PAYMENT_RESPONSE, SHORT_HEADERS, SPECIFICATION)


def test_rows_beyond_the_interface_bind_who_claims_them() -> None:
    """A row is stated or implied in the interface, or of an option that no target has to claim; then it decides."""
    claimed_rows = [row for row in load() if row.basis == "claimed"]
    assert {row.since for row in claimed_rows} <= {*VERSIONS[1:]}
    assert {row.surface for row in load() if row.since == NEWEST} == {"payer"}
    assert {row.level for row in claimed_rows} == {"MUST"}
    assert {row.option for row in claimed_rows} == {*OPTIONS_OF_CLAIMED_ROWS}
    assert {row.basis for row in load().at_version(1)} == {"stated", "implied"}


def test_prefixes_select_by_letters() -> None:
    """A prefix selects by its letters, in ledger order; no prefix selects all; an unknown one is named."""
    ledger = load()
    assert list(ledger.select(["RAIL"])) == [row for row in ledger if row.id.startswith("RAIL-")]
    assert [row.id for row in ledger.select(["rail-weld-02"])] == ["RAIL-WELD-02"]
    assert {row.id.rsplit("-", 1)[0] for row in ledger.select(["RAIL-RCPT", "RAIL-KEY"])} == {"RAIL-RCPT", "RAIL-KEY"}
    assert list(ledger.select([])) == list(ledger)
    assert ledger.select(["rail-wel"]) == ledger.select(["RAIL-WELD"])
    assert ledger.select(["rail-w"]) == ledger.select(["RAIL-WELD"])
    with pytest.raises(LookupError, match="RAIL-WLD"):
        ledger.select(["RAIL-WLD"])
    with pytest.raises(LookupError, match=r"^$"):
        ledger.select([" "])


@pytest.mark.parametrize("prefix", ["RAIL-WELD-1", "RAIL-WELD-0", "RAIL-4", "rail-40-"])
def test_a_prefix_does_not_end_inside_a_number(prefix: str) -> None:
    """A mistyped number selects no other row."""
    with pytest.raises(LookupError, match=prefix.upper().rstrip("-")):
        load().select(["RAIL-WELD-10", prefix])


def test_rows_without_a_wire_say_why() -> None:
    """Each row that only reading can decide carries its written reason."""
    assert all(row.documented for row in load() if "D" in row.needs)


def test_a_row_that_one_lane_shows_is_of_that_lane() -> None:
    """A run of other lanes, or a target without that lane, is not left without a verdict for want of it (GW-CHK-15)."""
    lanes: defaultdict[str, set[str | None]] = defaultdict(set)
    for check in load_checks():
        for row in check.rows:
            lanes[row].add(check.lane)
    alone = {row: found.pop() for row, found in lanes.items() if len(found) == 1 and found.isdisjoint({None, "each"})}
    assert alone == {row: load()[row].lane for row in alone}
    assert alone["GW-CHK-15"] == "algorand"


def test_what_is_of_one_lane_alone_names_it() -> None:
    """Each row of a lane's offer is in the ledger and names the lane; a rule of the protocol is of the whole family."""
    assert all(load()[row].lane is not None for row in OFFERS)
    assert {row.rpartition("-")[0] for row in OFFERS} == {"RAIL-LANE"}
