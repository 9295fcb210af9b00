"""The seeded faults fit the tree that they are put into, so that the list cannot rot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seeded_faults.records import Fault, Rotten, chosen, load

ROOT = Path(__file__).parents[2]
FAULTS = load()
AREAS = (
    *("reference/protocol", "reference/rail", "reference/gateway", "reference/webhooks", "reference/agent"),
    *("reference/control_plane", "reference/addons", "reference/store", "reference/web", "reference/lanes"),
    *("sim/algorand", "sim/base", "sim/solana", "localnet"),
    *(
        "conformance/oracles",
        "conformance/checks",
        "conformance/attacks",
        "conformance/lanes",
        "conformance/receipts",
    ),
    *(
        "conformance/vectors/runner",
        "conformance/vectors/judges",
        "conformance/webhook_receiver",
        "conformance/surfaces/control_plane",
    ),
    *("conformance/pages", "conformance/discovery", "tests/conformance/fuzz"),
    *("conformance/cli", "conformance/target", "conformance/selftest", "conformance/report"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_record_fits_the_tree(fault: Fault) -> None:
    """Its old text stands exactly once in its file, and the tests that it names are there."""
    fault.fit(ROOT)


def test_there_are_sixty_over_all_packages() -> None:
    """At least sixty faults are kept, and at least one for every package with rules of its own."""
    assert len(FAULTS) >= 60
    assert [area for area in AREAS if not any(one.file.startswith(f"{area}/") for one in FAULTS)] == []


def test_shards_are_all_of_them_once() -> None:
    """The parts of the list make up the whole list, none of it twice."""
    parts = [one.id for part in (1, 2, 3) for one in chosen(FAULTS, (), (part, 3))]
    assert sorted(one.id for one in FAULTS) == sorted(parts)


def test_a_record_that_no_longer_fits_is_told(tmp_path: Path) -> None:
    """An old text that is gone or stands twice, a file that is gone and a test that is gone each end in a refusal."""
    (tmp_path / "test_it.py").touch()
    (tmp_path / "it.py").write_text("one\ntwo\ntwo\n", "utf-8")
    sound = Fault("it", "it.py", "one", "1", "It.", ("test_it.py::test_one",))
    sound.fit(tmp_path)
    for wrong in (
        Fault("it", "it.py", "two", "2", "It.", ("test_it.py",)),
        Fault("it", "it.py", "three", "3", "It.", ("test_it.py",)),
        Fault("it", "other.py", "one", "1", "It.", ("test_it.py",)),
        Fault("it", "it.py", "one", "1", "It.", ("test_gone.py",)),
        Fault("it", "it.py", "one", "1", "It.", ("test_it.py",), ("gone",)),
        Fault("it", "it.py", "one", "1", "It.", ()),
        Fault("it", "it.py", "one", "one", "It.", ("test_it.py",)),
    ):
        with pytest.raises(Rotten):
            wrong.fit(tmp_path)
