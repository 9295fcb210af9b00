"""A rail with other settings is judged with only the profile that `init` wrote by probing it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from algosdk import mnemonic
from algosdk.v2client.algod import AlgodClient

from localnet.lanes.registry import LANES
from tests import prepared
from tests.algorand_signing import opt_in
from tests.reference.postgres_cluster import private_cluster

PRICES = {"receipt-verify": "7000", "rfc9421-verify": "12345", "compliance-receipt": "99999"}
# One row or more of every part of the rail: challenges, prices, the weld on each lane, receipts, replays, discovery.
ROWS = ("RAIL-PAY-01", "RAIL-PAY-02", "RAIL-WELD-01", "RAIL-WELD-02", "RAIL-WELD-03", "RAIL-WELD-12", "RAIL-RCPT")


@pytest.fixture(scope="module")
def another_rail(stack: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a rail on the same chains with its own port, word, prices, payees, keys and PostgreSQL."""
    folder = tmp_path_factory.mktemp("another")
    with private_cluster() as dsn, socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://localhost:{listener.getsockname()[1]}"
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WP_")},
            **_payees(stack, folder),
            "WP_MODE": "test",
            "WP_RAIL_FD": str(listener.fileno()),
            "WP_RAIL_PUBLIC_URL": address,
            "WP_RAIL_DATA_DIR": str(folder / "rail"),
            "WP_RAIL_DB": dsn,
            "WP_RAIL_RATE": "100000",
            "WP_SERVICE_WORD": "Otherword",
            "WP_RAIL_PRICES": ",".join(f"{name}={amount}" for name, amount in PRICES.items()),
            "WP_NODE_ALGORAND_MAINNET": stack["algod"],
            "WP_INDEXER_ALGORAND_MAINNET": stack["indexer"],
            "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": stack["algod_token_file"],
            "WP_NODE_BASE_MAINNET": stack["base"],
            "WP_NODE_SOLANA_MAINNET": stack["solana"],
        }
        with _process(environment, listener):
            _wait(f"{address}/health")
            yield address


@pytest.mark.slow
def test_init_and_run(stack: Mapping[str, str], another_rail: str, tmp_path: Path) -> None:
    """`init` finds word, prices and paths by probing; `run` with that profile alone passes on all three lanes."""
    nodes = ["--algod", stack["algod"], "--indexer", stack["indexer"], "--control", stack["control"]]
    nodes += ["--algod-token-file", stack["algod_token_file"], "--solana-ws", stack["solana_ws"]]
    for name in ("base", "solana"):
        nodes += [f"--{name}-rpc", stack[name], f"--{name}-control", stack[name] + "/control"]
    _weldproof(tmp_path, "init", another_rail, "--pace", "0", *nodes)
    text = (tmp_path / "weldproof.toml").read_text("utf-8")
    profile = tomllib.loads(text)
    assert "budgets" not in profile
    # On a busy machine an answer takes its time.
    (tmp_path / "weldproof.toml").write_text(f"{text}\n[budgets]\nrequest = 300\nconfirmation = 300\n", "utf-8")
    assert profile["target"]["service_word"] == "Otherword"
    assert profile["rail"]["price_receipt_verify"] == PRICES["receipt-verify"]
    assert profile["claims"]["lanes"] == ["algorand", "base", "solana"]

    _weldproof(tmp_path, "run", *ROWS, "--report", "json")
    tests = json.loads((tmp_path / "report" / "report.json").read_text("utf-8"))["results"]["tests"]
    verdicts = {one["name"].partition(" ")[0]: one["rawStatus"] for one in tests}
    assert len(verdicts) >= len(ROWS)
    # No command that rotates the rail's key is known.
    assert verdicts.pop("RAIL-RCPT-11:") == "not_applicable"
    assert set(verdicts.values()) == {"pass"}, verdicts


def _payees(stack: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return payees of its own, who hold what the chain asks of a payee, and a settler with gas."""
    algorand = LANES["algorand"].account(folder / "algorand.mnemonic")
    solana = LANES["solana"].account(folder / "solana.json")
    settler = LANES["base"].account(folder / "settler.key")
    _control(stack["control"], "fund", algorand, 10**7)
    token = Path(stack["algod_token_file"]).read_text().strip()
    key = mnemonic.to_private_key((folder / "algorand.mnemonic").read_text("ascii").strip())
    opt_in(AlgodClient(token, stack["algod"]), key, 31566704)
    _control(stack["control"], "mint", algorand, 1)
    _control(stack["base"] + "/control", "fund", settler, 10**20)
    _control(stack["solana"] + "/control", "fund", solana, 10**9)
    _control(stack["solana"] + "/control", "mint", solana, 1)
    return {
        "WP_RAIL_PAYTO_ALGORAND": algorand,
        "WP_RAIL_PAYTO_BASE": LANES["base"].account(folder / "base.key"),
        "WP_RAIL_PAYTO_SOLANA": solana,
        "WP_RAIL_SETTLER_KEY_FILE": str(folder / "settler.key"),
    }


def _control(url: str, verb: str, address: str, amount: int) -> None:
    body = json.dumps({"verb": verb, "address": address, "amount": str(amount)}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})) as answer:
        assert json.load(answer)["ok"] is True


@contextmanager
def _process(environment: Mapping[str, str], listener: socket.socket) -> Iterator[None]:
    passed_fds = [listener.fileno()]
    output = sys.__stderr__
    assert output is not None
    process = prepared.start("reference.rail", env=environment, pass_fds=passed_fds, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait(600)


def _wait(url: str) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.05)
    pytest.fail(f"{url} did not answer")


def _weldproof(folder: Path, *words: str) -> None:
    result = prepared.run("conformance", *words, env=os.environ, cwd=folder, timeout=600)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
