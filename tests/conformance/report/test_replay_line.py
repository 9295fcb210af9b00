"""The printed replay line names the target of its run, and no program that another person's log names."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.report.replay_line import Replays, target_words
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder


@pytest.mark.parametrize(
    ("options", "own_words", "later_words"),
    [
        ({}, ["--config", "weldproof.toml"], ["--config", "PROFILE"]),
        ({"config": "a b.toml"}, ["--config", "'a b.toml'"], ["--config", "PROFILE"]),
        ({"payer_command": ["node", "my pay.mjs"]}, ["--", "node", "'my pay.mjs'"], ["--", "COMMAND"]),
        (
            {"payer_command": ["./pay"], "config": "p.toml", "timeout": 9},
            ["--config", "p.toml", "--timeout", "9", "--", "./pay"],
            ["--config", "PROFILE", "--", "COMMAND"],
        ),
    ],
)
def test_a_line_names_the_target(options: dict[str, Any], own_words: list[str], later_words: list[str]) -> None:
    """The run that made the log prints what it was given; a later reader gets placeholders."""
    assert list(target_words(options, own_run=True)) == own_words
    assert list(target_words(options, own_run=False)) == later_words


def test_an_addon_has_no_replay() -> None:
    """A replay starts no addon, so no command is printed that could not work."""
    summary = summarise(RunBuilder(("CP-ADDON-01",), options={"addon": True}).finish({}))
    assert Replays("report", own_run=True).command(summary, 3).startswith("# a replay starts no addon")
