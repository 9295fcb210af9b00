"""PyJWT and npm's jose over the whole vector package, as the examples run them: each disagreement is explained."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli import main
from conformance.vectors import package
from localnet.npm import node_modules
from programs.node import node

EXAMPLES = Path(__file__).parents[2] / "examples" / "verifiers"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...]]:
    """The example verifiers' commands, in a folder of their own with their packages."""
    folder = tmp_path_factory.mktemp("verifiers")
    (folder / "node_modules").symlink_to(node_modules(EXAMPLES), target_is_directory=True)
    for name in ("pyjwt_verifier.py", "jose_verifier.mjs"):
        shutil.copyfile(EXAMPLES / name, folder / name)
    return {
        "pyjwt": (sys.executable, "-I", str(folder / "pyjwt_verifier.py")),
        "jose": (str(node().path), str(folder / "jose_verifier.mjs")),
    }


def run_vectors(*words: str) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(main, ["vectors", "run", "--json", "--seed", "1", *words])
    assert result.stdout, result.stderr
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("name", ["pyjwt", "jose"])
def test_each_disagreement_is_explained(name: str, commands: dict[str, tuple[str, ...]]) -> None:
    """By the profile, too, which decides much; the whole package, no crash, no hang, no nonsense, no rotten entry."""
    code, report = run_vectors("--profile", "--explained", str(EXAMPLES / f"{name}.toml"), "--", *commands[name])
    assert [one for one in report["results"] if one["counts"]] == []
    assert (report["rotten"], report["remarks"], code) == ([], [], 0)
    assert len(report["results"]) == len(package().vectors)
    results = {one["result"] for one in report["results"]}
    assert results <= {"agree", "accepts", "refuses", "unsupported"}
    judged_vectors = [one for one in report["results"] if one["result"] != "unsupported"]
    assert {one["family"] for one in judged_vectors} == {"receipts"}
    assert sum(one["result"] == "agree" for one in judged_vectors) > len(judged_vectors) / 2


@pytest.mark.parametrize("name", ["pyjwt", "jose"])
def test_unexplained_they_would_fail(name: str, commands: dict[str, tuple[str, ...]]) -> None:
    """The control: the explanations are needed."""
    code, report = run_vectors("--profile", "--family", "receipts", "--", *commands[name])
    assert any(one["counts"] for one in report["results"])
    assert code == 1


@pytest.mark.parametrize("name", ["pyjwt", "jose"])
def test_a_signature_that_does_not_hold_is_refused(name: str, commands: dict[str, tuple[str, ...]]) -> None:
    """The purpose of a JWS library: by every standard, its verdict on a vector of this stage is right."""
    code, report = run_vectors("--id", "receipts/signature/*", "--", *commands[name])
    assert code == 0
    assert {one["result"] for one in report["results"] if not one["pinned"]} == {"agree"}


def test_every_package_of_the_examples_is_pinned() -> None:
    """It comes from registry.npmjs.org with a hash."""
    lock = json.loads((EXAMPLES / "package-lock.json").read_text("utf-8"))
    for place, entry in lock["packages"].items():
        if place:
            assert entry["resolved"].startswith("https://registry.npmjs.org/"), place
            assert entry["integrity"].startswith("sha512-"), place
