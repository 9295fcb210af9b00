"""`weldproof up --chains localnet`: real nodes in place of simulators, and nothing silently replaced."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from conformance import target
from localnet.state import Process
from tests.algorand_signing import opt_in
from tests.conformance.served import served
from tests.stack import running_stack

UP = [sys.executable, "-m", "localnet", "up", "--json", "--port-base", "0", "--data-dir", "stack"]


def without_algod(folder: Path) -> dict[str, str]:
    """Return an environment in which no Algorand node can be found."""
    empty = folder / "no-programs"
    empty.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ALGOD_", "INDEXER_"))}
    return {**kept, "PATH": str(empty)}


def test_a_missing_node_is_named_and_not_replaced(tmp_path: Path) -> None:
    """Without an Algorand node `--chains localnet` ends with 3, and says what is missing and what to write instead."""
    done = subprocess.run(
        [*UP, "--chains", "localnet"],
        cwd=tmp_path,
        env=without_algod(tmp_path),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    for word in ("Algorand", "ALGOD_URL", "algokit", "--chains localnet,algorand=sim"):
        assert word in done.stderr


def test_an_algod_that_does_not_answer_is_named(tmp_path: Path) -> None:
    """An address that nobody answers at is told, and no simulator takes its place."""
    (tmp_path / "funder").write_text("no words\n")
    told = {
        "ALGOD_URL": "http://127.0.0.1:9",
        "INDEXER_URL": "http://127.0.0.1:9",
        "ALGOD_FUNDER_FILE": str(tmp_path / "funder"),
    }
    done = subprocess.run(
        [*UP, "--chains", "localnet", "--lane", "algorand"],
        cwd=tmp_path,
        env={**without_algod(tmp_path), **told},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 3
    assert "no algod answers at http://127.0.0.1:9" in done.stderr


def test_nothing_is_funded_on_algorands_main_network(tmp_path: Path) -> None:
    """Whoever forwards such a node here would give real money away by the sidecar's verbs."""
    (tmp_path / "funder").write_text("no words\n")
    params = {"genesis-hash": "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "genesis-id": "mainnet-v1.0"}
    with served(lambda _, path, *__: (200, params if path == "/v2/transactions/params" else {})) as node:
        told = {"ALGOD_URL": node.url, "INDEXER_URL": node.url, "ALGOD_FUNDER_FILE": str(tmp_path / "funder")}
        done = subprocess.run(
            [*UP, "--chains", "localnet", "--lane", "algorand"],
            cwd=tmp_path,
            env={**without_algod(tmp_path), **told},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 3, done.stderr
    assert "is of Algorand's main network, whose money is real" in done.stderr
    assert {path for _, path in node.calls} == {"/v2/transactions/params"}


@pytest.mark.slow
def test_a_mixture_says_which_lanes_are_simulated(tmp_path: Path) -> None:
    """Every lane has its node, the profile names the simulated one, and the end leaves no process."""
    with running_stack(tmp_path, "--surface", "rail", "--chains", "localnet,algorand=sim") as ready:
        assert ready["chains"] == "algorand=sim,base=localnet,solana=localnet"
        profile = target.load(Path(ready["profile"]))
        assert "SIMULATED: algorand" in profile.target.name
        base, solana = profile.chains.of("base"), profile.chains.of("solana")
        assert base is not None
        assert solana is not None
        assert base.control == ready["control_base"] != f"{ready['base']}/control"
        assert solana.node == ready["solana"]
        told: dict[str, int] = json.loads(json.dumps(ready["pids"]))
        pids = {name: Process.of(pid) for name, pid in told.items()}
        assert set(pids) == {
            *("Anvil (8453)", "Anvil (84532)", "surfpool", "the control sidecar"),
            *("the simulated Algorand", "the rail"),
        }
        assert all(one.runs for one in pids.values())
    assert not any(one.runs for one in pids.values())


def test_ctrl_c_while_nodes_start_leaves_nothing(tmp_path: Path) -> None:
    """An interrupt before the stack is up ends what was started already."""
    words = [*UP, "--chains", "localnet,algorand=sim", "--no-working-profile"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as stack:
        log = tmp_path / "stack" / "logs" / "surfpool.log"
        started: list[Process] = []
        ends = time.monotonic() + 600
        while not (log.exists() and started):  # the log is there a moment before the first process
            assert time.monotonic() < ends
            started = [Process.of(pid) for pid in _children(stack.pid)]
            time.sleep(0.01)
        stack.send_signal(signal.SIGINT)
        out, err = stack.communicate(timeout=600)
    assert (stack.returncode, out) == (0, b""), err
    assert started
    assert not any(one.runs for one in started)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


@pytest.mark.slow
def test_a_lane_runs_on_an_algod_of_the_operators(tmp_path: Path) -> None:
    """At ALGOD_URL the payee opts in by itself, and what payers get comes from the operator's account."""
    from algosdk import account, mnemonic
    from algosdk.v2client.algod import AlgodClient

    with running_stack(tmp_path / "node", "--lane", "algorand") as node:
        key, address = account.generate_account()
        funder = tmp_path / "funder"
        funder.write_text(mnemonic.from_private_key(key) + "\n")
        _control(node["control"], "fund", address=address, amount=str(10**12))
        opt_in(AlgodClient(Path(node["algod_token_file"]).read_text().strip(), node["algod"]), key, 31566704)
        _control(node["control"], "mint", address=address, amount=str(10**12))
        environment = {
            "ALGOD_URL": node["algod"],
            "INDEXER_URL": node["indexer"],
            "ALGOD_TOKEN_FILE": node["algod_token_file"],
            "ALGOD_FUNDER_FILE": str(funder),
        }
        words = ["--chains", "localnet", "--lane", "algorand", "--report", "json", "-v"]
        done = subprocess.run(
            [sys.executable, "-m", "conformance", "run", "RAIL-PAY-02", "RAIL-PAY-09", *words],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "on real nodes" in done.stderr
        assert urlsplit(node["algod"]).netloc in done.stdout
        assert (
            mnemonic.from_private_key(key)
            not in gzip.decompress((tmp_path / "report" / "events.ndjson.gz").read_bytes()).decode()
        )


def _control(url: str, verb: str, **members: str) -> None:
    from urllib.request import Request, urlopen

    body = json.dumps({"verb": verb, **members}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=600) as answer:
        assert json.load(answer)["ok"] is True


@pytest.mark.parametrize("text", ["localnet,algorand", "mainnet"])
def test_kinds_that_are_none_are_a_usage_fault(tmp_path: Path, text: str) -> None:
    """A word that is no kind of chain ends with 2 before anything starts."""
    done = subprocess.run(
        [*UP, "--chains", text], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 2
    assert "localnet" in done.stderr
