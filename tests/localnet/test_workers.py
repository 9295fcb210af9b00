"""`weldproof up --workers`: several processes of rail and gateway on the stores that they share."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from conformance import target
from localnet.plan import Plan, list_further_workers
from tests.localnet.test_up import ready_line, start
from tests.two_workers import two_worker_stack


@pytest.mark.parametrize(
    ("service", "workers", "has_nginx", "further"),
    [
        ("rail", 1, False, []),
        ("rail", 3, False, [2, 3]),
        ("rail", 2, True, [1, 2]),
        ("agent", 3, False, []),
        ("control_plane", 2, True, []),
    ],
)
def test_the_first_worker_has_the_address_of_the_service(
    service: str, workers: int, has_nginx: bool, further: list[int]
) -> None:
    """Unless nginx has it. Services that keep something in memory have one process."""
    plan = Plan(Path("data"), workers=workers, has_nginx=has_nginx)
    assert list(list_further_workers(plan, service)) == further


def test_the_profile_lists_the_workers(tmp_path: Path) -> None:
    """Each of them answers, and they are different processes with one set of keys."""
    options = ("--workers", "2", "--surface", "rail", "--lane", "algorand", "--no-companions")
    with start(tmp_path, *options) as stack:
        pids = ready_line(stack)["pids"]
        rail = target.load(tmp_path / "weldproof.toml").surfaces["rail"]
        assert len(rail.workers) == 2
        key_sets = []
        for url in rail.workers:
            with urllib.request.urlopen(f"{url}/.well-known/jwks.json", timeout=600) as answer:
                key_sets.append(json.loads(answer.read()))
        assert key_sets[0] == key_sets[1]
        assert pids["the rail"] != pids["the rail, worker 2"]
        assert stack.end() == 0


@pytest.mark.slow
def test_rows_pass_against_two_workers_behind_nginx(tmp_path: Path) -> None:
    """PostgreSQL and Valkey hold what the workers share: challenges, payments, links, keys of tenants and limits."""
    with two_worker_stack(tmp_path, "--nginx", "--lane", "algorand") as profile:
        rows = ("RAIL-402", "RAIL-PAY", "RAIL-RATE", "GW-LINK", "GW-PAY", "GW-RATE", "WH-DELIV")
        words = ("run", *rows, "--config", str(profile), "--report", "json", "--report-dir", str(tmp_path / "report"))
        process = subprocess.run([sys.executable, "-m", "conformance", *words], check=False, capture_output=True)
    report = json.loads((tmp_path / "report" / "report.json").read_bytes())
    verdicts = {test["extra"]["id"]: test["rawStatus"] for test in report["results"]["tests"]}
    assert process.returncode == 0, {row: verdict for row, verdict in verdicts.items() if verdict != "pass"}
    assert {"RAIL-RATE-01", "GW-RATE-08", "GW-PAY-01", "WH-DELIV-01"} <= verdicts.keys()
