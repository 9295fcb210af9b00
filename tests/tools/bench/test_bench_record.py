"""Figures are compared with those of the same kind of processor; where none are kept, nothing is called slower."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from tests.tools.bench.bench_figures import figures, job
from tools.bench import process_cpu_time
from tools.bench.__main__ import command
from tools.bench.record import Machine, QuickRecord, keep_quick, quick_records

ROOT = Path(__file__).parents[3]
RECEIPT = job("receipt", [1.0] * 3, libsodium=[100.0] * 3)


def of(model: str, day: str = "2026-11-27") -> QuickRecord:
    """Return a record of some kind of processor."""
    return QuickRecord(day, Machine(model, 2, "Linux 6"), (RECEIPT,))


def test_a_processor_has_one_record(tmp_path: Path) -> None:
    """A later one takes its place, of whichever file; the whole figures stand for their own processor."""
    whole, further = tmp_path / "whole.json", tmp_path / "further.json"
    whole.write_bytes(orjson.dumps(figures(RECEIPT).as_json()))
    assert set(quick_records(whole, further)) == {"Some processor"}
    for record_figures in (
        of("Another"),
        of("A third"),
        of("Another", "2026-11-28"),
        of("Some processor", "2020-01-01"),
    ):
        keep_quick(record_figures, further)
    assert quick_records(whole, further) == {
        "Another": of("Another", "2026-11-28"),
        "A third": of("A third"),
        "Some processor": QuickRecord("2026-11-21", Machine("Some processor", 2, "Linux 6"), (RECEIPT,)),
    }
    keep_quick(of("Some processor"), further)
    assert quick_records(whole, further)["Some processor"] == of("Some processor")


@pytest.mark.parametrize("content", [b"", b"{}", b'[{"taken":"2026-11-27"}]'])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """What is no record says so, and is not written over."""
    whole, further = tmp_path / "whole.json", tmp_path / "further.json"
    whole.write_bytes(orjson.dumps(figures(RECEIPT).as_json()))
    further.write_bytes(content)
    with pytest.raises(ValueError, match=r"further\.json holds no quick records"):
        keep_quick(of("Another"), further)
    assert further.read_bytes() == content


@pytest.mark.slow
def test_each_processor_is_compared_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown one is measured only; once recorded, what no machine could reach again is slower there."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/performance.json").write_bytes(orjson.dumps(figures(RECEIPT).as_json()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    quick = ("--quick", "--rounds", "3", "--only", "receipt")
    monkeypatch.setattr(process_cpu_time, "model", lambda: "A new one")
    unknown = CliRunner().invoke(command, quick)
    assert (unknown.exit_code, "no record is of this processor (A new one)" in unknown.stdout) == (3, True)
    assert json.loads(CliRunner().invoke(command, [*quick, "--json"]).stdout)["recorded"] is None
    keep_quick(of("A new one"))
    first_result = CliRunner().invoke(command, quick)
    assert (first_result.exit_code, "recorded 100.00x" in first_result.stdout) == (1, True)
    second_result = CliRunner().invoke(command, ["--quick", "--record", "--rounds", "1"])
    assert second_result.exit_code == 0
    assert {one.name for one in quick_records()["A new one"].jobs} == {
        "challenge",
        "receipt",
        "message",
        "falcon",
        "audit-chain",
    }
