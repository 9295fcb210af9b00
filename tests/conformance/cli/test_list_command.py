"""`weldproof list` and `weldproof explain`: the ledger and the checks, readable."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from conformance.cli import explain
from conformance.cli import list as list_command
from conformance.cli.explain import content
from conformance.cli.suggestion import find_nearest
from conformance.engine.catalogue import CheckDescription, load_catalogue
from conformance.engine.check_loading import load_checks
from conformance.engine.exclusive import Exclusive
from conformance.engine.quick_policy import WHOLE
from conformance.ledger import load
from tests.conformance.described_checks import describe_checks


def run_command(command: click.Command, *words: str) -> tuple[int, str]:
    """Return exit code and everything printed."""
    result = CliRunner().invoke(command, words)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.fixture
def sample_check(monkeypatch: pytest.MonkeyPatch) -> str:
    """Add a check to the catalogue for the time of one test."""
    sentence = "A challenge costs something.\n\nAsks unpaid and expects an amount."
    fix = "Put an amount into each entry."
    extra_check = CheckDescription(
        "sample_check_of_a_test",
        ("RAIL-402-09",),
        "rail",
        "each",
        Exclusive.NOTHING,
        sentence,
        fix,
        WHOLE,
        "nowhere.py",
    )
    for module in (list_command, explain, content):
        monkeypatch.setattr(module, "load_catalogue", lambda: (*load_catalogue(), extra_check))
    return extra_check.id


def test_the_catalogue_is_what_the_checks_say_of_themselves() -> None:
    """Each check that registers when it is imported is read from its source, with the same members."""
    assert describe_checks(load_checks()) == load_catalogue()


def test_list_shows_every_requirement() -> None:
    """Without a filter each of the ledger's rows has its line."""
    code, output = run_command(list_command.command)
    assert code == 0
    assert all(f"{row.id} " in output for row in load())
    assert f"{len(load())} requirements, {sum(row.decides for row in load())} decide the verdict" in output


def test_list_filters_are_joined() -> None:
    """Prefix, surface, level, lane and weight narrow the list together."""
    code, output = run_command(list_command.command, "RAIL", "--level", "SHOULD", "--surface", "rail", "--json")
    rows = json.loads(output)
    assert code == 0
    assert rows
    assert {(row["surface"], row["level"], row["decides"]) for row in rows} == {("rail", "SHOULD", False)}
    _, deciding_rows = run_command(list_command.command, "--deciding", "--json")
    assert {(row["level"], row["basis"]) for row in json.loads(deciding_rows)} == {
        ("MUST", "stated"),
        ("MUST", "implied"),
        ("MUST", "claimed"),
    }
    _, lane_rows = run_command(list_command.command, "--lane", "base", "--json")
    assert {row["lane"] for row in json.loads(lane_rows)} == {"base"}


def test_list_names_the_checks_of_a_row(sample_check: str) -> None:
    """A row says which checks decide it, and `--unchecked` leaves it out then."""
    _, output = run_command(list_command.command, "RAIL-402-09", "--json")
    assert sample_check in json.loads(output)[0]["checks"]
    _, unchecked_rows = run_command(list_command.command, "RAIL-402-09", "--unchecked", "--json")
    assert json.loads(unchecked_rows) == []


def test_list_leaves_documented_rows_out_of_the_unchecked() -> None:
    """A written reason why nothing shows a row is not a gap."""
    _, output = run_command(list_command.command, "GW-DOC", "--unchecked", "--json")
    assert json.loads(output) == []


def test_list_of_checks_says_what_each_decides(sample_check: str) -> None:
    """`--checks` turns the table round."""
    code, output = run_command(list_command.command, "RAIL-402-09", "--checks")
    assert code == 0
    assert f"{sample_check}  (RAIL-402-09)\n    A challenge costs something." in output
    _, as_json = run_command(list_command.command, "RAIL-402-09", "--checks", "--json")
    assert sample_check in {one["id"] for one in json.loads(as_json)}


@pytest.mark.parametrize("command", [list_command.command, explain.command])
@pytest.mark.parametrize(("given_id", "near"), [("RALI-402", "RAIL-402"), ("rail-weld-99", "RAIL-WELD-")])
def test_an_unknown_id_is_a_usage_error_that_names_the_nearest(
    command: click.Command, given_id: str, near: str
) -> None:
    """A typing mistake exits 2 and costs one more look, not a search."""
    code, output = run_command(command, given_id)
    assert code == 2
    assert "did you mean" in output
    assert near in output


def test_what_resembles_nothing_is_sent_to_the_list() -> None:
    """Where no name is near, the message says where the names are."""
    code, output = run_command(explain.command, "zzzzzzzz")
    assert code == 2
    assert "`weldproof list`" in output
    assert find_nearest("zzzzzzzz", ["RAIL"]) == ()


def test_explain_says_what_a_row_is_and_how_it_is_checked(sample_check: str) -> None:
    """Sentence, section, weight, needs, what is sent, what is expected, and the fix."""
    code, output = run_command(explain.command, "rail-402-09")
    row = load()["RAIL-402-09"]
    assert code == 0
    for part in (row.id, row.section, row.level, sample_check, "Asks unpaid and expects an amount."):
        assert part in output
    assert " ".join(row.sentence.split()) in " ".join(output.split())
    assert "Fix: Put an amount into each entry." in output


def test_explain_takes_the_name_of_a_check(sample_check: str) -> None:
    """A name seen in a report leads to the rows it decides."""
    for name in (sample_check, f"{sample_check}[algorand]"):
        code, output = run_command(explain.command, name)
        assert code == 0
        assert output.startswith("RAIL-402-09")


def test_explain_says_when_nothing_on_the_wire_shows_a_row() -> None:
    """A documented row gives its written reason."""
    _, output = run_command(explain.command, "GW-DOC-01")
    assert "No request can show it: A feature flag" in output


def test_explain_as_json_spells_the_needs_out() -> None:
    """Programs get the same facts."""
    _, output = run_command(explain.command, "GW-DOC-01", "--json")
    value = json.loads(output)
    assert value[0]["id"] == "GW-DOC-01"
    assert value[0]["needs"] == {"D": "reading documents"}
    assert value[0]["documented"]


def test_every_need_of_the_ledger_has_words() -> None:
    """No code is shown to a reader."""
    assert {need for row in load() for need in row.needs} <= set(content.NEEDS)
