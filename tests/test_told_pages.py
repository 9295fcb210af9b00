"""What the pages on exit codes and troubles show is what the command says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click
import pytest

from conformance.cli import main
from conformance.outcome import Exit, Verdict
from conformance.report.conclusion import WORDS
from tests import prepared

DOCS = Path(__file__).parent.parent / "docs"
SHOWING = ("exit-codes.md", "troubleshooting.md")
# The profiles that the pages speak of.
PROFILES = {
    "misspelt.toml": 'version = 1\n[surfaces.rail]\nurl = "http://localhost:1"\nur = 3\n',
    "entry.toml": 'version = 1\n[surfaces.rail]\nurl = "http://localhost:1"\n[[xfail]]\nid = "RAIL-402-01"\n'
    'reason = "x"\nowner = "y"\n',
    "tenant.toml": 'version = 1\n[surfaces.gateway]\nurl = "http://localhost:1"\n[claims]\nsurfaces = ["gateway"]\n'
    '[tenants.first]\nid = "a"\nkey = { env = "NO_SUCH_KEY" }\n',
}


def shown() -> list[tuple[str, str, str]]:
    """Return each command that a page shows with what it says: page, words, output."""
    return [
        (page, command, said)
        for page in SHOWING
        for command, said in re.findall(
            r"^```console\n\$ weldproof (.+)\n((?:.*\n)*?)```", (DOCS / page).read_text("utf-8"), re.MULTILINE
        )
    ]


@pytest.mark.parametrize(("page", "command", "said"), shown(), ids=lambda text: text.splitlines()[0][:40])
def test_what_a_page_shows_is_what_the_command_says(tmp_path: Path, page: str, command: str, said: str) -> None:
    """Run in a folder that has the profiles and nothing else, letter by letter; how far it came is no part of it."""
    for name, text in PROFILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    done = prepared.run("conformance", *command.split(), env=os.environ, cwd=tmp_path, timeout=600)
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if not re.match(r"\d+ of \d+ checks done", line)] == said.splitlines(), page


def commands(found: click.Command, words: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the help of each command, on one line, by its words."""
    if not isinstance(found, click.Group):
        return {" ".join(words): " ".join((found.help or "").split())}
    told: dict[str, str] = {}
    for name in found.list_commands(click.Context(found)):
        inner = found.get_command(click.Context(found), name)
        assert inner is not None
        told |= commands(inner, (*words, name))
    return told


def test_the_exit_codes_of_every_command_are_listed_as_its_help_says() -> None:
    """A line for each command whose help tells them, word by word; `run` has the table above it, with every code."""
    page = (DOCS / "exit-codes.md").read_text("utf-8")
    told = {name: re.search(r"Exit codes: (.+?)\.(?= [A-Z]|$)", text) for name, text in commands(main).items()}
    expected = {name: found[1] for name, found in told.items() if found is not None and name != "run"}
    assert dict(re.findall(r"^\| `([a-z ]+)` \| (.+) \|$", page, re.MULTILINE)) == expected
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [int(code) for code in Exit]


def test_every_verdict_is_explained() -> None:
    """The page on reading a report has each verdict, in the words of the reports."""
    page = (DOCS / "reading-a-report.md").read_text("utf-8")
    table = page.split("## The words")[1].split("##")[0]
    listed = re.findall(r"^\| ([a-z ]+) \| ", table, re.MULTILINE)
    assert sorted(listed) == sorted(WORDS[verdict] for verdict in Verdict)
