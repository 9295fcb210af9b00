"""`weldproof report`: a run shown again, written again, and compared with another."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from conformance.cli.report import command
from conformance.log.events import LOG, Event, EventLog
from conformance.outcome import Verdict
from conformance.report import formats
from tests.conformance.report.run_builder import RunBuilder, every_verdict

ROWS = ("RAIL-402-01", "RAIL-402-02", "RAIL-402-03")


def run_command(*words: object) -> Result:
    """Run the command; only its own ending is allowed to end it."""
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def save_run(folder: Path, events: tuple[Event, ...], *names: str) -> Path:
    """Write a run as a report folder."""
    folder.mkdir(parents=True, exist_ok=True)
    log = EventLog(folder / LOG)
    for event in events:
        log.add(**event)
    log.close()
    formats.write(events, folder, names)
    return folder


def test_show_reads_a_folder_a_log_and_a_json_report_alike(tmp_path: Path) -> None:
    """The same run gives the same text whichever file it is read from."""
    folder = save_run(tmp_path / "report", every_verdict(), "json")
    plain = folder / "events.ndjson"
    plain.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in every_verdict()))
    paths = (folder, folder / LOG, plain, folder / "report.json")
    output = {run_command("show", path).output for path in paths}
    plain.unlink()
    assert len(output) == 1
    text = output.pop()
    assert "RAIL-402-01" in text
    assert f"weldproof replay {folder}#1@00112233 --config PROFILE\n" in text


def test_show_as_json_is_the_json_report(tmp_path: Path) -> None:
    """Standard output holds the document, nothing else."""
    folder = save_run(tmp_path, every_verdict(), "json")
    assert run_command("show", folder, "--json").stdout_bytes == (folder / "report.json").read_bytes()


def test_write_gives_another_format_of_a_recorded_run(tmp_path: Path) -> None:
    """A run recorded once can be written in any format later."""
    folder = save_run(tmp_path / "a", every_verdict())
    result = run_command("write", folder, "--report", "junit", "--report", "badge", "--report-dir", tmp_path / "b")
    assert result.exit_code == 0
    assert (tmp_path / "b" / "junit.xml").read_bytes() == formats.FORMATS["junit"].render(every_verdict())
    assert (tmp_path / "b" / "badge.svg").exists()


def test_diff_finds_what_became_worse_and_exits_1(tmp_path: Path) -> None:
    """A verdict that got worse comes first and decides the exit code."""
    before = save_run(tmp_path / "before", RunBuilder(ROWS).finish({ROWS[2]: Verdict.FAIL}))
    after = save_run(tmp_path / "after", RunBuilder(ROWS).finish({ROWS[1]: Verdict.FAIL}))
    result = run_command("diff", before, after)
    lines = result.output.splitlines()
    assert result.exit_code == 1
    assert lines[3].startswith("worse  RAIL-402-02  pass → fail")
    assert "RAIL-402-03  fail → pass" in lines[4]
    assert "2 verdicts differ, 1 of them worse" in result.output


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL])
def test_diff_of_a_run_with_itself_finds_nothing(tmp_path: Path, verdict: Verdict) -> None:
    """No change, exit 0, whatever the verdicts are."""
    folder = save_run(tmp_path, RunBuilder(ROWS).finish(dict.fromkeys(ROWS, verdict)))
    result = run_command("diff", folder, folder)
    assert (result.exit_code, "no verdict differs" in result.output) == (0, True)


def test_requests_are_compared_by_template(tmp_path: Path) -> None:
    """The same requests exit 0, others exit 1 and are shown with how often each run sent them."""
    first_run, second_run = RunBuilder(ROWS), RunBuilder(ROWS)
    first_run.exchange("a_check")
    second_run.exchange("a_check")
    first, second = save_run(tmp_path / "a", first_run.finish({})), save_run(tmp_path / "b", second_run.finish({}))
    same_run = run_command("requests", first, second)
    assert (same_run.exit_code, same_run.output) == (0, "1 and 1 requests, 0 templates differ\n")
    third_run = RunBuilder(ROWS)
    third_run.exchange("a_check")
    third_run.exchange("a_check")
    twice = save_run(tmp_path / "c", third_run.finish({}))
    assert "1 → 2  [" in run_command("requests", first, twice).output
    document = json.loads(run_command("requests", first, twice / LOG, "--json").output)["differing"]
    assert [(item["template"][0], item["before"], item["after"]) for item in document] == [("POST", 1, 2)]
    assert run_command("requests", first, twice).exit_code == 1
    (tmp_path / "d").mkdir()
    assert run_command("requests", first, tmp_path / "d").exit_code == 2


def test_matrix_sets_runs_side_by_side(tmp_path: Path) -> None:
    """Each run has a column, each group how many of its judged rows pass, `-` where nothing was judged."""
    first = save_run(tmp_path / "a", RunBuilder((*ROWS, "RAIL-KEY-01")).finish({ROWS[0]: Verdict.FAIL}))
    second = save_run(tmp_path / "b", RunBuilder(ROWS).finish(dict.fromkeys(ROWS, Verdict.INCONCLUSIVE)))
    result = run_command("matrix", first, second)
    assert result.exit_code == 0
    assert [line.split() for line in result.output.splitlines()[-2:]] == [
        ["RAIL-402", "2/3", "-"],
        ["RAIL-KEY", "1/1", "-"],
    ]
    rows = json.loads(run_command("matrix", first, second, "--rows", "--json").output)["rows"]
    assert rows[ROWS[0]] == ["fail", "inconclusive"]
    assert rows["RAIL-KEY-01"] == ["pass", "-"]


def test_a_row_that_is_not_looked_at_any_more_is_worse(tmp_path: Path) -> None:
    """Dropping a row, or no longer claiming it, does not hide in a comparison."""
    before = save_run(tmp_path / "a", RunBuilder(ROWS).finish({}))
    after = save_run(tmp_path / "b", RunBuilder(ROWS[:2]).finish({ROWS[0]: Verdict.NOT_APPLICABLE}))
    result = run_command("diff", before, after, "--json")
    changes = json.loads(result.output)["changes"]
    assert result.exit_code == 1
    assert [(one["id"], one["before"], one["after"], one["worse"]) for one in changes] == [
        (ROWS[0], "pass", "not_applicable", True),
        (ROWS[2], "pass", None, True),
    ]
    assert run_command("diff", after, before).exit_code == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("events.ndjson", b"not json\n"),
        ("events.ndjson", b'{"event":"run.started"}\n'),
        ("events.ndjson", b"\xff\xfe\n"),
        ("report.json", b"{}"),
        ("report.json", b"["),
        ("other.txt", b""),
    ],
)
@pytest.mark.parametrize("verb", ["show", "diff"])
def test_what_is_no_run_is_a_usage_error(tmp_path: Path, verb: str, name: str, content: bytes) -> None:
    """A file of something else exits 2 with a sentence that names it."""
    (tmp_path / name).write_bytes(content)
    result = run_command(verb, *[tmp_path] * (2 if verb == "diff" else 1))
    assert result.exit_code == 2
    assert str(tmp_path) in result.output


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """A missing folder exits 2."""
    assert run_command("show", tmp_path / "nowhere").exit_code == 2


def test_rows_that_a_part_did_not_select_are_not_worse(tmp_path: Path) -> None:
    """A whole run beside a part of the suite: the part is compared, and the others are counted, in both directions."""
    whole = save_run(tmp_path / "whole", RunBuilder(ROWS).finish({}))
    part = save_run(tmp_path / "part", RunBuilder(ROWS[:1], options={"ids": ["RAIL-402-01"]}).finish({}))
    result = run_command("diff", whole, part)
    assert (result.exit_code, "worse  " in result.output) == (0, False), result.output
    assert "2 requirements were not selected in the run after and are not compared" in result.output
    assert "no verdict differs" in result.output
    assert "2 requirements were not selected in the run before" in run_command("diff", part, whole).output
    broken = save_run(tmp_path / "broken", RunBuilder(ROWS[:1], options={"ids": ["R"]}).finish({ROWS[0]: Verdict.FAIL}))
    result = run_command("diff", whole, broken)
    assert result.exit_code == 1
    assert "1 verdicts differ, 1 of them worse" in result.output


def test_runs_without_a_common_row_are_not_compared(tmp_path: Path) -> None:
    """Nothing that looks like a verdict is said where nothing was compared."""
    first_folder = save_run(tmp_path / "a", RunBuilder(ROWS[:1]).finish({}))
    second_folder = save_run(tmp_path / "b", RunBuilder(ROWS[1:]).finish({}))
    result = run_command("diff", first_folder, second_folder)
    assert (result.exit_code, "no requirement in common" in result.output) == (2, True)
