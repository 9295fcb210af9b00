"""`weldproof run --chains localnet`: the suite against a rail whose lanes run on real nodes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.log.events import LOG, read_log

LACKING_ON_SOLANA = {"RAIL-402-20", "RAIL-WELD-06"}


@pytest.mark.slow
def test_one_lane_alone_starts_one_node_and_documents_what_it_lacks(tmp_path: Path) -> None:
    """On surfpool payments are judged, and what needs its block times moved is documented, with the reason."""
    words = ["--chains", "localnet", "--lane", "solana", "--report", "json", "--seed", "3"]
    rows = ["RAIL-PAY-03", "RAIL-PAY-08", "RAIL-WELD-08", *sorted(LACKING_ON_SOLANA)]
    result = subprocess.run(
        [sys.executable, "-m", "conformance", "run", *rows, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "on real nodes" in result.stderr
    events = read_log(tmp_path / "report" / LOG)
    verdicts = {event["id"]: event for event in events if event["event"] == "row"}
    assert {row: "documented" if row in LACKING_ON_SOLANA else "pass" for row in rows} == {
        row: event["verdict"] for row, event in verdicts.items()
    }
    for row in LACKING_ON_SOLANA:
        assert "block_time_offset" in verdicts[row]["reason"]
        assert "specification 9.1" in verdicts[row]["reason"]
