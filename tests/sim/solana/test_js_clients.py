"""Unmodified @solana/web3.js, @solana/spl-token and @solana/kit against the process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from localnet.npm import node_modules
from programs.node import node as runtime

_SCRIPTS = Path(__file__).with_name("js")


@pytest.fixture(scope="module", name="modules")
def _modules() -> Path:
    """The folder that scripts load their packages from."""
    return node_modules(_SCRIPTS).parent


def run(script: str, node: dict[str, Any], modules: Path) -> dict[str, Any]:
    """Return what a script prints."""
    command = [str(runtime().path), str(_SCRIPTS / script), node["rpc"], node["ws"], node["mints"][0], str(modules)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert result.returncode == 0, result.stderr
    output: dict[str, Any] = json.loads(result.stdout)
    return output


def test_web3_js_pays_and_finds_its_payment(node: dict[str, Any], modules: Path) -> None:
    """Airdrop, token account, transfer with a reference, confirmation over the WebSocket, lookups, replay refused."""
    output = run("web3js.mjs", node, modules)
    assert "already been processed" in output.pop("replay")
    assert [output.pop("signature")] == output.pop("found")
    expected_output = {
        "simulated": None,
        "status": "finalized",
        "fee": 5000,
        "named": True,
        "parsed": "transferChecked",
        "received": "250000",
        "listed": ["250000"],
        "decimals": 6,
    }
    assert expected_output == output


def test_kit_reads_the_chain_and_hears_of_it(node: dict[str, Any], modules: Path) -> None:
    """Its airdrop confirms over the WebSocket, slots are reported in order, an error has its code."""
    expected_output = {
        "balance": "3000000000",
        "failed": None,
        "blockhash": True,
        "decimals": 6,
        "consecutive": 2,
        "refusal": "-32602",
    }
    assert expected_output == run("kit.mjs", node, modules)
