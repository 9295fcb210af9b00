"""`weldproof run --reference --algorand-mode`: the rail's and the checkout's rows on Algorand as real nodes run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.log.events import LOG, read_log

# The clock of a node in DevMode cannot be moved, so that rows of expired challenges are documented there.
_DOCUMENTED_ROWS = {"dev": {"RAIL-402-20", "RAIL-WELD-06"}, "rounds": set[str]()}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["dev", "rounds"])
def test_rail_and_checkout_pass_in_each_mode(tmp_path: Path, mode: str) -> None:
    """No row fails or stays undecided, and what a mode cannot show is documented."""
    words = ["--reference", "--lane", "algorand", "--algorand-mode", mode, "--report", "json"]
    result = subprocess.run(
        [sys.executable, "-m", "conformance", "run", "RAIL", "GW-CHK", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    verdicts = {
        event["id"]: event["verdict"] for event in read_log(tmp_path / "report" / LOG) if event["event"] == "row"
    }
    assert verdicts["RAIL-PAY-02"] == verdicts["RAIL-PAY-07"] == verdicts["GW-CHK-05"] == "pass"
    assert _DOCUMENTED_ROWS[mode] <= {row for row, verdict in verdicts.items() if verdict == "documented"}
