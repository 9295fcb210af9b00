"""Looks that were sound are kept once each, and counted by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.ledger import load as ledger
from tools import sound_looks
from tools.sound_looks import SoundLooks


def trial(seed: int, *passed_rows: str, differences: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"seed": seed, "passed": list(passed_rows), "differences": list(differences)}


def test_a_seed_counts_once_and_only_where_it_is_sound(tmp_path: Path) -> None:
    """What is kept is read back, in the order of seeds and of the ledger."""
    trials = [trial(7, "X-JSON-01", "RAIL-402-01"), trial(3, "X-JSON-01"), trial(5, "X-JSON-01", differences=("a",))]
    sound_looks_found = SoundLooks((), {}).with_trials(trials).with_trials(trials[:1])
    assert sound_looks_found.seeds == (3, 7)
    assert sound_looks_found.passed == {"X-JSON-01": 2, "RAIL-402-01": 1}
    path = tmp_path / "looks.json"
    sound_looks.save(sound_looks_found, path)
    assert sound_looks.load(path) == sound_looks_found


def test_results_are_added_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not sound is said and not kept, and one of a part of the rows is refused."""
    monkeypatch.setattr(sound_looks, "load", lambda: SoundLooks((), {}))
    kept_looks: list[SoundLooks] = []
    monkeypatch.setattr(sound_looks, "save", kept_looks.append)

    def add_trials(*trials: dict[str, Any]) -> int:
        path = tmp_path / "result.json"
        path.write_text(json.dumps({"trials": trials}), "utf-8")
        return sound_looks.main([str(path)])

    assert add_trials(trial(1, "X-JSON-01"), trial(2, "X-JSON-01")) == 0
    assert add_trials(trial(1, "X-JSON-01"), trial(2, "X-JSON-01", differences=("X-JSON-01: fail",))) == 1
    assert [one.seeds for one in kept_looks] == [(1, 2), (1,)]
    assert add_trials(trial(1, "RAIL-402-01")) == 2
    assert len(kept_looks) == 2


def test_every_row_that_is_kept_is_one_of_the_ledger() -> None:
    """And none passed in more looks than there are."""
    sound_rows = sound_looks.load()
    assert {*sound_rows.passed} <= {row.id for row in ledger()}
    assert max(sound_rows.passed.values(), default=0) <= len(sound_rows.seeds)
