"""`run --shard I/N` on several machines and `report merge` are one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.report import command as report
from conformance.cli.run import command
from conformance.http.curl_and_templates import count_templates
from conformance.log.events import LOG, Event, read_log
from tests.conformance.cli.test_exit_codes import run_suite
from tests.stack import running_stack

WORDS = ("RAIL-402", "RAIL-KEY", "RAIL-DISC", "--seed", "11")


@pytest.fixture(scope="module")
def version_1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """What lets a run judge a rail that declares x402 version 1: some rows fail."""
    words = ("--surface", "rail", "--lane", "algorand", "--mutant", "version-1")
    with running_stack(tmp_path_factory.mktemp("version-1"), *words) as ready:
        yield ["--config", ready["profile"]]


def rows(folder: Path) -> dict[str, Event]:
    """Return what a run said of each row."""
    return {event["id"]: event for event in read_log(folder / LOG) if event["event"] == "row"}


def test_the_parts_merged_are_the_whole_run(tmp_path: Path, version_1: list[str]) -> None:
    """The same verdicts of the same checks and the same requests as of one run on one machine, and its exit code."""
    for part in ("1/3", "2/3", "3/3"):
        result = run_suite(tmp_path, *WORDS, *version_1, "--shard", part, "--report-dir", part[0])
        assert result.returncode in {0, 1}, result.stdout + result.stderr
        assert f"This is part {part} of a run" in result.stdout
    whole = run_suite(tmp_path, *WORDS, *version_1, "--report-dir", "whole")
    folders = [str(tmp_path / number) for number in "123"]
    merged_run = CliRunner().invoke(report, ["merge", *folders, "--report-dir", str(tmp_path / "merged")])
    assert (merged_run.exit_code, whole.returncode) == (1, 1), merged_run.output
    assert rows(tmp_path / "merged") == rows(tmp_path / "whole")
    merged_templates, whole_templates = (
        count_templates(read_log(tmp_path / name / LOG)) for name in ("merged", "whole")
    )
    assert set(merged_templates) == set(whole_templates)
    parts = [set(rows(tmp_path / number)) for number in "123"]
    assert all(parts)
    assert sum(map(len, parts)) == len(rows(tmp_path / "whole"))
    diff = CliRunner().invoke(report, ["diff", str(tmp_path / "whole"), str(tmp_path / "merged")])
    assert (diff.exit_code, "no verdict differs" in diff.output) == (0, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--shard", "3/2", "--seed", "1"], "give I/N with I from 1 to N"),
        (["--shard", "1/2"], "needs --seed"),
        (["--shard", "1/2", "--seed", "1", "--quick"], "cannot be combined with --quick"),
        (["--shard", "1/2", "--seed", "1", "RAIL-402-01"], "make 1 parts with anything to do"),
    ],
)
def test_2_when_there_is_no_such_part(words: list[str], says: str) -> None:
    """Before anything is brought up."""
    result = CliRunner().invoke(command, [*words, "--reference"])
    assert (result.exit_code, says in result.output) == (2, True), result.output
