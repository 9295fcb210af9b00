"""`weldproof localnet`: Anvil and surfpool in the background, and their control verbs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token.instructions import get_associated_token_address

from localnet.lanes.base.anvil import TOKENS, call_data
from localnet.lanes.solana.control_verbs import MINTS
from localnet.state import Process

SOMEBODY = "0x00000000000000000000000000000000000000A1"
USDC = TOKENS[8453][0]
# What is due is waited for this long, in seconds, however busy the machine is.
PATIENCE = 240
TABLE = {"fund", "mint", "advance", "block_time_offset", "lag", "reorg", "fault", "snapshot", "restore"}


def localnet(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one command of the launcher in a folder."""
    command = [sys.executable, "-m", "localnet", *words, "--data-dir", "nodes"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def ask(url: str, body: Any = None) -> tuple[int, Any]:
    """Return status and JSON of an address; a POST where there is a body."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def rpc(url: str, method: str, *params: Any) -> Any:
    """Return the result of a JSON-RPC call."""
    return ask(url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)})[1]["result"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("localnet")


@pytest.fixture(scope="module")
def nodes(folder: Path) -> Iterator[dict[str, Any]]:
    start = localnet(folder, "start", "base", "solana", "--port-base", "0", "--json")
    assert start.returncode == 0, start.stderr
    ready: dict[str, Any] = json.loads(start.stdout)
    yield ready
    assert localnet(folder, "stop").returncode == 0
    for process in (ready["holder"], *ready["processes"].values()):
        assert not Process(**process).runs
    assert not (folder / "nodes" / "localnet.json").exists()


def steer(nodes: dict[str, Any], chain: str, verb: str, **members: Any) -> dict[str, Any]:
    """Carry out a control verb that the node has."""
    status, answer = ask(nodes["control"][chain], {"verb": verb, **members})
    assert (status, answer["ok"]) == (200, True), answer
    return dict(answer)


def head(nodes: dict[str, Any]) -> dict[str, Any]:
    return dict(rpc(nodes["urls"]["base"], "eth_getBlockByNumber", "latest", False))


def tokens(nodes: dict[str, Any], holder: str) -> int:
    query = {"to": USDC, "data": call_data("balanceOf(address)", holder)}
    return int(rpc(nodes["urls"]["base"], "eth_call", query, "latest"), 16)


def test_status_asks_the_nodes(folder: Path, nodes: dict[str, Any]) -> None:
    """Each node tells its newest block, and blocks come by themselves."""

    def heads() -> dict[str, int]:
        result = localnet(folder, "status", "--json")
        assert result.returncode == 0, result.stdout
        return dict(json.loads(result.stdout)["nodes"])

    before = heads()
    assert set(before) == {"base", "base_sepolia", "solana"} == set(nodes["control"])
    ends = time.monotonic() + PATIENCE
    while not all(now > before[name] for name, now in heads().items()):
        assert time.monotonic() < ends
        time.sleep(0.2)


def test_nodes_are_not_started_twice(folder: Path, nodes: dict[str, Any]) -> None:
    """A second start in the same folder changes nothing and says what ends the first."""
    again = localnet(folder, "start", "base")
    assert again.returncode == 2
    assert "weldproof localnet stop" in again.stderr
    assert rpc(nodes["urls"]["base"], "eth_chainId") == hex(8453)


def test_both_base_networks_have_their_token(nodes: dict[str, Any]) -> None:
    """The EIP-712 domain of each network is the one of its real token (P-NW-03)."""
    separator = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
    query = {"to": USDC, "data": "0x3644e515"}
    assert separator == rpc(nodes["urls"]["base"], "eth_call", query, "latest")
    sepolia = nodes["urls"]["base_sepolia"]
    assert rpc(sepolia, "eth_chainId") == hex(84532)
    assert rpc(sepolia, "eth_call", {"to": TOKENS[84532][0], "data": "0x3644e515"}, "latest") not in {separator, "0x"}


def test_fund_gives_on_both_chains(folder: Path, nodes: dict[str, Any]) -> None:
    """`localnet fund` gives USDC, and native coin when asked for."""
    owner = Keypair().pubkey()
    before = tokens(nodes, SOMEBODY)
    assert localnet(folder, "fund", "base", SOMEBODY, "1250000").returncode == 0
    assert before + 1_250_000 == tokens(nodes, SOMEBODY)
    assert localnet(folder, "fund", "solana", str(owner), "7", "--coin").returncode == 1, "below the rent of an account"
    assert localnet(folder, "fund", "solana", str(owner), "2000000", "--coin").returncode == 0
    balance = rpc(nodes["urls"]["solana"], "getBalance", str(owner), {"commitment": "confirmed"})
    assert balance["value"] == 2_000_000
    refusal = localnet(folder, "fund", "base", "nobody", "1")
    assert refusal.returncode == 1
    assert "address" in refusal.stderr
    assert localnet(folder, "fund", "algorand", "X", "1").returncode == 3


def test_a_node_lists_exactly_the_verbs_that_it_has(nodes: dict[str, Any]) -> None:
    """GET /control names the verbs of specification 9.1 that the node does not lack, and no fault."""
    missing_verbs = {"base": {"lag", "fault"}, "solana": TABLE - {"fund", "mint"}}
    for chain, absent in missing_verbs.items():
        status, verbs = ask(nodes["control"][chain])
        assert status == 200
        assert set(verbs["verbs"]) == TABLE - absent
        assert verbs["faults"] == []
        for verb in absent:
            status, answer = ask(nodes["control"][chain], {"verb": verb, "blocks": 1, "seconds": 1, "depth": 1})
            assert (status, answer["ok"]) == (400, False)
            assert "no such verb" in answer["error"]


@pytest.mark.parametrize(
    "body",
    [
        [],
        "fund",
        {},
        {"verb": 1},
        {"verb": "fund", "address": SOMEBODY},
        {"verb": "fund", "address": SOMEBODY, "amount": 5},
        {"verb": "mint", "address": SOMEBODY, "amount": "-1"},
        {"verb": "mint", "address": "0x12", "amount": "1"},
        {"verb": "mint", "address": SOMEBODY, "amount": "1", "asset": SOMEBODY},
        {"verb": "advance"},
        {"verb": "advance", "blocks": 1, "seconds": 1},
        {"verb": "advance", "blocks": -1},
        {"verb": "reorg", "depth": 0},
        {"verb": "reorg", "depth": 9_999},
        {"verb": "restore", "id": 99},
        {"verb": "restore", "id": True},
        {"verb": "block_time_offset", "seconds": "1"},
    ],
)
def test_what_cannot_be_done_is_refused(nodes: dict[str, Any], body: Any) -> None:
    """A badly given verb is 400 with a reason, and the node goes on."""
    status, answer = ask(nodes["control"]["base"], body)
    assert (status, answer["ok"]) == (400, False)
    assert answer["error"]


def test_anvil_advances_by_blocks_and_by_time(nodes: dict[str, Any]) -> None:
    """`advance` makes blocks at once, or one that is later with all that follow; offsets never shrink."""
    before = head(nodes)
    steer(nodes, "base", "advance", blocks=40)
    assert int(head(nodes)["number"], 16) >= int(before["number"], 16) + 40
    steer(nodes, "base", "advance", seconds=3_000)
    seconds_ahead = int(head(nodes)["timestamp"], 16) - time.time()
    assert seconds_ahead == pytest.approx(3_000, abs=60)
    steer(nodes, "base", "block_time_offset", seconds=4_000)
    assert int(head(nodes)["timestamp"], 16) - time.time() == pytest.approx(4_000, abs=60)
    status, answer = ask(nodes["control"]["base"], {"verb": "block_time_offset", "seconds": 3_999})
    assert status == 400
    assert "backwards" in answer["error"]


def test_a_reorganisation_drops_transactions(nodes: dict[str, Any]) -> None:
    """After `reorg` the transaction has no receipt and moved nothing."""
    before = tokens(nodes, SOMEBODY)
    steer(nodes, "base", "advance", blocks=300)  # room below the transaction, for blocks come by themselves meanwhile
    tx_id = steer(nodes, "base", "mint", address=SOMEBODY, amount="5")["tx_id"]
    receipt = rpc(nodes["urls"]["base"], "eth_getTransactionReceipt", tx_id)
    assert receipt["status"] == "0x1"
    steer(nodes, "base", "reorg", depth=int(head(nodes)["number"], 16) - int(receipt["blockNumber"], 16) + 200)
    assert rpc(nodes["urls"]["base"], "eth_getTransactionReceipt", tx_id) is None
    assert tokens(nodes, SOMEBODY) == before
    steer(nodes, "base", "mint", address=SOMEBODY, amount="5")
    assert tokens(nodes, SOMEBODY) == before + 5


def test_a_snapshot_can_be_restored_again_and_again(nodes: dict[str, Any]) -> None:
    """`restore` returns to the snapshot each time, and a later snapshot is gone after it."""
    before = tokens(nodes, SOMEBODY)
    snapshot_id = steer(nodes, "base", "snapshot")["id"]
    for _ in range(2):
        steer(nodes, "base", "mint", address=SOMEBODY, amount="9")
        later = steer(nodes, "base", "snapshot")["id"]
        assert tokens(nodes, SOMEBODY) == before + 9
        steer(nodes, "base", "restore", id=snapshot_id)
        assert tokens(nodes, SOMEBODY) == before
        assert ask(nodes["control"]["base"], {"verb": "restore", "id": later})[0] == 400


def test_solana_mints_both_tokens_and_is_final_soon(nodes: dict[str, Any]) -> None:
    """A minted token stands in the owner's associated account, and is final soon (P-NW-05)."""
    url, owner = nodes["urls"]["solana"], Keypair().pubkey()
    for mint in MINTS:
        tx_id = steer(nodes, "solana", "mint", address=str(owner), amount="1234", asset=mint)["tx_id"]
        start = time.monotonic()
        while rpc(url, "getSignatureStatuses", [tx_id])["value"][0]["confirmationStatus"] != "finalized":
            assert time.monotonic() < start + PATIENCE
            time.sleep(0.05)
        place = str(get_associated_token_address(owner, Pubkey.from_string(mint)))
        balance = rpc(url, "getTokenAccountBalance", place, {"commitment": "confirmed"})
        assert balance["value"]["amount"] == "1234"
    status, answer = ask(
        nodes["control"]["solana"], {"verb": "mint", "address": str(owner), "amount": "1", "asset": str(owner)}
    )
    assert (status, answer["ok"]) == (400, False)


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "fund", "address": "1" * 32, "amount": str(2**63)},
        {"verb": "fund", "address": "1" * 44, "amount": "1"},
        {"verb": "mint", "address": "11111111111111111111111111111111", "amount": str(2**63)},
        {"verb": "mint", "address": MINTS[0], "amount": "1.5"},
        {"verb": "mint", "address": MINTS[0], "amount": "1", "asset": 7},
    ],
)
def test_what_the_bank_cannot_give_is_refused(nodes: dict[str, Any], body: Any) -> None:
    """Amounts beyond the bank's balance and malformed addresses are 400, and the bank continues to give."""
    status, answer = ask(nodes["control"]["solana"], body)
    assert (status, answer["ok"]) == (400, False), answer
    steer(nodes, "solana", "mint", address=str(Keypair().pubkey()), amount="1")


