"""The mutants of the servers in `examples/second`: each fits its file, and each page lists the recorded verdicts."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from conformance.ledger import load as load_ledger
from tools.mutants.mutant_definitions import Edit, EditFault
from tools.mutants.results import Results
from tools.mutants.second import trials
from tools.mutants.second.mutants import SecondMutant, load, load_recorded, record
from tools.mutants.second.page import page
from tools.mutants.second.trials import SERVERS, Server, found_by, load_all

HAND_MADE = """
[[mutant]]
id = "a"
clause = "1"
judged = "must"
asked = ["RAIL-402"]
named = "RAIL-402-01"
[[mutant.edits]]
file = "s.mjs"
find = "402"
put = "200"

[[mutant]]
id = "b"
clause = "2"
judged = "should"
asked = ["RAIL-402"]
[[mutant.edits]]
file = "s.mjs"
find = "no-store"
put = "public"
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A server of one file, with two mutants."""
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "s.mjs").write_text("402 no-store", "utf-8")
    (folder / "mutants.toml").write_text(HAND_MADE, "utf-8")
    return folder


@pytest.mark.parametrize("name", SERVERS)
def test_each_mutant_fits_its_file(name: str) -> None:
    """Every text that a mutant replaces occurs once in its file, and the recorded verdicts are of these mutants."""
    server = SERVERS[name]
    for mutant in load(server.source):
        mutant.edited_texts(server.source)
        assert mutant.named is None or mutant.named in load_ledger()
    assert set(load_recorded(server.source)) <= {one.id for one in load(server.source)}


@pytest.mark.parametrize("name", SERVERS)
def test_the_page_lists_what_was_recorded(name: str) -> None:
    """It is what the runner makes of the list and the recorded verdicts."""
    server = SERVERS[name]
    text = (server.source / "mutants.md").read_text("utf-8")
    assert text == page(server.title, load(server.source), load_recorded(server.source))


def test_a_text_that_occurs_twice_is_refused(source: Path, tmp_path: Path) -> None:
    """It would be unclear which of them was changed."""
    (source / "s.mjs").write_text("402 402", "utf-8")
    with pytest.raises(EditFault, match=r"a: s\.mjs contains 2 times"):
        load(source)[0].copy_into(tmp_path / "copy", source)


def test_the_source_itself_stays_sound(source: Path, tmp_path: Path) -> None:
    """A mutant changes a copy."""
    copy = load(source)[0].copy_into(tmp_path / "copy", source)
    assert (copy / "s.mjs").read_text("utf-8") == "200 no-store"
    assert (source / "s.mjs").read_text("utf-8") == "402 no-store"


def test_an_unknown_judgement_is_refused(source: Path) -> None:
    """A word that no count knows would leave a mutant out of every rate."""
    (source / "mutants.toml").write_text(HAND_MADE.replace('"should"', '"perhaps"'), "utf-8")
    with pytest.raises(ValueError, match="'perhaps'"):
        load(source)


def test_verdicts_are_recorded_in_the_order_of_the_list(source: Path) -> None:
    """In whatever order the mutants run; the verdicts of a removed mutant are dropped."""
    for name in ("b", "gone", "a"):
        record(source, name, ["RAIL-402-01"])
    assert list(load_recorded(source)) == ["a", "b"]


def test_the_rates_are_those_of_what_a_must_forbids(source: Path) -> None:
    """A row that fails, one that only warns, and a row by name."""
    server = Server("a server", source, lambda _: nullcontext({}), _never)
    text = page(server.title, load(source), {"a": ["RAIL-402-01", "RAIL-402-18?"], "b": ["RAIL-402-18?"]})
    assert "| of a MUST | 1 | 1 | 0 | 0 | 0 | 1 |" in text
    assert "| of a SHOULD, which can only warn | 1 | 0 | 1 | 0 | 0 | 0 |" in text
    assert "Of 1 that a MUST forbids, 1 fail a row (100 %)" in text
    missed_page = page(server.title, load(source), {"a": []})
    assert "| `a` | 1 | MUST |  |  |  | **missed** |" in missed_page


def test_a_server_that_does_not_start_is_found(source: Path) -> None:
    """The caller that starts it gets an error."""
    server = Server("a server", source, lambda _: nullcontext({}), _never)
    edits = (Edit("s.mjs", "402", "200"),)
    mutant = SecondMutant(id="a", edits=edits, clause="1", judged="must", asked=("RAIL",))
    assert found_by(server, {}, mutant) == ["(it does not start)"]


def _never(*_: object) -> AbstractContextManager[Path]:
    raise RuntimeError("it did not start")


def test_a_run_reports_verdicts_that_differ_from_the_recorded_ones(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new verdict is recorded; one that differs is recorded as well, and both are reported."""
    record(source, "b", ["RAIL-402-18?"])
    server = Server("a server", source, lambda _: nullcontext({}), _never)
    monkeypatch.setattr(trials, "SERVERS", {"a": server})
    mutants = load_all()
    results = Results()
    trials.run_mutants([one.data for one in mutants], results)
    assert [one["id"] for one in results.of(trials.KIND, mutants)] == ["a/a", "a/b"]
    assert [one["outcome"] for one in results.of(trials.KIND, mutants)] == ["no-start"] * 2
    assert [len(one["wrong"]) for one in results.of(trials.KIND, mutants)] == [0, 2]
    assert load_recorded(source) == {"a": ["(it does not start)"], "b": ["(it does not start)"]}
    assert (source / "mutants.md").read_text("utf-8").startswith("# Mutants of a server\n")


@pytest.mark.slow
def test_a_mutant_is_caught() -> None:
    """The control: an agent that takes any signature fails the recorded rows."""
    server = SERVERS["agent"]
    mutant = next(one for one in load(server.source) if one.id == "signature-not-asked")
    assert found_by(server, {}, mutant) == load_recorded(server.source)[mutant.id]
