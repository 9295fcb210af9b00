"""What the documents print of a console is what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(path for path in (ROOT / "docs").glob("*.md") if "```console\n" in path.read_text("utf-8"))


def steps(text: str) -> list[tuple[str, str]]:
    """Return each command of the console blocks with what stands below it, in order."""
    found: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            found.append((command, printed))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_worked_example_runs_as_printed(document: Path, tmp_path: Path) -> None:
    """Every command of a document, one after the other in an empty folder, prints what stands below it."""
    program = tmp_path / "bin" / "weldproof"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m conformance "$@"\n', "ascii")
    program.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    told = {name: value for name, value in os.environ.items() if not name.startswith("WELDPROOF_")}
    told |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
    commands = steps(document.read_text("utf-8"))
    assert commands
    for command, printed in commands:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.stdout == printed, command