def test_nodes_whose_holder_was_killed_can_be_stopped(tmp_path: Path) -> None:
    """`stop` finds what a holder left that could not clean up, and ends it."""
    start = localnet(tmp_path, "start", "base", "--port-base", "0", "--json")
    assert start.returncode == 0, start.stderr
    ready = json.loads(start.stdout)
    os.kill(ready["holder"]["pid"], signal.SIGKILL)
    processes = [Process(**one) for one in ready["processes"].values()]
    assert all(one.runs for one in processes)
    assert localnet(tmp_path, "stop").returncode == 0
    assert all(one.gone_within(PATIENCE) for one in processes)
    assert localnet(tmp_path, "status").returncode == 3


def test_no_secret_is_in_the_state_or_in_a_log(folder: Path, nodes: dict[str, Any]) -> None:
    """The bank's key is in a file of its owner alone, and in no other file or argument."""
    bank = folder / "nodes" / "solana_bank.json"
    assert bank.stat().st_mode & 0o777 == 0o600
    secret = bank.read_text().strip()
    for path in (folder / "nodes").rglob("*"):
        if path.is_file() and path != bank:
            assert secret not in path.read_text("utf-8", "replace"), path
    for process in nodes["processes"].values():
        assert secret not in Path(f"/proc/{process['pid']}/cmdline").read_text()
