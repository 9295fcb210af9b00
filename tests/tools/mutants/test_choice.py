"""The options that all kinds of mutants share, the form of the data, and the conclusion."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from click import UsageError

from tests import prepared
from tools.mutants.choice import Choice, Mutant
from tools.mutants.mutant_definitions import EditedMutant, load_mutants
from tools.mutants.results import NO_VERDICT, Result, Results, conclude
from tools.mutants.scratch import ROOT

ENTRY = '[[mutant]]\nid = "a"\n[[mutant.edits]]\nfile = "f"\nfind = "1"\nput = "2"\n'


def list_mutants(*words: str) -> list[dict[str, str]]:
    """Return what `--list --json` prints."""
    result = prepared.run("tools.mutants", *words, "--list", "--json", env=os.environ, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    entries: list[dict[str, str]] = orjson.loads(result.stdout)
    return entries


@pytest.mark.parametrize(
    ("kind", "pattern", "first"),
    [
        ("named", "note-*", "note-"),
        ("generated", "protocol/trial_limits:admit_link/*", "protocol/trial_limits:admit_link/"),
        ("second", "rail/*", "rail/"),
        ("tests", "reference/rail/*", ""),
    ],
)
def test_every_kind_is_listed_in_the_same_way(kind: str, pattern: str, first: str) -> None:
    """A pattern chooses ids or places; each entry has its id, its place and what it breaks."""
    entries = list_mutants(kind, pattern)
    assert entries
    assert all(one["id"].startswith(first) and one["place"] and one["breaks"] for one in entries)
    assert {*entries[0]} == {"id", "place", "breaks"}


def test_shards_are_all_mutants_once() -> None:
    """The parts of the list together are the whole list."""
    whole = [one["id"] for one in list_mutants("tests")]
    parts = [one["id"] for part in (1, 2, 3) for one in list_mutants("tests", "--shard", f"{part}/3")]
    assert sorted(whole) == sorted(parts)


def test_a_choice_of_nothing_is_a_usage_error() -> None:
    """A pattern that no mutant matches is refused, and a sample is the same for the same seed."""
    mutants = [Mutant(name, "f", "", None) for name in "abcdef"]
    with pytest.raises(UsageError, match="no mutant matches"):
        Choice(("z*",)).match(mutants)
    assert [one.id for one in Choice(("[ab]", "f*")).match(mutants)] == [one.id for one in mutants]
    drawn_ids = [one.id for one in Choice(sample=3, seed=4).draw(mutants)]
    assert len(drawn_ids) == 3
    assert drawn_ids == [one.id for one in Choice(sample=3, seed=4).draw(mutants)]


@pytest.mark.parametrize(
    "text",
    [
        ENTRY + ENTRY,
        ENTRY.replace("[[mutant.edits]]", "other = 1\n[[mutant.edits]]"),
        ENTRY.replace('put = "2"', 'puts = "2"'),
        '[[mutant]]\nid = "a"\n',
        '[[mutant]]\nid = "a"\nedits = []\n',
    ],
    ids=["twice", "unknown-member", "unknown-member-of-an-edit", "no-edits", "empty-edits"],
)
def test_a_malformed_entry_is_refused(text: str, tmp_path: Path) -> None:
    """The error names the file and the mutant."""
    path = tmp_path / "mutants.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"mutants\.toml: a: "):
        load_mutants(EditedMutant, [path])


def test_edits_of_one_file_follow_each_other(tmp_path: Path) -> None:
    """The second edit sees the text that the first one left."""
    path = tmp_path / "mutants.toml"
    path.write_text(ENTRY + '[[mutant.edits]]\nfile = "f"\nfind = "2"\nput = "3"\n', "utf-8")
    (tmp_path / "f").write_text("1", "utf-8")
    [mutant] = load_mutants(EditedMutant, [path])
    assert mutant.edited_texts(tmp_path) == {"f": "3"}


def test_the_exit_code_follows_from_all_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Results of several kinds are in one file; a line that was cut off is removed, and its mutant is missing."""
    results = Results(tmp_path)
    results.add(Result("named", "a", "killed", killed_by={"RAIL-402-01": ""}, facts={"rule": "b"}))
    results.add(Result("tests", "a", "survived", ["no test fails"]))
    with (tmp_path / "results.ndjson").open("ab") as file:
        file.write(b'{"kind": "tests"')
    kept = Results(tmp_path)
    [path] = tmp_path.iterdir()
    assert path.read_bytes().count(b"\n") == 2
    assert path.read_bytes().endswith(b"}\n")
    named_results, tests_results = kept.by_stack("named")["a", ""], kept.by_stack("tests")["a", ""]
    assert named_results["rule"] == "b"
    assert conclude([named_results], as_json=False) == 0
    assert conclude([named_results, tests_results], as_json=False) == 1
    assert conclude([named_results, tests_results, {**tests_results, "outcome": NO_VERDICT}], as_json=True) == 3
    assert "survived: a\n    no test fails" in capsys.readouterr().out
