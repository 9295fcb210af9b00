"""Each example can be installed as it was tried: what it needs is pinned."""

from __future__ import annotations

import json

import pytest

from tests.outside.example_requirements import EXAMPLES, FOLDER, SCRIPTS, file_of, pin_requirements


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_script_needs_is_pinned(script: str) -> None:
    """Its file has every package that it needs, in the version that it is tested with, and no other."""
    assert file_of(script).read_text("ascii") == pin_requirements(script), (
        "python -m tests.outside.example_requirements"
    )


def test_every_script_of_python_has_its_file() -> None:
    """A new example that buys or verifies is pinned, too, and the page names each file."""
    scripts = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("pay_with_*.py")}
    assert scripts | {"verifiers/pyjwt_verifier.py"} == set(SCRIPTS)
    page = (EXAMPLES / "README.md").read_text("utf-8")
    assert {path.name for path in FOLDER.iterdir()} == {file_of(script).name for script in SCRIPTS}
    for script in SCRIPTS:
        assert f"requirements/{file_of(script).name}" in page


@pytest.mark.parametrize("folder", ["", "verifiers"])
def test_what_a_script_of_node_needs_is_pinned(folder: str) -> None:
    """The versions stand in package.json, and with their hashes in package-lock.json."""
    dependencies = json.loads((EXAMPLES / folder / "package.json").read_text("utf-8"))["dependencies"]
    packages_locked = json.loads((EXAMPLES / folder / "package-lock.json").read_text("utf-8"))["packages"]
    assert dependencies
    for name, version in dependencies.items():
        assert packages_locked[f"node_modules/{name}"]["version"] == version
