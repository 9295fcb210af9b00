"""`weldproof run` without a target asks for one, and a run that judges nothing of the operator's says so."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests import prepared

OURS = "Nothing of yours was judged: the target was the suite's own listener."
RECEIVER = """
[target]
name = "unused receiver"
[claims]
surfaces = ["webhooks"]
[webhook]
header = "X-Weldproof-Signature"
"""


def run_command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return prepared.run("conformance", "run", *words, env=os.environ, cwd=folder, timeout=600)


@pytest.mark.parametrize("words", [(), ("RAIL",), ("WH-RECV",), ("GW-DOC", "GW-LINK-01"), ("AGENT", "--lane", "base")])
def test_without_a_target_one_is_asked_for(words: tuple[str, ...], tmp_path: Path) -> None:
    """Our own stack does not replace a server that was not named: exit code 2, with what to give."""
    result = run_command(tmp_path, *words)
    assert result.returncode == 2, result.stdout + result.stderr
    assert "no target is given" in result.stderr
    assert "weldproof init URL" in result.stderr
    assert "--reference" in result.stderr


def test_a_run_on_the_suites_own_listener_says_so_first_and_last(tmp_path: Path) -> None:
    """A profile that names no receiver leaves the suite's own to be judged: nothing of it is the operator's."""
    (tmp_path / "weldproof.toml").write_text(RECEIVER)
    result = run_command(tmp_path, "WH-RECV-05", "--report", "json")
    assert result.returncode == 0, result.stdout + result.stderr
    output = result.stdout.splitlines()
    assert output[0] == OURS
    assert output[-1].startswith("Passed: ")
    assert output[-1].endswith(OURS)
    assert result.stderr.splitlines()[0] == "Nothing of yours is judged: the target is the suite's own listener."
    results = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["results"]
    assert results["summary"]["extra"]["sentence"].endswith(OURS)
    assert results["extra"]["not_yours"] == "the suite's own listener"
