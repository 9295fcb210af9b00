"""What the documents for contributors say works: paths exist, diffs apply, and what they add passes its tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md")
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
DIFFS = re.findall(r"^### (.+?)\n.*?^```diff\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PACKAGES = ("conformance", "localnet", "mutants", "openapi", "programs", "reference", "sim", "tests", "tools")


def paths(text: str) -> set[str]:
    """Return the paths of this repository that a document names: in links, in code, in commands and in diffs."""
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    code = re.findall(r"`([^`\n]*/[^`\n]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    diffs = re.findall(r"^--- a/(\S+)", text, re.MULTILINE)  # what a diff adds is not there yet
    commands = re.findall(r"(?<=\s)tests/\S+\.py", text)
    named_paths = [*links, *(one for one in code if " " not in one), *diffs, *commands]
    return {one for one in named_paths if not one.startswith(("bulletproofs", ".venv", "report/"))}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_path_it_names_exists(document: str) -> None:
    """A link, a path in code, and a file that a diff changes is there."""
    assert [one for one in sorted(paths((ROOT / document).read_text("utf-8"))) if not (ROOT / one).exists()] == []


def test_paths_are_found() -> None:
    """The search for paths finds them in each of the forms in which the documents have them."""
    text = "[a](x.md) [b](https://x) `c/d` `e f/g`\n```sh\npython tests/h.py\n```\n```diff\n--- a/i/j\n+++ b/i/j\n```\n"
    assert paths(text) == {"x.md", "c/d", "tests/h.py", "i/j"}


@pytest.fixture(scope="module")
def changed_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with every recipe of CONTRIBUTING.md followed, one after the other."""
    folder = tmp_path_factory.mktemp("recipes")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    shutil.copytree(ROOT / "docs/spec", folder / "docs/spec")
    shutil.copy2(ROOT / "pyproject.toml", folder)
    for recipe, diff in DIFFS:
        words = ["git", "apply", "--verbose", "--whitespace=error", "-"]
        result = subprocess.run(words, cwd=folder, input=diff, capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{recipe}: {result.stderr}"
    return folder


def run(folder: Path, *words: str) -> str:
    """Return what a command prints in a folder, whose packages it imports.

    Raises:
        AssertionError: Its exit status is not 0.
    """
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    result = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_there_is_a_recipe_for_each() -> None:
    """Checks, mutants, vectors and lanes have a recipe with a diff."""
    assert [recipe for recipe, _ in DIFFS] == ["A check", "A mutant", "A vector", "A lane"]


def test_what_the_recipes_add_passes_the_tests_they_bring(changed_project: Path) -> None:
    """Each diff applies, and the files of tests that they change pass on the changed tree."""
    files = sorted(set(re.findall(r"^\+\+\+ b/(tests/\S+\.py)$", TEXT, re.MULTILINE)))
    assert files
    assert " passed" in run(changed_project, "pytest", "-q", "-p", "no:cacheprovider", *files)


def test_what_the_recipes_add_is_known_to_the_commands(changed_project: Path) -> None:
    """The command explains the new row with its check, and the self-test lists its mutant."""
    assert "key_ids_are_distinct" in run(changed_project, "conformance", "explain", "RAIL-KEY-06")
    assert "jwks-one-kid-twice" in run(changed_project, "conformance", "selftest", "--list")


def python(folder: Path, code: str) -> str:
    """Return what a program prints in a folder, whose packages it imports."""
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_the_recipes_lane_is_served(changed_project: Path) -> None:
    """A lane of a family that is there is a folder and one line: its network is opened, and its payee has a setting."""
    words = "descriptor_of(NETWORKS['arbitrum_sepolia']); print(lane.title, payee_setting(lane), lane.settles)"
    imports = "from reference.lanes.registry import descriptor_of, payee_setting"
    code = f"{imports}\nfrom reference.protocol.networks import NETWORKS\nlane = {words}"
    assert python(changed_project, code) == "Arbitrum WP_RAIL_PAYTO_ARBITRUM True\n"


def test_the_recipes_lane_is_paid_on(changed_project: Path) -> None:
    """The suite finds a lane's facts, its table in a profile and its wallet by the one line of its side."""
    code = """
from conformance.lanes.registry import LANES
from conformance.target import parse
from conformance.vocabulary.lanes.registry import lane_serving

chain = parse("[chains.arbitrum]\\nrpc = 'http://127.0.0.1:8547'").chains.of("arbitrum")
print(lane_serving("eip155:42161"), chain.network, LANES["arbitrum"].means().payer.__qualname__)
"""
    assert python(changed_project, code) == "arbitrum arbitrum_mainnet BasePayer.open\n"


@pytest.mark.slow
def test_the_recipes_vector_is_built_and_their_mutant_caught(changed_project: Path) -> None:
    """The builder takes the new vector in a new version, and the new check catches the new mutant, by an exact list."""
    assert "written: manifest.json" in run(changed_project, "tools.vectors_builder")
    assert "1 of 1 kill lists are exact" in run(changed_project, "conformance", "selftest", "jwks-one-kid-twice")
