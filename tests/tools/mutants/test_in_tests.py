"""The mutants that tests must notice fit the files that they change, and a run reports which test noticed each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.mutants import in_tests, scratch
from tools.mutants.choice import Mutant
from tools.mutants.in_tests import MutantForTests, load
from tools.mutants.mutant_definitions import Edit, EditFault
from tools.mutants.results import Results
from tools.mutants.scratch import ROOT

MUTANTS = load()
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


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_an_entry_fits_the_checkout(mutant: MutantForTests) -> None:
    """Its text occurs exactly once in its file, and the tests that it names exist."""
    mutant.edited_texts(ROOT)


def test_there_are_sixty_over_all_packages() -> None:
    """There are at least sixty mutants, and at least one for every package with its own rules."""
    assert len(MUTANTS) >= 60
    assert [area for area in AREAS if not any(one.place.startswith(f"{area}/") for one in MUTANTS)] == []


def mutant(
    find: str, put: str, *tests: str, file: str = "it.py", wider: tuple[str, ...] = (), name: str = "it"
) -> MutantForTests:
    """Return a mutant with one edit."""
    return MutantForTests(id=name, edits=(Edit(file, find, put),), breaks="It.", tests=tests, wider=wider)


def test_an_entry_that_no_longer_fits_is_refused(tmp_path: Path) -> None:
    """A text that is missing or occurs twice, a missing file and a missing test are each an error."""
    (tmp_path / "test_it.py").touch()
    (tmp_path / "it.py").write_text("one\ntwo\ntwo\n", "utf-8")
    assert mutant("one", "1", "test_it.py::test_one").edited_texts(tmp_path) == {"it.py": "1\ntwo\ntwo\n"}
    for wrong in (
        mutant("two", "2", "test_it.py"),
        mutant("three", "3", "test_it.py"),
        mutant("one", "1", "test_it.py", file="other.py"),
        mutant("one", "1", "test_gone.py"),
        mutant("one", "1", "test_it.py", wider=("gone",)),
        mutant("one", "1"),
        mutant("one", "one", "test_it.py"),
    ):
        with pytest.raises(EditFault, match=r"\Ait: "):
            wrong.edited_texts(tmp_path)


def test_a_run_reports_which_test_noticed_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A noticed mutant, one that no test notices, one whose test fails without it, and one that does not fit."""
    checkout = tmp_path / "checkout"
    (checkout / "trial").mkdir(parents=True)
    (checkout / "trial" / "__init__.py").write_text("PRICE = 3\nTITLE = 'x'\n", "utf-8")
    text = (
        'import trial\n\ndef test_price():\n    """The price is three."""\n    assert trial.PRICE == 3\n'
        "\ndef test_broken():\n    assert trial.TITLE == 'z'\n"
    )
    (checkout / "test_trial.py").write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    monkeypatch.setattr(scratch, "_PACKAGES", ("trial",))
    price, file = "test_trial.py::test_price", "trial/__init__.py"
    results = Results(tmp_path / "results")
    mutants = [
        mutant("PRICE = 3", "PRICE = 4", price, file=file, name="noticed"),
        mutant("'x'", "'y'", price, file=file, name="missed"),
        mutant("'x'", "'y'", "test_trial.py::test_broken", file=file, name="broken"),
        mutant("PRICE = 5", "PRICE = 4", price, file=file, name="unfit"),
    ]
    listed_mutants = [Mutant(one.id, one.place, one.breaks, one) for one in mutants]
    in_tests.run_mutants(mutants, results, checkout)
    kept_results = Results(tmp_path / "results").of(in_tests.KIND, listed_mutants)
    assert [{**one, "wrong": [*one["wrong"]]} for one in results.of(in_tests.KIND, listed_mutants)] == kept_results
    assert results.mutants_without_result(in_tests.KIND, listed_mutants) == []
    assert [one["outcome"] for one in kept_results] == ["killed", "survived", "no-verdict", "no-verdict"]
    assert kept_results[0]["killed_by"] == {price: "The price is three."}
    assert [bool(one["wrong"]) for one in kept_results] == [False, True, True, True]
    assert (checkout / file).read_text("utf-8").startswith("PRICE = 3\n")
