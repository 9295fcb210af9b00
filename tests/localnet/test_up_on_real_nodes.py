"""`weldproof up --chains localnet`: real nodes in place of simulators, and nothing silently replaced."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conformance import target
from localnet.state import Process
from tests.conformance.served import serve
from tests.stack import running_stack

UP = [sys.executable, "-m", "localnet", "up", "--json", "--port-base", "0", "--data-dir", "stack"]


def without_algod(folder: Path) -> dict[str, str]:
    """Return an environment in which no Algorand node can be found."""
    empty = folder / "no-programs"
    empty.mkdir(exist_ok=True)
    kept_variables = {name: value for name, value in os.environ.items() if not name.startswith(("ALGOD_", "INDEXER_"))}
    return {**kept_variables, "PATH": str(empty)}


def test_a_missing_node_is_named_and_not_replaced(tmp_path: Path) -> None:
    """Without an Algorand node `--chains localnet` ends with 3, and says what is missing and what to write instead."""
    result = subprocess.run(
        [*UP, "--chains", "localnet"],
        cwd=tmp_path,
        env=without_algod(tmp_path),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 3
    assert result.stdout == ""
    for word in ("Algorand", "ALGOD_URL", "algokit", "--chains localnet,algorand=sim"):
        assert word in result.stderr


@pytest.fixture
def funder(tmp_path: Path) -> Path:
    """A file with the words of a new account."""
    from algosdk import account, mnemonic

    path = tmp_path / "funder"
    path.write_text(mnemonic.from_private_key(account.generate_account()[0]) + "\n")
    return path


def start_refused(folder: Path, **settings: str) -> str:
    """Start a stack that must end with 3 for what its environment names, and return what it printed."""
    result = subprocess.run(
        [*UP, "--chains", "localnet", "--lane", "algorand"],
        cwd=folder,
        env={**without_algod(folder), **settings},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (result.returncode, result.stdout) == (3, ""), result.stderr
    return result.stderr


def test_an_algod_that_does_not_answer_is_named(tmp_path: Path, funder: Path) -> None:
    """An address at which nothing listens is reported, and no simulator takes its place."""
    error_text = start_refused(tmp_path, ALGOD_URL="http://127.0.0.1:9", ALGOD_FUNDER_FILE=str(funder))
    assert "no algod answers at http://127.0.0.1:9" in error_text
    assert "or or" not in error_text


def test_a_funder_without_words_is_named(tmp_path: Path) -> None:
    """A missing file, and one without a mnemonic, are two refusals that name the setting; no key is printed."""
    words = tmp_path / "words"
    error_text = start_refused(tmp_path, ALGOD_URL="http://127.0.0.1:9", ALGOD_FUNDER_FILE=str(words))
    words.write_text("abandon " * 24 + "secretish\n")
    wrong = start_refused(tmp_path, ALGOD_URL="http://127.0.0.1:9", ALGOD_FUNDER_FILE=str(words))
    unset = start_refused(tmp_path, ALGOD_URL="http://127.0.0.1:9")
    assert all("ALGOD_FUNDER_FILE" in said for said in (error_text, wrong, unset))
    assert "secretish" not in wrong


PRIVATE = {"genesis-hash": "A" * 43 + "=", "genesis-id": "weldproof-v1", "last-round": 12, "min-fee": 1000, "fee": 0}
PARAMS = "/v2/transactions/params"


@pytest.mark.parametrize(
    ("genesis_hash", "named_setting"),
    [
        ("wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "is of Algorand's main network, whose money is real"),
        ("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=", "is of Algorand's public TestNet"),
    ],
)
def test_nothing_is_created_or_funded_on_public_networks(
    tmp_path: Path, funder: Path, genesis_hash: str, named_setting: str
) -> None:
    """A forwarded port makes such a node local, and the sidecar's verbs would give real money away."""
    params = {**PRIVATE, "genesis-hash": genesis_hash}
    with serve(lambda _, path, *__: (200, params if path == PARAMS else {})) as node:
        error_text = start_refused(tmp_path, ALGOD_URL=node.url, ALGOD_FUNDER_FILE=str(funder))
    assert named_setting in error_text
    assert {path for _, path in node.calls} == {PARAMS}


