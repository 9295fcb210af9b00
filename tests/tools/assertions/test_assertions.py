"""Places where checks judge, negated: `python -m tools.assertions`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conformance.outcome import Verdict
from tools.assertions import unreached_reasons
from tools.assertions.judging import Judged, judge_checks
from tools.assertions.places import places
from tools.assertions.rounds import rounds

ROOT = Path(__file__).parents[3]


def test_every_judgement_in_the_source_is_a_place() -> None:
    """Each line that calls `expect` on a case lies within a place."""
    covered_lines = {(place.file, line) for place in places().values() for line in range(place.first, place.last + 1)}
    calls = {
        (path.relative_to(ROOT).as_posix(), number)
        for path in (ROOT / "conformance").rglob("*.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if "case.expect(" in line and "`" not in line
    }
    assert len(calls) > 400
    assert calls <= covered_lines


def test_places_keep_their_ids_when_lines_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id names the function and the count in it, not the line."""
    monkeypatch.setattr("tools.assertions.places._ROOT", tmp_path)
    text = "async def judges(case):\n    case.expect('X', a, 'one', 1)\n    case.expect('X', b, 'two', 2)\n"
    (tmp_path / "some.py").write_text(text)
    before = places(tmp_path)
    (tmp_path / "some.py").write_text(f"import re\n\n\n{text}")
    after = places(tmp_path)
    assert [*before] == [*after] == ["some:judges#1", "some:judges#2"]
    assert [place.condition for place in after.values()] == ["a", "b"]
    assert before["some:judges#1"].first + 3 == after["some:judges#1"].first


def test_no_check_comes_by_two_places_of_a_round() -> None:
    """Each place has one round, and shares it with no other place of one of its checks."""
    checks = {"a": {"1", "2"}, "b": {"2"}, "c": {"3"}, "d": {"1", "3"}, "e": set()}
    round_list = rounds(checks)
    assert sorted(place for some in round_list for place in some) == sorted(checks)
    for round_places in round_list:
        checks_passing = [check for place in round_places for check in checks[place]]
        assert len(checks_passing) == len(set(checks_passing))


def test_what_is_said_to_be_out_of_reach_exists() -> None:
    """Each place of unreached_reasons.toml is one of the source."""
    assert unreached_reasons.load().keys() <= places().keys()


async def test_a_negated_place_turns_its_row_red() -> None:
    """A judgement that is turned round on the clean reference fails its row."""
    every, row = places(), "AGENT-HTTP-01"
    plain = await judge_checks(every, 1, rows=row)
    assert not plain.rows
    assert plain.verdicts[row] is Verdict.PASS
    place = next(iter(plain.checks))
    judged_run = await judge_checks(every, 1, negated_places=[place], only=plain.checks[place], rows=row)
    assert judged_run.rows[place]
    assert judged_run.green(place) == set()
    assert judged_run.verdicts[row] is Verdict.FAIL


def test_a_place_that_decides_nothing_is_seen() -> None:
    """A negated place whose row stays sound is listed with that row; rows that the run did not judge are not."""
    judged_run = Judged(rows={"here": {"A", "B", "C"}}, verdicts={"A": Verdict.PASS, "B": Verdict.WARN})
    assert judged_run.green("here") == {"A"}


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["AGENT-SIGN AGENT-VALID", "CP-TRUST CP-ISSUER"])
def test_every_judgement_of_some_rows_decides(rows: str) -> None:
    """Each place that the checks of these rows come by turns its rows red when it is turned round."""

    async def negate_rounds() -> dict[str, set[str]]:
        every, green = places(), dict[str, set[str]]()
        plain = await judge_checks(every, 1, rows=rows)
        for round_places in rounds(plain.checks):
            checks = {check for place in round_places for check in plain.checks[place]}
            judged_run = await judge_checks(every, 1, negated_places=round_places, only=checks, rows=rows)
            green |= {place: judged_run.green(place) for place in round_places}
        return green

    results = asyncio.run(negate_rounds())
    assert results
    assert {place: sound for place, sound in results.items() if sound} == {}
