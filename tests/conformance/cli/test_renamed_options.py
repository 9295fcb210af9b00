"""Options that were renamed answer to their old names for a release, and help shows the new ones only."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from conformance.cli import replay, run

RENAMED_OPTIONS = [
    (run.command, "--reference", "--own-stack", "own_stack"),
    (run.command, "--compare-with", "--beside", "beside"),
    (replay.command, "--reference", "--own-stack", "own_stack"),
]


@pytest.mark.parametrize(("command", "new", "old", "name"), RENAMED_OPTIONS)
def test_help_shows_the_new_name_only(command: click.Command, new: str, old: str, name: str) -> None:
    """Also after it was asked for once."""
    del name
    for _ in range(2):
        output = CliRunner().invoke(command, ["--help"]).output
        assert new in output
        assert old not in output


@pytest.mark.parametrize(("command", "new", "old", "name"), RENAMED_OPTIONS)
def test_both_names_say_the_same(command: click.Command, new: str, old: str, name: str) -> None:
    """Help first, so that what is seen is what a process has after it was shown."""
    option = next(one for one in command.params if one.name == name)
    value = [] if isinstance(option, click.Option) and option.is_flag else ["other.toml"]
    needed_words = ["report#1"] if command is replay.command else []
    CliRunner().invoke(command, ["--help"])
    parameters = [command.make_context("weldproof", [*needed_words, word, *value]).params for word in (new, old)]
    assert parameters[0] == parameters[1]
    assert parameters[0][name]


def test_a_fault_names_the_new_one() -> None:
    """A user who gave the old one learns the new one."""
    said_run = CliRunner().invoke(run.command, ["--own-stack", "--config", "mine.toml"])
    assert "--reference, --mutant" in str(said_run.exception) + said_run.output