def test_a_funder_without_algos_is_named(tmp_path: Path, funder: Path) -> None:
    """What it holds is asked before anything is sent, and how much it needs is printed."""
    with serve(lambda _, path, *__: (200, PRIVATE if path == PARAMS else {"amount": 7})) as node:
        error_text = start_refused(tmp_path, ALGOD_URL=node.url, ALGOD_FUNDER_FILE=str(funder))
    assert "holds 7 microAlgos" in error_text
    assert "10000000 microAlgos" in error_text


def test_a_token_that_algod_refuses_is_named(tmp_path: Path, funder: Path) -> None:
    """A wrong token is reported with the settings that give it."""
    with serve(lambda *_: (401, {"message": "Invalid API Token"})) as node:
        error_text = start_refused(tmp_path, ALGOD_URL=node.url, ALGOD_FUNDER_FILE=str(funder), ALGOD_TOKEN="wrong")
    assert "refuses the token" in error_text
    assert "ALGOD_TOKEN_FILE" in error_text


def test_an_indexer_that_is_given_is_asked(tmp_path: Path, funder: Path) -> None:
    """An indexer that does not answer, or is not one, is refused: a dead one would be found when a search needs it."""
    account = {"amount": 10**12, "created-assets": []}
    settings_given = {"ALGOD_FUNDER_FILE": str(funder), "INDEXER_URL": "http://127.0.0.1:9"}
    with serve(lambda _, path, *__: (200, PRIVATE if path == PARAMS else account)) as node:
        dead = start_refused(tmp_path, ALGOD_URL=node.url, **settings_given)
        error_text = start_refused(tmp_path, ALGOD_URL=node.url, **settings_given | {"INDEXER_URL": node.url})
    assert "no indexer answers at http://127.0.0.1:9" in dead
    assert "is not an indexer" in error_text
    assert all("unset INDEXER_URL" in said for said in (dead, error_text))


@pytest.mark.slow
def test_a_mixture_says_which_lanes_are_simulated(tmp_path: Path) -> None:
    """Every lane has its node, the profile names the simulated one, and the end leaves no process."""
    with running_stack(tmp_path, "--surface", "rail", "--chains", "localnet,algorand=sim") as ready:
        assert ready["chains"] == "algorand=sim,base=localnet,solana=localnet"
        profile = target.load(Path(ready["profile"]))
        assert "SIMULATED: algorand" in profile.target.name
        assert (profile.budgets.confirmation, profile.budgets.paid) == (60, 60)
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
        processes: list[Process] = []
        ends = time.monotonic() + 600
        while not (log.exists() and processes):  # the log is there a moment before the first process
            assert time.monotonic() < ends
            processes = [Process.of(pid) for pid in _children(stack.pid)]
            time.sleep(0.01)
        stack.send_signal(signal.SIGINT)
        out, err = stack.communicate(timeout=600)
    assert (stack.returncode, out) == (0, b""), err
    assert processes
    assert not any(one.runs for one in processes)


def _children(pid: int) -> list[int]:
    child_pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                child_pids.append(int(entry.name))
    return child_pids


@pytest.mark.slow
def test_a_lane_runs_on_an_algod_of_the_operators(tmp_path: Path, funder: Path) -> None:
    """At ALGOD_URL an account with Algos alone is enough: USDC is created, once, and payers get it from there."""
    from algosdk import account, mnemonic

    with running_stack(tmp_path / "node", "--lane", "algorand") as node:
        words = funder.read_text().strip()
        address = str(account.address_from_private_key(mnemonic.to_private_key(words)))
        _control(node["control"], "fund", address=address, amount=str(10**12))
        environment = {
            "ALGOD_URL": node["algod"],
            "ALGOD_TOKEN_FILE": node["algod_token_file"],
            "ALGOD_FUNDER_FILE": str(funder),
        }
        rows = ("RAIL-PAY-02", "RAIL-PAY-09", "GW-CHK-03")
        runs = [_run_on(tmp_path, environment, words, "--lane", "algorand", *rows)]
        # Beside main networks one tenant has a live key, which does not reach the local network.
        beside = ("--chains", "localnet,base=sim", "--lane", "base", "GW-CHK-13")
        runs.append(_run_on(tmp_path, environment, words, "--lane", "algorand", *beside))
        assert runs[0] == runs[1]
        assert runs[0] not in {"31566704", "10458941"}


