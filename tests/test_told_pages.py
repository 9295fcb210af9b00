"""What the pages on exit codes and reports say is what the commands say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from conformance.cli import main
from conformance.ledger import load
from conformance.outcome import Exit, Verdict
from conformance.report.conclusion import WORDS

DOCS = Path(__file__).parent.parent / "docs"


def commands(command: click.Command, words: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the help of each command, on one line, by its words."""
    if not isinstance(command, click.Group):
        return {" ".join(words): " ".join((command.help or "").split())}
    help_texts: dict[str, str] = {}
    for name in command.list_commands(click.Context(command)):
        inner = command.get_command(click.Context(command), name)
        assert inner is not None
        help_texts |= commands(inner, (*words, name))
    return help_texts


def test_the_exit_codes_of_every_command_are_listed_as_its_help_says() -> None:
    """A line for each command whose help tells them, word by word; `run` has the table above it, with every code."""
    page = (DOCS / "exit-codes.md").read_text("utf-8")
    code_matches = {name: re.search(r"Exit codes: (.+?)\.(?= [A-Z]|$)", text) for name, text in commands(main).items()}
    expected_codes = {name: found[1] for name, found in code_matches.items() if found is not None and name != "run"}
    assert dict(re.findall(r"^\| `([a-z ]+)` \| (.+) \|$", page, re.MULTILINE)) == expected_codes
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [int(code) for code in Exit]


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_names_the_rows_that_fail_a_run_as_the_ledger_does(page: Path) -> None:
    """Where a page with a table of rows says which of them alone fail a run, these are those that decide."""
    text = page.read_text("utf-8")
    row_ids = re.findall(r"^\| ([A-Z]+(?:-[A-Z0-9]+)*-\d+) \|", text, re.MULTILINE)
    for row_list in re.findall(r"Only ((?:[A-Z]+-[A-Z]+-\d+(?:, | and )?)+) fails? a run", " ".join(text.split())):
        named_rows = set(re.split(r", | and ", row_list))
        assert named_rows == {row for row in row_ids if load()[row].decides}


def test_the_page_on_receivers_says_which_rows_fail_a_run() -> None:
    """It does, so that the comparison above has something to compare."""
    assert " fail a run" in (DOCS / "receiving-webhooks.md").read_text("utf-8")


def test_every_verdict_is_explained() -> None:
    """The page on reading a report has each verdict, in the words of the reports."""
    page = (DOCS / "reading-a-report.md").read_text("utf-8")
    table = page.split("## The words")[1].split("##")[0]
    verdict_words = re.findall(r"^\| ([a-z ]+) \| ", table, re.MULTILINE)
    assert sorted(verdict_words) == sorted(WORDS[verdict] for verdict in Verdict)
