"""What users read of changes: fragments that the next release takes, and a heading for the version that there is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SECTIONS = [one["path"] for one in PYPROJECT["tool"]["towncrier"]["section"] if one["path"]]
KINDS = [one["directory"] for one in PYPROJECT["tool"]["towncrier"]["type"]]


def draft(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run towncrier over a folder's fragments, writing nothing."""
    words = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "99.0.0", "--date", "2099-01-01"]
    return subprocess.run([*words, "--dir", str(folder)], capture_output=True, text=True, check=False)


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    """Return a folder with only the project's fragments and the settings of towncrier."""
    shutil.copy2(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    return tmp_path


def test_the_next_release_takes_every_fragment() -> None:
    """Towncrier knows the name of each file in changelog.d, and every fragment says something in one paragraph."""
    result = draft(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    for fragment in (path for kind in KINDS for path in (ROOT / "changelog.d").rglob(f"*.{kind}.md")):
        text = fragment.read_text("utf-8")
        assert text.strip(), f"{fragment} says nothing"
        assert not re.match(r"[-*#]", text), f"{fragment}: the list is towncrier's to make"


@pytest.mark.parametrize("name", ["speed.improved.md", "speed.md", "suite/speed.improved.md"])
def test_a_name_that_says_no_kind_is_refused(project_copy: Path, name: str) -> None:
    """A fragment that towncrier would leave out is named, so that no change is lost."""
    wrong = project_copy / "changelog.d" / name
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text("It is faster.\n", "ascii")
    result = draft(project_copy)
    assert result.returncode != 0
    assert wrong.name in result.stdout + result.stderr


def test_a_fragment_stands_below_what_it_belongs_to(project_copy: Path) -> None:
    """A fragment in a section's folder stands below its heading, one outside any stands first, each once."""
    for name in ("first.added.md", *(f"{section}/made-up.fixed.md" for section in SECTIONS)):
        (project_copy / "changelog.d" / name).parent.mkdir(exist_ok=True)
        (project_copy / "changelog.d" / name).write_text(f"This is {name}.\n", "ascii")
    text = draft(project_copy).stdout
    places = [text.index(f"- This is {section}/made-up.fixed.md.") for section in SECTIONS]
    assert text.index("- This is first.added.md.") < min(places)
    assert places == sorted(places)


def test_the_version_has_its_heading() -> None:
    """CHANGELOG.md has the version of pyproject.toml with a date, once, above every other."""
    headings = re.findall(
        r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    versions = [version for version, _ in headings]
    assert versions[0] == PYPROJECT["project"]["version"]
    assert len(versions) == len(set(versions))
