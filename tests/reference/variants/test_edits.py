"""Mutants as data: each edit fits the reference as it is now, and the edited module is what a service imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference.variants.edits import Edit, EditFault, edit_modules, import_edited
from reference.variants.mutants.catalog import CATALOG
from reference.variants.mutants.edit_mutants import ROOT, load_mutants


def test_every_edit_fits_once_and_changes_code_that_compiles() -> None:
    """Each text to find occurs once in its file, and the edited module is another program than the file."""
    whole: dict[str, str] = {}
    for mutant in load_mutants():
        for edit in mutant.edits:
            if edit.file not in whole:
                whole[edit.file] = ast.dump(ast.parse((ROOT / edit.file).read_text("utf-8")))
        for module, source in edit_modules(mutant.edits, ROOT).items():
            files = {edit.file for edit in mutant.edits if edit.module == module}
            compile(source, module, "exec", dont_inherit=True)
            assert [ast.dump(ast.parse(source))] != [whole[file] for file in files], mutant.id


def test_a_mutant_as_data_is_found_without_the_others() -> None:
    """The id is the first line of its entry, so that a service finds its mutant without parsing every file."""
    for mutant in load_mutants():
        assert CATALOG[mutant.id].edits == mutant.edits
        assert mutant.id in CATALOG
        assert CATALOG[mutant.id].surface == mutant.surface


def test_no_mutant_is_data_and_python() -> None:
    """A mutant that became data is no longer in the modules."""
    assert len({*CATALOG}) == len(CATALOG)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("a.py", "x = 1", "x = 2"), "contains 0 times"),
        (Edit("a.py", "y", "z"), "contains 2 times"),
        (Edit("a.py", "y = 1", "y = 1"), "are equal"),
    ],
)
def test_an_edit_that_does_not_fit_is_a_fault(edit: Edit, reason: str) -> None:
    """A mutant that changes nothing, or something in two places, must not pass for one that was tried."""
    with pytest.raises(EditFault, match=reason):
        edit.apply("y = 1\nprint(y)\n")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of a package of two modules; what was imported and installed ends with the test."""
    folder = tmp_path / "shop_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "prices.py").write_text("from pathlib import Path\nLIMIT = 20\nFOLDER = Path(__file__).parent.name\n")
    (folder / "counter.py").write_text("from shop_of_a_test.prices import FOLDER, LIMIT\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("shop_of_a_test")]:
        del sys.modules[name]


def test_a_module_is_imported_from_its_edited_source(package: Path) -> None:
    """Other modules that take names from it get the edited ones, and the file stays as it is."""
    edits = [Edit("shop_of_a_test/prices.py", "20", "30"), Edit("shop_of_a_test/prices.py", "LIMIT = 30", "LIMIT = 40")]
    import_edited(edit_modules(edits, package))
    from shop_of_a_test import counter  # type: ignore[import-not-found]

    assert (counter.LIMIT, counter.FOLDER) == (40, "shop_of_a_test")
    assert "LIMIT = 20" in (package / "shop_of_a_test/prices.py").read_text()


def test_a_module_that_is_imported_already_cannot_be_edited(package: Path) -> None:
    """Its edited source would never run."""
    import shop_of_a_test.prices  # type: ignore[import-not-found]  # noqa: F401 - made by this test

    with pytest.raises(EditFault, match=r"imported before their edits: shop_of_a_test\.prices"):
        import_edited(edit_modules([Edit("shop_of_a_test/prices.py", "20", "30")], package))


def test_only_python_is_edited(tmp_path: Path) -> None:
    """Other files are read in ways that the import of modules knows nothing of."""
    with pytest.raises(EditFault, match="is not a Python module"):
        edit_modules([Edit("a.json", "1", "2")], tmp_path)


def test_an_edited_module_uses_no_unknown_name(tmp_path: Path) -> None:
    """A text that an edit puts in keeps up with renamed variables, classes and imports."""
    for mutant in load_mutants():
        for module, source in edit_modules(mutant.edits, ROOT).items():
            (tmp_path / f"{mutant.id}.{module}.py").write_text(source, "utf-8")
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--target-version", "py311", "--select", "F821", "."]
    process = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout
