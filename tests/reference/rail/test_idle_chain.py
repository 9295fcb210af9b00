"""An idle algod in DevMode: the rail takes no money and the suite fails no row, until the launcher lets blocks pass."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from algosdk import mnemonic

from conformance.log.events import LOG, read_log
from localnet.lanes.algorand.algod import AlgodVerbs
from tests import prepared
from tests.reference.rail.base_stack import until
from tests.reference.rail.rail_answers import refused_otherwise
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, Rail, SimulatedChain, proof_of

ROWS = ("RAIL-402-01", "RAIL-PAY-01", "RAIL-PAY-02")
# Fees and transfers that make the accounts of the test ready pass some of the time.
IDLE_SECONDS = "900"


@pytest.fixture
def idle() -> Iterator[SimulatedChain]:
    """A node whose newest block is some minutes old, and stays so."""
    chain = SimulatedChain("--mode", "dev", "--idle-seconds", IDLE_SECONDS)
    yield chain
    chain.stop()


def keep_current(chain: SimulatedChain, payer: Payer, folder: Path) -> None:
    """Let blocks pass as the launcher does it on a node that it was given."""
    secrets = folder / "secrets"
    secrets.write_text(f"{chain.token}\n{mnemonic.from_private_key(payer.key)}", "ascii")
    session: Any = None
    asyncio.run(AlgodVerbs(session, chain.algod, secrets).prepare())


def suite(folder: Path, rail: Rail) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code and the verdicts of a run of some rows that pay."""
    folder.mkdir()
    (folder / "weldproof.toml").write_text(
        f"""
[surfaces.rail]
url = "{rail.url}"

[claims]
surfaces = ["rail"]
lanes = ["algorand"]

[chains.algorand]
algod = "{rail.chain.algod}"
token = {{ file = "{rail.folder / "algod_token"}" }}
control = "{rail.chain.algod}/control"
""",
        "utf-8",
    )
    words = ["run", *ROWS, "--config", "weldproof.toml", "--seed", "1"]
    outcome = prepared.run("conformance", *words, env=os.environ, cwd=folder, timeout=600)
    rows = {event["id"]: dict(event) for event in read_log(folder / "report" / LOG) if event["event"] == "row"}
    assert set(rows) == set(ROWS), outcome.stdout + outcome.stderr
    return outcome.returncode, rows


def test_idle_minutes_cost_no_payer_anything_and_fail_no_row(idle: SimulatedChain, tmp_path: Path) -> None:
    """No challenge is issued, rows are inconclusive with the reason; after the launcher's blocks, all is served."""
    payer, payee = Payer(idle), idle.new_payee()
    rail = Rail(idle, tmp_path / "rail", payee, {"WP_RAIL_NODE_LOOK_SECONDS": "1"}).start()
    try:
        refused_otherwise(rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY), 503, "no_lane_available")
        health = rail.http.get("/health").json()
        assert (health["lanes"], health["lanes_away"]) == ([], ["algorand_mainnet"])
        assert "s old" in health["lanes_away_reasons"]["algorand_mainnet"]
        code, rows = suite(tmp_path / "trailing", rail)
        assert code == 3
        assert {row["verdict"] for row in rows.values()} == {"inconclusive"}
        assert all("s old" in str(row) for row in rows.values()), rows

        keep_current(idle, payer, tmp_path)
        until(lambda: rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY).status_code == 402)
        entry = rail.quote()
        task = rail.present(proof_of(payer.pay(entry), entry))
        assert task.status_code == 200, task.text
        code, rows = suite(tmp_path / "current", rail)
        assert (code, {row["verdict"] for row in rows.values()}) == (0, {"pass"}), rows
    finally:
        rail.close()
