"""What the documents print of a console is what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import prepared

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(path for path in (ROOT / "docs").glob("*.md") if "```console\n" in path.read_text("utf-8"))

# The profiles that the pages speak of.
PROFILES = {
    "misspelt.toml": 'version = 1\n[surfaces.rail]\nurl = "http://localhost:1"\nur = 3\n',
    "entry.toml": 'version = 1\n[surfaces.rail]\nurl = "http://localhost:1"\n[[xfail]]\nid = "RAIL-402-01"\n'
    'reason = "x"\nowner = "y"\n',
    "tenant.toml": 'version = 1\n[surfaces.gateway]\nurl = "http://localhost:1"\n[claims]\nsurfaces = ["gateway"]\n'
    '[tenants.first]\nid = "a"\nkey = { env = "NO_SUCH_KEY" }\n',
}
# The progress of a run is shown on a terminal only, and is not part of a page.
PROGRESS = re.compile(r"\d+ of \d+ checks done.*\n")


def steps(text: str) -> list[tuple[str, str]]:
    """Return each command of the console blocks with what stands below it, in order."""
    command_steps: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            command_steps.append((command, output))
    return command_steps


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_worked_example_runs_as_printed(document: Path, tmp_path: Path) -> None:
    """Every command of a document, one after the other in a folder of the profiles alone prints what the page shows."""
    program = tmp_path / "bin" / "weldproof"
    program.parent.mkdir()
    prepared.script(program, "conformance")
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, text in PROFILES.items():
        (folder / name).write_text(text, "utf-8")
    told = {name: value for name, value in os.environ.items() if not name.startswith("WELDPROOF_")}
    told |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    commands = steps(document.read_text("utf-8"))
    assert commands
    for command, output in commands:
        result = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert PROGRESS.sub("", result.stdout) == output, command
