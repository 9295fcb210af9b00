"""docs/receiving-webhooks.md says what the program does."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from conformance import target
from conformance.cli import main
from conformance.ledger import load
from conformance.webhook_receiver.effect_deduplication import MOST_REMEMBERED
from conformance.webhook_receiver.verifying_listener import Reason

PAGE = (Path(__file__).parents[3] / "docs" / "receiving-webhooks.md").read_text("utf-8")


def test_its_options_are_those_of_the_command() -> None:
    """Every option of `weldproof listen` is on the page, and every option on the page exists."""
    words = set(re.findall(r"(--[a-z][a-z-]+)", CliRunner().invoke(main, ["listen", "--help"]).output)) - {"--help"}
    introduction = PAGE.partition("## Testing")[0]
    assert set(re.findall(r"(--[a-z][a-z-]+)", introduction)) == words


def test_its_codes_are_those_of_the_listener() -> None:
    """The codes of refusals with 400 are on the page as they are answered."""
    codes = set(re.findall(r"`([a-z]+_[a-z_]+)`", PAGE.partition("## Testing")[0]))
    other_codes = {
        Reason.METHOD,
        Reason.TOO_LARGE,
        Reason.INCOMPLETE,
        Reason.LOOP,
        Reason.FULL,
        Reason.CONFIGURED_FAILURE,
        Reason.FORWARD,
    }
    assert codes == {reason.value for reason in set(Reason) - other_codes}
    assert f"{MOST_REMEMBERED:,}" in PAGE


def test_its_profile_is_one() -> None:
    """The profile on the page can be read, and binds what a receiver under test needs."""
    match = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    profile = target.parse(match[1])
    assert profile.webhook.receiver is not None
    assert profile.webhook.receiver.effects is not None
    assert profile.claims_surface("webhooks")


def test_its_rows_are_those_of_the_ledger() -> None:
    """Each row of the group is on the page."""
    assert set(re.findall(r"^\| (WH-RECV-\d\d)", PAGE, re.MULTILINE)) == {row.id for row in load().select(["WH-RECV"])}
