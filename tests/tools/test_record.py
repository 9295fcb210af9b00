"""Recordings: each file belongs to one part, each part's commands exist, and a change rewrites no other line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import prepared
from tools.mutation import reach
from tools.mutation.reach import Reach, Reached
from tools.record import FOLDER, PARTS
from tools.typical import merge_seconds


def test_each_recorded_file_belongs_to_one_part() -> None:
    """And each part has written something."""
    files = {path for path in FOLDER.rglob("*") if path.is_file()}
    recorded_files = [path for pattern, _ in PARTS.values() for path in FOLDER.glob(pattern)]
    assert sorted(files) == sorted(recorded_files)
    assert [name for name, (pattern, _) in PARTS.items() if not [*FOLDER.glob(pattern)]] == []


@pytest.mark.parametrize("part", PARTS)
def test_the_commands_of_a_part_have_their_options(part: str, tmp_path: Path) -> None:
    """Each option is in the help of its command; a tool without options has no help."""
    for words in PARTS[part][1](tmp_path):
        options = [word for word in words if word.startswith("--")]
        command = words[: 2 if words[0] in {"conformance", "tools.mutants"} else 1]
        if options:
            result = prepared.run(*command, "--help", env=os.environ, timeout=600)
            assert result.returncode == 0, result.stderr
            assert [one for one in options if one not in result.stdout] == []


def test_a_check_keeps_its_figure_unless_it_changed() -> None:
    """Noise of a run changes nothing; new checks are added, and a check that is gone is left out."""
    before = {"same": 4.0, "short": 0.1, "slower": 4.0, "faster": 8.0, "gone": 1.0}
    now = {"same": 5.5, "short": 0.6, "slower": 6.5, "faster": 3.0, "new": 2.0}
    assert merge_seconds(before, now) == {"same": 4.0, "short": 0.1, "slower": 6.5, "faster": 3.0, "new": 2.0}


def test_a_new_check_rewrites_no_line_of_a_function_that_it_does_not_reach(tmp_path: Path) -> None:
    """Checks keep their bits, whatever the names of those that come or go."""

    def save_reach(**checks: tuple[str, ...]) -> list[str]:
        functions = {name: Reached("digest", {0: frozenset(found)}) for name, found in checks.items()}
        reach.save("rail", Reach(("rail",), ("algorand",), functions), tmp_path)
        assert {key: one.whole for key, one in reach.load.__wrapped__("rail", tmp_path).functions.items()} == {
            name: frozenset(reaching_checks) for name, reaching_checks in checks.items()
        }
        return (tmp_path / "rail.json").read_text("utf-8").splitlines()

    first = save_reach(f=("b", "d"), g=("d",))
    second = save_reach(f=("b", "d"), g=("a", "c", "d"))
    third = save_reach(f=("d",), g=("a", "c", "d"))
    assert [one for one in first if one not in second and not one.startswith((' "checks"', '  "g"'))] == []
    assert [one for one in second if one not in third and not one.startswith('  "f"')] == []
