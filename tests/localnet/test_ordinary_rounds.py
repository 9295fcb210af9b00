"""RAIL-PAY-07 on a node with ordinary rounds: a payment is presented before its block, without control of the node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from algosdk import account, mnemonic
from algosdk.v2client.algod import AlgodClient

from conformance.log.events import LOG, read_log
from tests import prepared
from tests.algorand_signing import opt_in

ASSET = 31566704
FUNDS = 10**12
# Long enough for a call between two blocks on a busy machine.
ROUND_SECONDS = "2"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A node with ordinary rounds, as an operator's own node is named to the launcher."""
    folder = tmp_path_factory.mktemp("node")
    words = ["--algod-port", "0", "--indexer-port", "0", "--mode", "rounds", "--block-seconds", ROUND_SECONDS]
    with prepared.run_ready("sim.algorand", *words) as ready:
        key, address = account.generate_account()
        (folder / "funder").write_text(mnemonic.from_private_key(key) + "\n")
        (folder / "token").write_text(ready["token"])
        _control(ready["algod"], verb="fund", address=address, amount=str(FUNDS))
        opt_in(AlgodClient(ready["token"], ready["algod"]), key, ASSET)
        _control(ready["algod"], verb="mint", address=address, amount=str(FUNDS))
        yield {
            **os.environ,
            "ALGOD_URL": ready["algod"],
            "INDEXER_URL": ready["indexer"],
            "ALGOD_TOKEN_FILE": str(folder / "token"),
            "ALGOD_FUNDER_FILE": str(folder / "funder"),
        }


def _control(url: str, **members: str) -> None:
    request = urllib.request.Request(
        url + "/control", json.dumps(members).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["ok"] is True


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "verdict", "code"), [(None, "pass", 0), ("pending-counts", "fail", 1)])
def test_a_payment_in_the_pool_buys_nothing(
    tmp_path: Path, environment: dict[str, str], mutant: str | None, verdict: str, code: int
) -> None:
    """The row passes, and a rail that takes a pending payment for paid fails it."""
    words = ["--chains", "localnet", "--lane", "algorand", "--report", "json"]
    words += ["--mutant", mutant] if mutant else []
    result = subprocess.run(
        [sys.executable, "-m", "conformance", "run", "RAIL-PAY-07", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == code, result.stdout + result.stderr
    verdicts = {
        event["id"]: event["verdict"] for event in read_log(tmp_path / "report" / LOG) if event["event"] == "row"
    }
    assert verdicts == {"RAIL-PAY-07": verdict}
