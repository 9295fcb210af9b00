"""A node that is away when the rail starts in live mode: its lane comes by itself, checked first (P-NW-06)."""

from __future__ import annotations

from pathlib import Path

import pytest
from eth_account import Account

from tests import prepared
from tests.reference.rail.base_stack import until
from tests.reference.rail.rail_answers import refused_otherwise
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Rail, SimulatedChain
from tests.reserved_port import reserved_port


@pytest.mark.parametrize("is_right", [True, False])
def test_a_lane_comes_when_its_node_does(chain: SimulatedChain, tmp_path: Path, *, is_right: bool) -> None:
    """Not before it was seen to be of its network, and never when it is of another; no restart."""
    key_file = tmp_path / "settler"
    key_file.write_text(Account.create().key.hex(), "ascii")
    with reserved_port() as port:
        settings = {
            "WP_MODE": "live",
            "WP_CLOCK_OFFSET_FILE": "",
            "WP_RATE_LIMITS": "",
            "WP_RAIL_LANES": "base_mainnet" if is_right else "base_sepolia",
            "WP_NODE_BASE_MAINNET": f"http://127.0.0.1:{port}",
            "WP_NODE_BASE_SEPOLIA": f"http://127.0.0.1:{port}",
            "WP_RAIL_PAYTO_BASE": Account.create().address,
            "WP_RAIL_SETTLER_KEY_FILE": str(key_file),
            "WP_RAIL_NODE_LOOK_SECONDS": "0.2",
        }
        rail = Rail(chain, tmp_path / "rail", "", settings).start()
        try:
            refused_otherwise(rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY), 503, "no_lane_available")
            node, _ = prepared.ready("sim.base", "--port", str(port), "--block-seconds", "0.1")
            try:
                if is_right:
                    until(lambda: rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY).status_code == 402)
                    assert rail.http.get("/health").json()["lanes"] == ["base_mainnet"]
                else:
                    until(lambda: "another network" in rail.log())
                    refused_otherwise(rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY), 503, "no_lane_available")
                    health = rail.http.get("/health").json()
                    assert health["lanes_away"] == ["base_sepolia"]
                    assert "another network" in health["lanes_away_reasons"]["base_sepolia"]
            finally:
                node.terminate()
                assert node.wait(120) == 0
        finally:
            rail.close()
