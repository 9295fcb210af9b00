"""A name that is unknown is answered with the nearest known one, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli import main

RAIL = '[surfaces.rail]\nurl = "http://127.0.0.1:9"\n[claims]\nsurfaces = ["rail"]\nlanes = ["base"]\n'


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rn"], "no command 'rn'; did you mean run?"),
        (["receipt", "verfy"], "no command 'verfy'; did you mean verify?"),
        (["vectors", "lst"], "no command 'lst'; did you mean list?"),
        (["qqqq"], "no command 'qqqq'; `main --help` lists them"),
        (["run", "RAIL-WLD", "--reference"], "no requirement 'RAIL-WLD'; did you mean RAIL-WELD"),
        (["explain", "RAIL-WLD"], "did you mean RAIL-WELD"),
        (["watch", "RAIL-WLD", "--target", "rail=http://127.0.0.1:9"], "did you mean RAIL-WELD"),
        (["selftest", "--chameleon", "--rows", "RAIL-WLD"], "did you mean RAIL-WELD"),
    ],
)
def test_the_nearest_name_is_said(words: list[str], says: str) -> None:
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, says in result.output) == (2, True), result.output


@pytest.mark.parametrize("words", [["RAIL", "--surface", "agent"], ["AGENT", "--lane", "base", "--level", "MAY"]])
def test_a_selection_that_matches_nothing_is_a_usage_error(words: list[str]) -> None:
    result = CliRunner().invoke(main, ["run", *words, "--reference"])
    assert (
        result.exit_code,
        "no requirement matches the ids, --surface, --lane and --level together" in result.output,
    ) == (2, True), result.output


def test_a_lane_that_the_profile_does_not_claim_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "rail.toml").write_text(RAIL, "utf-8")
    result = CliRunner().invoke(main, ["run", "RAIL-402", "--lane", "solana", "--config", str(tmp_path / "rail.toml")])
    assert (result.exit_code, "--lane solana: the profile claims base" in result.output) == (2, True), result.output


def test_a_clause_stands_for_the_requirements_that_rest_on_it() -> None:
    result = CliRunner().invoke(main, ["explain", "5.5"])
    assert result.exit_code == 0
    assert "RAIL-WELD-02" in result.output
    result = CliRunner().invoke(main, ["explain", "P-CH-13"])
    assert (result.exit_code, "P-CH-13a" in result.output) == (0, True), result.output