def _run_on(folder: Path, environment: dict[str, str], words: str, *options: str) -> str:
    """Run rows on the operator's node, and return the id of the USDC that was paid in."""
    result = subprocess.run(
        [sys.executable, "-m", "conformance", "run", "--chains", "localnet", "--report", "json", "-v", *options],
        cwd=folder,
        env={**without_algod(folder), "PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "on real nodes" in result.stderr
    assert urlsplit(environment["ALGOD_URL"]).netloc in result.stdout
    log = gzip.decompress((folder / "report" / "events.ndjson.gz").read_bytes()).decode()
    assert words not in log
    assets = re.findall(r"^ *chains\.algorand\.asset = ([0-9]+)$", result.stdout, re.MULTILINE)
    assert len(assets) == 1, result.stdout
    return str(assets[0])


def _control(url: str, verb: str, **members: str) -> None:
    from urllib.request import Request, urlopen

    body = json.dumps({"verb": verb, **members}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=600) as answer:
        assert json.load(answer)["ok"] is True


@pytest.mark.parametrize("text", ["localnet,algorand", "mainnet"])
def test_kinds_that_are_none_are_a_usage_fault(tmp_path: Path, text: str) -> None:
    """A word that is no kind of chain ends with 2 before anything starts."""
    result = subprocess.run(
        [*UP, "--chains", text], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 2
    assert "localnet" in result.stderr


# An answer to GET /health in the form of the indexer's API description.
HEALTH = {"db-available": True, "is-migrating": False, "message": "12", "round": 12, "version": "3.8.0"}


def run_doctor(folder: Path, **settings: str) -> dict[str, Any]:
    """Return what doctor finds of Algorand."""
    result = subprocess.run(
        [sys.executable, "-m", "localnet", "doctor", "--json"],
        cwd=folder,
        env={**without_algod(folder), **settings},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    finding: dict[str, Any] = next(one for one in json.loads(result.stdout) if one["chain"] == "algorand")
    assert result.returncode == 3 or finding["ready"]
    return finding


def test_doctor_asks_the_operators_node(tmp_path: Path, funder: Path) -> None:
    """Doctor is ready only where a start would be: it names network, round and indexer, or what is wrong."""
    account = {"amount": 10**12, "created-assets": []}
    settings = {"ALGOD_FUNDER_FILE": str(funder)}
    with (
        serve(lambda _, path, *__: (200, PRIVATE if path == PARAMS else account)) as node,
        serve(lambda *_: (200, HEALTH)) as indexer,
    ):
        alone = run_doctor(tmp_path, ALGOD_URL=node.url, **settings)
        both_nodes = run_doctor(tmp_path, ALGOD_URL=node.url, INDEXER_URL=indexer.url, **settings)
        dead = run_doctor(tmp_path, ALGOD_URL=node.url, INDEXER_URL="http://127.0.0.1:9", **settings)
        poor = run_doctor(tmp_path, ALGOD_URL=node.url)
    away = run_doctor(tmp_path, ALGOD_URL="http://127.0.0.1:9", **settings)
    assert (alone["ready"], both_nodes["ready"]) == (True, True)
    assert "network weldproof-v1, round 12, USDC is created at the start, no indexer" in alone["how"]
    assert f"indexer {indexer.url}" in both_nodes["how"]
    assert {path for _, path in indexer.calls} == {"/health"}
    for finding, named_setting in ((dead, "INDEXER_URL"), (poor, "ALGOD_FUNDER_FILE"), (away, "start it")):
        assert finding["ready"] is False
        assert named_setting in finding["remedy"]
    assert "or or" not in away["remedy"]
