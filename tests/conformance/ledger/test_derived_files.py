"""Derived data are made when missing or stale, and read as they are where there are no sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.engine.catalogue import CATALOGUE
from conformance.ledger.deciding_function_lines import RULES
from conformance.ledger.derived_files import ROOT, Derived
from conformance.ledger.specification import CLAUSES

ALL_FILES = (CATALOGUE, CLAUSES, RULES)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a checkout with two sources, one of them in an inner folder."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "texts/inner").mkdir(parents=True)
    (tmp_path / "texts/a.txt").write_text("first", "utf-8")
    (tmp_path / "texts/inner/b.txt").write_text("second", "utf-8")
    return tmp_path


def texts(root: Path) -> list[str]:
    """Return the texts of a project."""
    return [path.read_text("utf-8") for path in sorted((root / "texts").rglob("*.txt"))]


DATA = Derived("made.json", ("texts/*.txt",), texts)


def test_data_are_made_once_and_again_after_each_change(project: Path) -> None:
    """A changed, a new and a removed source are each noticed; without a change the file stays as it is."""
    assert DATA.load(project) == ["first", "second"]
    kept_status = (project / "made.json").stat()
    assert DATA.load(project) == ["first", "second"]
    assert (project / "made.json").stat().st_mtime_ns == kept_status.st_mtime_ns
    (project / "texts/inner/b.txt").write_text("changed", "utf-8")
    assert DATA.load(project) == ["first", "changed"]
    (project / "texts/inner/c.txt").write_text("third", "utf-8")
    assert DATA.load(project) == ["first", "changed", "third"]
    (project / "texts/a.txt").unlink()
    assert DATA.load(project) == ["changed", "third"]


@pytest.mark.parametrize("content", ["", "[1, 2]", "{}", '{"made_from": "another"}'])
def test_a_file_that_is_broken_is_made_again(project: Path, content: str) -> None:
    """An empty file, another form, and the data of other sources are not used."""
    (project / "made.json").write_text(content, "utf-8")
    assert DATA.load(project) == ["first", "second"]


def test_a_folder_that_cannot_be_written_is_no_fault(project: Path) -> None:
    """The data are made in memory."""
    missing_folder_data = Derived("no/such/folder/made.json", DATA.sources, texts)
    assert missing_folder_data.load(project) == ["first", "second"]


def test_an_installation_reads_what_its_build_has_written(project: Path) -> None:
    """Outside a checkout the sources are not looked at; a missing file is an error."""
    content = DATA.package_bytes(project)
    (project / "pyproject.toml").unlink()
    with pytest.raises(FileNotFoundError):
        DATA.load(project)
    (project / "made.json").write_bytes(content)
    (project / "texts/a.txt").unlink()
    assert DATA.load(project) == ["first", "second"]


@pytest.mark.parametrize("data", ALL_FILES, ids=lambda data: Path(data.file).stem)
def test_the_data_of_this_project_are_current(data: Derived) -> None:
    """What is loaded is what is made from the sources of now, and git ignores the file."""
    assert data.load() == json.loads(json.dumps([*data.make(ROOT)]))
    assert f"/{data.file}" in (ROOT / ".gitignore").read_text("utf-8").splitlines()
