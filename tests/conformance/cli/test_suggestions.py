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
        (
            ["run", "RAIL-WELD-1", "--reference"],
            "did you mean RAIL-WELD-01 or RAIL-WELD-1",
        ),
        (["run", "rail-4", "--reference"], "no requirement 'RAIL-4'; did you mean RAIL-402"),
        (["list", "RAIL-WELD-1"], "did you mean RAIL-WELD-01 or"),
        (["explain", "RAIL-WELD-1"], "did you mean RAIL-WELD-01 or"),
        (["explain", "X402-1"], "no requirement or check 'X402-1'"),
        (["vectors", "list", "--row", "RAIL-4"], "no vector"),
        (["watch", "RAIL-WELD-1", "--target", "rail=http://127.0.0.1:9"], "did you mean RAIL-WELD-01 or"),
        (["selftest", "--chameleon", "--rows", "RAIL-WELD-1"], "did you mean RAIL-WELD-01 or"),
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


def test_a_known_breach_of_an_unknown_row_is_answered_with_the_nearest(tmp_path: Path) -> None:
    """An entry of `--xfail` names one row, so a cut id is refused."""
    (tmp_path / "rail.toml").write_text(RAIL, "utf-8")
    (tmp_path / "xfail.toml").write_text(
        '[[xfail]]\nid = "RAIL-WELD-1"\nreason = "known"\nowner = "rail"\nexpires = 2099-01-01\n', "utf-8"
    )
    words = ["run", "RAIL-402", "--config", str(tmp_path / "rail.toml"), "--xfail", str(tmp_path / "xfail.toml")]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "xfail: no requirement 'RAIL-WELD-1'; did you mean RAIL-WELD-01" in result.output) == (
        2,
        True,
    ), result.output
