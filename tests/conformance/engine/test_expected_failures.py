"""The list of known breaches: what does not hold is named, and the list without it is proposed."""

from __future__ import annotations

import datetime as dt
import json
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner
from junitparser import Failure, JUnitXml

from conformance.cli.run import command
from conformance.engine.check import Check
from conformance.engine.expected_failures import explain_contradiction, list_faults, propose_list
from conformance.engine.runner import Plan, Run
from conformance.ledger import load
from conformance.log.events import Event, EventLog
from conformance.outcome import Exit, Verdict
from conformance.report import formats
from conformance.report import json as json_report
from conformance.target import ExpectedFailure, parse
from tests.conformance.report.run_builder import RunBuilder

ROWS = ("RAIL-402-01", "RAIL-402-02", "RAIL-402-03", "RAIL-402-07")
FAR, PAST = dt.date(2099, 1, 1), dt.date(2020, 1, 1)
NO_CHECKS: tuple[Check, ...] = ()


def entry(row: str, expires: dt.date = FAR) -> ExpectedFailure:
    """Return an entry with text that TOML must escape."""
    return ExpectedFailure(id=row, reason='a "known"\nbreach \\ #', owner="us", expires=expires)


def make_run() -> tuple[Event, ...]:
    """Return a run in which one entry holds, one is stale, one unmatched, one expired."""
    words = ("expected", "unexpected_pass", "unmatched", "expired")
    verdicts = (Verdict.FAIL, Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.FAIL)
    return RunBuilder(ROWS).finish(
        dict(zip(ROWS, verdicts, strict=True)), known_states=dict(zip(ROWS, words, strict=True))
    )


def test_each_fault_is_named() -> None:
    """Stale, unmatched and expired entries have a sentence each, one that holds or was not selected none."""
    entries = [*map(entry, ROWS[:3]), entry(ROWS[3], PAST), entry("GW-LINK-01")]
    assert list_faults(entries, make_run()) == (
        "stale: RAIL-402-02 passes",
        "unmatched: RAIL-402-03 does not apply to this target",
        "expired on 2020-01-01, and RAIL-402-07 is still broken",
    )


def test_the_list_without_what_does_not_hold_is_proposed() -> None:
    """It is a list that `--xfail` takes, with the entries that hold; those that do not are comments in it."""
    entries = [*map(entry, ROWS[:3]), entry(ROWS[3], PAST), entry("GW-LINK-01")]
    text = propose_list(entries, make_run())
    assert text is not None
    assert parse(text, source="proposed").xfail == (entries[0], entries[4])
    left_out = "\n".join(line[2:] for line in text.splitlines() if line.startswith(("# [[", "# id", "# reason")))
    assert [one["id"] for one in tomllib.loads(left_out)["xfail"]] == list(ROWS[1:])
    assert "# expired on 2020-01-01, and RAIL-402-07 is still broken\n" in text


def test_nothing_is_proposed_where_all_hold() -> None:
    """Neither an empty list nor one that holds is touched."""
    assert propose_list([], make_run()) is None
    assert propose_list([entry(ROWS[0]), entry("GW-LINK-01")], make_run()) is None


def test_an_entry_that_matches_nothing_fails_every_report() -> None:
    """A row that does not apply and is on the list is no skip: exit code, JUnit, JSON and SARIF fail it."""
    events = RunBuilder(ROWS).finish({ROWS[0]: Verdict.NOT_APPLICABLE}, known_states={ROWS[0]: "unmatched"})
    assert events[-1]["exit_code"] == Exit.FAILED
    reports = {name: one.render(events).decode() for name, one in formats.FORMATS.items()}
    cases = [case for suite in JUnitXml.fromstring(reports["junit"].encode()) for case in suite]
    assert [type(result) for case in cases for result in case.result] == [Failure]
    document = json.loads(reports["json"])
    jsonschema_rs.validator_for(dict(json_report.schema())).validate(document)
    assert document["results"]["summary"]["failed"] == 1
    assert [one["ruleId"] for one in json.loads(reports["sarif"])["runs"][0]["results"]] == [ROWS[0]]
    for name in ("html", "markdown", "sarif", "junit"):
        assert "does not apply to this target: remove the entry" in reports[name].replace("\\", ""), name


@pytest.mark.parametrize(("lanes", "verdict"), [((), "unmatched"), (("base",), None)])
async def test_a_lane_that_only_this_run_leaves_out_matches_as_before(
    lanes: tuple[str, ...], verdict: str | None
) -> None:
    """What the profile does not claim is unmatched; what an option leaves out was not looked at."""
    row = next(row for row in load() if row.lane == "algorand" and row.surface == "rail")
    claimed_lanes = ["algorand", "base"] if lanes else ["base"]
    claims = f'[claims]\nsurfaces = ["rail"]\nlanes = {json.dumps(claimed_lanes)}\n'
    profile = parse(f'[surfaces.rail]\nurl = "http://127.0.0.1:9"\n{claims}', source="test")
    log = EventLog()
    await Run(Plan((row,), NO_CHECKS, seed=1, lanes=lanes, expected_failures=(entry(row.id),)), profile, log).execute()
    (row_event,) = log.of("row")
    assert (row_event["verdict"], row_event["expected_failure"]) == ("not_applicable", verdict)


def test_two_entries_of_one_row_are_refused(tmp_path: Path) -> None:
    """They contradict each other: exit code 2 before anything runs, with the entry to keep."""
    entries = [entry(ROWS[0]), entry(ROWS[1]), entry(ROWS[0], PAST)]
    contradiction = explain_contradiction(entries)
    assert contradiction is not None
    assert parse(contradiction.partition("\n\n")[2], source="said").xfail == (entries[2],)
    assert explain_contradiction(entries[:2]) is None
    entry_text = 'id = "RAIL-402-01"\nreason = "x"\nowner = "us"\nexpires = 2099-01-01\n'
    for name in ("weldproof.toml", "more.toml"):
        head = '[surfaces.rail]\nurl = "http://127.0.0.1:9"\n' if name == "weldproof.toml" else ""
        (tmp_path / name).write_text(f"{head}[[xfail]]\n{entry_text}")
    words = ["RAIL-402-01", "--config", str(tmp_path / "weldproof.toml"), "--xfail", str(tmp_path / "more.toml")]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert "RAIL-402-01 (2 entries)" in result.output
