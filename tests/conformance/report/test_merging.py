"""The parts of a run put together: the whole, or a sentence on what is not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.report import command
from conformance.log.events import LOG, Event, EventLog, read_log
from conformance.outcome import Exit, Verdict
from conformance.report.merging import MergeFault, merge_parts
from conformance.report.summary import summarise
from tests.conformance.report.run_builder import RunBuilder

ROWS = ("RAIL-402-01", "RAIL-402-02", "RAIL-402-03", "RAIL-402-07")


def shard(part: str, rows: Sequence[str], verdicts: Mapping[str, Verdict], **options: Any) -> tuple[Event, ...]:
    """Return one part with an exchange for each row, and an uncited one."""
    run = RunBuilder(rows, options={"seed": 7, "shard": part, **options}, non_defaults=[("port", int(part[0]))])
    run.exchange("nobody")
    for row in rows:
        number = run.exchange(f"check_{row}", answer=f'"{row}"')
        run.judge(row, verdicts.get(row, Verdict.PASS), check=f"check_{row}", found_text=row, exchange=number)
    return run.finish(verdicts, known_states={ROWS[3]: "unexpected_pass"} if ROWS[3] in rows else {})


def parts() -> dict[str, tuple[Event, ...]]:
    """Return the three parts of a run, the last first."""
    return {
        "c": shard("3/3", ROWS[3:], {}),
        "a": shard("1/3", (ROWS[0], ROWS[2]), {ROWS[2]: Verdict.FAIL}),
        "b": shard("2/3", ROWS[1:2], {ROWS[1]: Verdict.WARN}),
    }


def test_the_whole_has_each_row_as_its_part_judged_it() -> None:
    """Verdicts, findings with their exchanges, the order of the ledger, and the exit code of all."""
    whole = summarise(merge_parts(parts()))
    assert [(row.id, row.verdict, row.expected_failure) for row in whole.rows] == [
        (ROWS[0], Verdict.PASS, None),
        (ROWS[1], Verdict.WARN, None),
        (ROWS[2], Verdict.FAIL, None),
        (ROWS[3], Verdict.PASS, "unexpected_pass"),
    ]
    assert (whole.exit_code, whole.exchange_count, "shard" in whole.options) == (Exit.FAILED, 7, False)
    exchanges_shown = {
        row.id: whole.exchanges[row.findings[0].exchange or 0] for row in whole.rows if row.needs_attention
    }
    assert {row: exchange.response.body for row, exchange in exchanges_shown.items() if exchange.response} == {
        row: f'"{row}"' for row in ROWS[1:]
    }
    assert whole.non_defaults == (("port", "1, 2, 3"),)


def test_numbers_of_exchanges_are_there_once() -> None:
    """Each exchange has a number of its own, so that it can be replayed."""
    numbers = [event["n"] for event in merge_parts(parts()) if event["event"] == "exchange"]
    assert numbers == list(range(1, 8))


def test_a_part_says_that_it_is_one() -> None:
    """A part's report is not taken for the whole run's."""
    assert "This is part 2/3 of a run" in summarise_sentence(parts()["b"])
    assert "part" not in summarise_sentence(merge_parts(parts()))


def summarise_sentence(events: tuple[Event, ...]) -> str:
    """Return the verdict in words."""
    from conformance.report.conclusion import sentence

    return sentence(summarise(events))


def test_an_interrupted_part_interrupts_the_whole() -> None:
    """The exit code is that of all parts, the gravest first."""
    *begin, end = parts()["b"]
    whole = summarise(merge_parts({**parts(), "b": (*begin, {**end, "interrupted": True, "exit_code": 130})}))
    assert (whole.exit_code, whole.interrupted) == (Exit.INTERRUPTED, True)


@pytest.mark.parametrize(
    ("changed_parts", "says"),
    [
        ({"b": None}, "of 3 parts these are missing: 2"),
        ({"b": None, "c": None}, "these are missing: 2, 3"),
        ({"d": shard("2/3", ROWS[1:2], {})}, "part 2 of 3 is given 2 times: b and d"),
        ({"b": shard("2/4", ROWS[1:2], {})}, "one of 3 parts, b one of 4"),
        ({"b": shard("2/3", ROWS[:2], {})}, "more than one part judged RAIL-402-01"),
        ({"b": shard("2/3", ROWS[1:2], {}, lanes=["base"])}, "option lanes None and"),
        ({"b": RunBuilder(ROWS[1:2]).finish({})}, "b: it is not a part of a run"),
        ({"b": shard("2/3", ROWS[1:2], {})[:-1]}, "b: part 2 did not end"),
        ({"b": ()}, "b: no run began"),
    ],
)
def test_what_is_not_the_parts_of_one_run_is_refused(
    changed_parts: Mapping[str, tuple[Event, ...] | None], says: str
) -> None:
    """Missing, doubled, of another run, or unfinished."""
    given_members = {name: events for name, events in {**parts(), **changed_parts}.items() if events is not None}
    with pytest.raises(MergeFault, match=says):
        merge_parts(given_members)


def test_parts_of_another_seed_are_refused() -> None:
    """Each seed draws other inputs: their parts are no whole."""
    begin, *events_left = parts()["b"]
    with pytest.raises(MergeFault, match="of different runs: seed 7 and 8"):
        merge_parts({**parts(), "b": ({**begin, "seed": 8}, *events_left)})


def test_the_command_writes_the_whole_report(tmp_path: Path) -> None:
    """Reports and log of the whole lie in a folder of their own; the exit code is the run's, 2 where none is made."""
    for name, events in parts().items():
        log = EventLog(tmp_path / name / LOG)
        for event in events:
            log.add(**event)
        log.close()
    folders = [str(tmp_path / name) for name in "abc"]
    result = CliRunner().invoke(
        command, ["merge", *folders, "--report-dir", str(tmp_path / "whole"), "--report", "json"]
    )
    assert result.exit_code == Exit.FAILED, result.output
    assert result.output.splitlines()[-1].startswith("Failed: 2 of 4 judged requirements pass, 1 fail, 1 warn")
    assert (tmp_path / "whole" / "report.json").exists()
    assert read_log(tmp_path / "whole" / LOG) == merge_parts(parts())
    missing_run = CliRunner().invoke(command, ["merge", *folders[:2], "--report-dir", str(tmp_path / "none")])
    assert (missing_run.exit_code, "these are missing: 3" in missing_run.output) == (2, True)
    assert not (tmp_path / "none").exists()
    onto = CliRunner().invoke(command, ["merge", *folders, "--report-dir", folders[0]])
    assert (onto.exit_code, "is the folder of one of the parts; give another folder" in onto.output) == (2, True)
