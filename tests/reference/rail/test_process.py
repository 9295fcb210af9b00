"""The rail as a process: how it starts, refuses to start, and ends (specification 9, P-NW-06)."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests import prepared
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Rail, SimulatedChain
from tests.reserved_port import reserved_port


@pytest.fixture
def idle_rail(chain: SimulatedChain, pay_to: str, tmp_path: Path) -> Rail:
    """A rail that was not started."""
    return Rail(chain, tmp_path / "rail", pay_to)


def run_until_end(rail: Rail, **changes: str | None) -> subprocess.CompletedProcess[str]:
    """Start a rail that is expected to end by itself, with settings changed or (None) left out."""
    environment = {**rail.environment(), **{name: value for name, value in changes.items() if value is not None}}
    environment = {name: value for name, value in environment.items() if changes.get(name, "") is not None}
    return prepared.run("reference.rail", env=environment, pass_fds=[rail.socket.fileno()])


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"WP_RAIL_PRICES": "receipt-verify=free"}, "WP_RAIL_PRICES"),
        ({"WP_RAIL_LANES": "base_mainnet"}, "WP_RAIL_LANES"),
        ({"WP_RAIL_PAYTO_ALGORAND": None}, "WP_RAIL_LANES"),
        ({"WP_NODE_ALGORAND_MAINNET": None}, "WP_RAIL_LANES"),
        ({"WP_NODE_ALGORAND_MAINNET": "algod:4001"}, "WP_NODE_ALGORAND_MAINNET"),
        ({"WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": "/nowhere/token"}, "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE"),
        ({"WP_RAIL_PAYTO_ALGORAND": "NOT-AN-ADDRESS"}, "WP_RAIL_PAYTO_ALGORAND"),
        ({"WP_RAIL_TOKEN_SECRET_FILE": "/dev/null"}, "WP_RAIL_TOKEN_SECRET_FILE"),
        ({"WP_RAIL_SIGNING_KEY_FILE": "/dev/null"}, "WP_RAIL_SIGNING_KEY_FILE"),
        ({"WP_MODE": "live"}, "WP_CLOCK_OFFSET_FILE"),
        ({"WP_MODE": "live", "WP_CLOCK_OFFSET_FILE": None, "WP_RATE_LIMITS": None}, "WP_NODE_ALGORAND_MAINNET"),
    ],
)
def test_a_wrong_setting_stops_the_start(idle_rail: Rail, changes: dict[str, str | None], name: str) -> None:
    """Exit 2 and one line that names the setting; in live mode also for a node of another network."""
    outcome = run_until_end(idle_rail, **changes)
    last = outcome.stderr.strip().splitlines()[-1:]
    assert outcome.returncode == 2, outcome.stderr
    assert [name in line for line in last] == [True], outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_it_serves_on_a_port_too(idle_rail: Rail) -> None:
    """Without a socket handed down it binds its own; SIGTERM ends it with status 0."""
    environment = {name: value for name, value in idle_rail.environment().items() if name != "WP_RAIL_FD"}
    command = [sys.executable, "-m", "reference.rail"]
    with reserved_port() as port:
        process = subprocess.Popen(command, env=environment | {"WP_RAIL_PORT": str(port)}, stderr=subprocess.DEVNULL)
        try:
            url, retrying = f"http://127.0.0.1:{port}", httpx.HTTPTransport(retries=9)
            with httpx.Client(base_url=url, trust_env=False, transport=retrying, timeout=30) as http:
                assert http.get("/health").status_code == 200
                assert http.post(COMPLIANCE, json=COMPLIANCE_BODY).status_code == 402
        finally:
            process.terminate()
            assert process.wait(120) == 0


def test_secrets_are_made_on_the_first_run_and_kept(own_rail: Callable[..., Rail]) -> None:
    """Mode 0600, and the same after a restart."""
    rail = own_rail()
    secrets = [rail.folder / "data" / name for name in ("signing_key.pem", "token_secret")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in secrets] == [0o600, 0o600]
    before = [path.read_bytes() for path in secrets]
    keys = rail.http.get("/.well-known/jwks.json").content
    rail.stop()
    rail.start()
    assert [path.read_bytes() for path in secrets] == before
    assert rail.http.get("/.well-known/jwks.json").content == keys


def test_workers_that_start_at_once_share_their_secrets(chain: SimulatedChain, pay_to: str, tmp_path: Path) -> None:
    """The first run of several workers in one data directory ends in one key and one secret for all."""
    rails = [Rail(chain, tmp_path / f"rail{n}", pay_to) for n in range(4)]
    with ExitStack() as exits:  # one that ends badly leaves no other behind
        for rail in rails:
            rail.settings |= {"WP_RAIL_DATA_DIR": str(tmp_path / "data"), "WP_RAIL_PUBLIC_URL": rails[0].public_url}
            rail.launch()
            exits.callback(rail.close)
        for rail in rails:
            rail.await_health()
        assert len({rail.http.get("/.well-known/jwks.json").content for rail in rails}) == 1
        proof = {"tx_id": "A" * 52, "payment_reference": rails[0].quote()["extra"]["payment_reference"]}
        assert {rail.present(proof).json()["error"] for rail in rails} == {"tx_not_found"}


def test_logs_are_structured(own_rail: Callable[..., Rail]) -> None:
    """What it writes is JSON lines; a clean run has no error among them."""
    rail = own_rail()
    rail.quote()
    rail.stop()
    assert all(re.match(r"\{.*\}$", line) for line in rail.log().splitlines()), rail.log()
    assert '"level": "error"' not in rail.log()
