"""What each check may send, held against what it sends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.engine.catalogue import load_catalogue
from tools.requests_parsed import deviations_by_check
from tools.requests_parsed.capture_parsing import Parsed, lines, parse_capture

# Payments of the three lanes with one thing wrong each, malformed ones, and signed messages.
ROWS = ["RAIL-WELD-01", "RAIL-WELD-03", "RAIL-PAY-08", "RAIL-PAY-12", "RAIL-402-15", "RAIL-402-16", "AGENT-VERIFY-02"]


def _build_exchange(check: str, *faults: str) -> Parsed:
    return Parsed(1, check, None, 402, frozenset(faults), frozenset(), frozenset())


def test_several_faults_have_a_reason() -> None:
    """Each request with two faults has a reason why it decides something."""
    assert deviations_by_check.faults_of(deviations_by_check.read()) == []
    undecided_table = {"reasons": {}, "checks": {"a": {"sends": {"x + y": ""}}}}
    assert deviations_by_check.faults_of(undecided_table) == ["a: x + y: no reason"]


def test_every_check_of_the_table_exists() -> None:
    """A check that has gone leaves nothing behind; beside checks stands what is asked before them."""
    known_ids = {"discovery", *(check.id for check in load_catalogue())}
    assert [check for check in deviations_by_check.read()["checks"] if check not in known_ids] == []


def test_another_fault_than_the_tables_is_a_finding() -> None:
    """A second fault, a fault of another kind, and a fault of a check that names no fault are all reported."""
    exchanges = [
        _build_exchange("note_without_the_token", "weld: missing or altered"),
        _build_exchange("note_without_the_token", "weld: missing or altered", "amount: less"),
        _build_exchange("note_without_the_token", "receiver"),
        _build_exchange("welded_base_payment_is_served[base]", "receiver"),
    ]
    assert list(deviations_by_check.findings(exchanges, deviations_by_check.read())) == [
        "note_without_the_token: amount: less + weld: missing or altered",
        "note_without_the_token: receiver",
        "welded_base_payment_is_served: receiver",
    ]


@pytest.mark.slow
def test_requests_hold_what_the_table_says(tmp_path: Path) -> None:
    """Requests of some rows, taken from the sockets of a run, hold the faults of their checks and no other."""
    file = tmp_path / "requests.ndjson.gz"
    run = ["run", "--reference", "--seed", "11", "--report", "json", "--report-dir", str(tmp_path), *ROWS]
    command = [sys.executable, "-m", "tools.requests_parsed.capture", str(file), *run]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    exchanges = parse_capture(lines(file))
    assert deviations_by_check.findings(exchanges, deviations_by_check.read()) == {}
    assert sum(len(one.faults) == 1 for one in exchanges) > 100
    fault_names = {fault for one in exchanges for fault in one.faults}
    assert {"weld: missing or altered", "receiver", "signature", "X-PAYMENT: not JSON"} <= fault_names
