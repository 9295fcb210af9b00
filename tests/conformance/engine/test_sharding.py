"""A run shared out: the parts are all of it, each requirement once, and no check is of two parts."""

from __future__ import annotations

import pytest

from conformance.engine.catalogue import load_catalogue
from conformance.engine.sharding import select_part
from conformance.ledger import Requirement, load
from conformance.ledger.typical_seconds import typical_seconds

ROWS = tuple(load())


def applies(_: Requirement) -> bool:
    """Say that everything is there."""
    return True


@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_the_parts_are_all_of_it_once(of: int) -> None:
    """Every requirement is in one part, in the ledger's order, and every check has all its requirements in one."""
    parts = [select_part(ROWS, number, of, applies=applies) for number in range(1, of + 1)]
    assert sorted(row.id for one in parts for row in one) == sorted(row.id for row in ROWS)
    assert all(list(one) == sorted(one, key=ROWS.index) for one in parts)
    where = {row.id: number for number, one in enumerate(parts) for row in one}
    assert [check.id for check in load_catalogue() if len({where[row] for row in check.rows}) > 1] == []


def test_parts_take_alike() -> None:
    """Of six parts of the whole suite none has twice the seconds of another."""
    seconds = typical_seconds()
    loads = []
    for number in range(1, 7):
        ids = {row.id for row in select_part(ROWS, number, 6, applies=applies)}
        checks = {check.id for check in load_catalogue() if ids.intersection(check.rows)}
        loads.append(sum(taken for name, taken in seconds.items() if name.partition("[")[0] in checks))
    assert max(loads) < 2 * min(loads)


def test_what_does_not_apply_takes_nothing() -> None:
    """A target that is a rail has its rail shared out; what is not claimed is in one part with nothing to do."""
    parts = [select_part(ROWS, number, 4, applies=lambda row: row.surface == "rail") for number in range(1, 5)]
    rails = [sum(row.surface == "rail" for row in one) for one in parts]
    assert min(rails) > 0
    assert sorted(row.id for one in parts for row in one) == sorted(row.id for row in ROWS)


def test_more_parts_than_there_is_to_do_are_refused() -> None:
    """A machine with nothing to do would say that nothing was judged."""
    with pytest.raises(ValueError, match="make 1 parts with anything to do, not 2"):
        select_part((load()["RAIL-402-01"],), 2, 2, applies=applies)
