"""The launcher on nodes in DevMode that were idle: a run against the reference decides every row, and fails none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from algosdk import mnemonic

from conformance.log.events import LOG, read_log
from tests import prepared
from tests.reference.rail.rail_stack import Payer, SimulatedChain

ROWS = ("RAIL-PAY-01", "RAIL-PAY-02")


def run(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Run rows against the reference and return their verdicts."""
    options = ("--reference", "--lane", "algorand", "--seed", "1", *words)
    env = {**os.environ, **(environment or {})}
    result = prepared.run("conformance", "run", *ROWS, *options, env=env, cwd=folder, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    return {event["id"]: event["verdict"] for event in read_log(folder / "report" / LOG) if event["event"] == "row"}


def test_a_node_that_was_idle_for_ten_minutes_is_brought_up_to_date_for_a_run(tmp_path: Path) -> None:
    """An algod that the operator names is caught up before the first payment, and stays current during the run."""
    chain = SimulatedChain("--mode", "dev", "--idle-seconds", "900")
    try:
        funder = Payer(chain, usdc=10**13)
        chain.control("fund", address=funder.address, amount=str(10**12))
        words = tmp_path / "funder"
        words.write_text(mnemonic.from_private_key(funder.key), "ascii")
        addresses = {
            "ALGOD_URL": chain.algod,
            "ALGOD_TOKEN": chain.token,
            "INDEXER_URL": chain.indexer,
            "ALGOD_FUNDER_FILE": str(words),
        }
        verdicts = run(tmp_path, "--chains", "localnet", environment=addresses)
    finally:
        chain.stop()
    assert verdicts == dict.fromkeys(ROWS, "pass"), json.dumps(verdicts)


def test_a_run_with_the_simulator_in_devmode_decides_its_rows(tmp_path: Path) -> None:
    """Its blocks are made for transactions alone, so the launcher keeps its clock current."""
    verdicts = run(tmp_path, "--algorand-mode", "dev")
    assert verdicts == dict.fromkeys(ROWS, "pass"), json.dumps(verdicts)
