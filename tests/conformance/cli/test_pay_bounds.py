"""What `weldproof pay` and `weldproof run` never do with a user's money, as commands against real processes.

The rail is hostile: it asks for whatever a test says. The chain is a simulated Algorand, whose genesis is unknown; a
node of a main network is a small server that says what such a node says, behind an address of this machine.
"""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from algosdk import account, mnemonic, transaction
from algosdk.v2client.algod import AlgodClient

from tests import prepared
from tests.algorand_signing import opt_in, signed_by
from tests.conformance.served import serve

USDC = 31566704
CALL = "/pay/v1/compliance/receipt"
MAIN_GENESIS = "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="
MAIN_SOLANA = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"


@dataclass(frozen=True)
class Node:
    """A simulated node."""

    url: str
    token_file: Path

    @property
    def algod(self) -> AlgodClient:
        return AlgodClient(self.token_file.read_text(), self.url)

    def control(self, **members: Any) -> None:
        body = json.dumps(members).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/control", body)) as answer:
            assert json.load(answer)["ok"]

    def payee(self) -> str:
        """Return a fresh address that may hold USDC and holds none."""
        key, address = account.generate_account()
        self.control(verb="fund", address=address, amount="1000000")
        opt_in(self.algod, key, USDC)
        self.control(verb="advance", blocks=1)
        return str(address)

    def holds(self, address: str, asset: int) -> int:
        info: Any = self.algod.account_info(address)
        return next((one["amount"] for one in info["assets"] if one["asset-id"] == asset), 0)

    def send(self, key: str, transaction_to_send: Any) -> Any:
        signed_transaction = signed_by(key, transaction_to_send)
        tx_id = self.algod.send_transaction(signed_transaction)
        return transaction.wait_for_confirmation(self.algod, tx_id, 50)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A simulated node with blocks every 20 ms."""
    words = ["--algod-port", "0", "--indexer-port", "0", "--block-seconds", "0.02"]
    with prepared.run_ready("sim.algorand", *words) as ready:
        token_file = tmp_path_factory.mktemp("node") / "token"
        token_file.write_text(ready["token"])
        yield Node(ready["algod"], token_file)


@contextmanager
def rail(entry: Mapping[str, Any]) -> Iterator[str]:
    """A rail that asks for an entry and serves any client that shows a proof, without a receipt."""

    def answer(method: str, path: str, headers: Any, body: bytes) -> tuple[int, Any]:
        del body
        if path == "/openapi.json":
            return 200, {"paths": {CALL: {"post": {"responses": {"402": {"description": "pay"}}}}}}
        if method == "POST" and path in {CALL, f"{CALL}?depth=full"}:
            return (200, {}) if headers.get("X-PAYMENT") else (402, {"accepts": [entry]})
        return 404, {}

    with serve(answer) as rail_server:
        yield rail_server.url


def make_entry(payee: str, *, asset: int = USDC, amount: int = 50_000) -> dict[str, Any]:
    """An entry that is as it should be, but for what a test changes."""
    extra = {"payment_reference": "9" * 20 + ":rest"}
    terms = {"asset": str(asset), "payTo": payee, "maxAmountRequired": str(amount), "maxTimeoutSeconds": 1800}
    return {"scheme": "exact", "network": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", **terms, "extra": extra}


@pytest.fixture
def payee(node: Node) -> str:
    """An address that may hold USDC and holds none."""
    return node.payee()


@dataclass(frozen=True)
class Funder:
    """An account of the operator with Algos and 1,000 USDC."""

    key: str
    address: str
    file: Path


@pytest.fixture
def funder(node: Node, tmp_path: Path) -> Funder:
    """A funded account, its words in a file."""
    key, address = account.generate_account()
    node.control(verb="fund", address=address, amount="20000000")
    opt_in(node.algod, key, USDC)
    node.control(verb="mint", address=address, amount="1000000000", asset=str(USDC))
    (tmp_path / "words").write_text(mnemonic.from_private_key(key))
    return Funder(key, address, tmp_path / "words")


def profile(folder: Path, url: str, **chain: Any) -> Path:
    """Write a profile with a rail and the Algorand table."""
    table = "\n".join(f"{name} = {json.dumps(value)}" for name, value in chain.items() if isinstance(value, str))
    files = "\n".join(f'{name} = {{ file = "{value}" }}' for name, value in chain.items() if isinstance(value, Path))
    path = folder / "target.toml"
    path.write_text(
        f'[surfaces.rail]\nurl = "{url}"\n[claims]\nsurfaces = ["rail"]\nlanes = ["algorand"]\n'
        f"[chains.algorand]\n{table}\n{files}\n"
    )
    return path


def pay(folder: Path, url: str, config: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `weldproof pay` without a terminal."""
    line = ["pay", url, "--config", str(config), *words]
    return prepared.run("conformance", *line, env=os.environ, cwd=folder, timeout=600)


def by_control(node: Node) -> dict[str, Any]:
    return {"algod": node.url, "token": node.token_file, "control": f"{node.url}/control"}


def by_funder(node: Node, funder: Funder, limit: str = "500000000") -> dict[str, Any]:
    return {"algod": node.url, "token": node.token_file, "funder": funder.file, "spending_limit": limit}


def test_nine_hundred_usdc_are_not_paid_without_a_question(node: Node, payee: str, tmp_path: Path) -> None:
    """Above `--max`, 1 USDC by default, nothing is paid if no user can be asked; with the option it is paid."""
    with rail(make_entry(payee, amount=900_000_000)) as url:
        config = profile(tmp_path, url, **by_control(node))
        refusal = pay(tmp_path, url + CALL, config)
        assert (refusal.returncode, node.holds(payee, USDC)) == (1, 0), refusal.stderr
        assert f"900 USDC on algorand_mainnet to {payee} is more than --max 1" in refusal.stderr
        assert "give --max 900" in refusal.stderr
        pay(tmp_path, url + CALL, config, "--max", "900")
        assert node.holds(payee, USDC) == 900_000_000


@pytest.mark.parametrize(("typed_bytes", "is_paid"), [(b"y\n", 2_000_000), (b"\n", 0), (b"n\n", 0)])
def test_somebody_at_a_terminal_is_asked(
    node: Node, payee: str, tmp_path: Path, typed_bytes: bytes, is_paid: int
) -> None:
    """Only a yes pays; what is asked names the amount, the network and the payee."""
    with rail(make_entry(payee, amount=2_000_000)) as url:
        config = profile(tmp_path, url, **by_control(node))
        ours, theirs = pty.openpty()
        words = [sys.executable, "-m", "conformance", "pay", url + CALL, "--config", str(config)]
        with subprocess.Popen(words, stdin=theirs, stderr=theirs, stdout=subprocess.DEVNULL, cwd=tmp_path) as process:
            os.close(theirs)
            output = b""
            while b"[y/N]: " not in output:
                output += os.read(ours, 1000)
            os.write(ours, typed_bytes)
            process.wait(600)
        os.close(ours)
        assert f"2 USDC on algorand_mainnet to {payee} is more than --max 1".encode() in output
        assert node.holds(payee, USDC) == is_paid


@pytest.mark.parametrize("text", ["1.0000001", "-1", "much", "NaN", "Infinity", ""])
def test_a_bound_is_an_amount_of_usdc(tmp_path: Path, text: str) -> None:
    """Anything else is a fault of usage, before anything is looked at."""
    refusal = pay(tmp_path, "http://127.0.0.1:9" + CALL, tmp_path / "none.toml", f"--max={text}")
    assert (refusal.returncode, "at most 6 decimals" in refusal.stderr) == (2, True), refusal.stderr


def test_a_call_is_paid_with_the_query_that_was_typed(node: Node, payee: str, tmp_path: Path) -> None:
    """Price and answer are asked for with it, so that what is paid for is what was named."""
    with rail(make_entry(payee)) as url:
        config = profile(tmp_path, url, **by_control(node))
        result = pay(tmp_path, f"{url}{CALL}?depth=full#top", config)
        assert "200 with 2 bytes" in result.stdout, result.stderr
        assert node.holds(payee, USDC) == 50_000


@pytest.mark.parametrize("words", [(), ("--max", "900")])
def test_a_limit_of_the_profile_holds_whoever_s_money_it_is(
    node: Node, payee: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Also where a simulated node gives the money, and whatever `--max` says; at the limit it is paid."""
    limited_chain = {**by_control(node), "spending_limit": "50000"}
    with rail(make_entry(payee, amount=50_001)) as url:
        refusal = pay(tmp_path, url + CALL, profile(tmp_path, url, **limited_chain), *words)
        assert refusal.returncode == 1, refusal.stderr
        assert "0.050001 USDC on algorand_mainnet is more than [chains.algorand] spending_limit, 0.05" in refusal.stderr
    assert node.holds(payee, USDC) == 0
    with rail(make_entry(payee, amount=50_000)) as url:
        pay(tmp_path, url + CALL, profile(tmp_path, url, **limited_chain), *words)
    assert node.holds(payee, USDC) == 50_000


def test_another_host_is_paid_only_when_it_was_allowed(node: Node, payee: str, tmp_path: Path) -> None:
    """Neither is the profile's rail paid instead, nor is anything sent to the host before the user agreed."""
    elsewhere = node.payee()
    with rail(make_entry(payee)) as ours, rail(make_entry(elsewhere)) as theirs:
        config = profile(tmp_path, ours, **by_control(node))
        host = theirs.removeprefix("http://")
        refusal = pay(tmp_path, theirs + CALL, config)
        assert refusal.returncode == 1, refusal.stderr
        assert f"{host} is not a host of the profile (rail {ours})" in refusal.stderr
        assert f"give --allow-host {host}. Nothing was sent or paid" in refusal.stderr
        pay(tmp_path, theirs + CALL, config, "--allow-host", host)
    assert (node.holds(payee, USDC), node.holds(elsewhere, USDC)) == (0, 50_000)


def dear_asset(node: Node, funder: Funder, payee_key: str, payee: str) -> int:
    """Make an asset of 8 decimals that the operator's account holds, and let the payee hold it."""
    key, maker = account.generate_account()
    node.control(verb="fund", address=maker, amount="10000000")
    node.control(verb="fund", address=payee, amount="10000000")
    params = node.algod.suggested_params()
    creation = transaction.AssetConfigTxn(
        maker, params, total=10**15, decimals=8, unit_name="USDC", asset_name="USDC", default_frozen=False,
        strict_empty_address_check=False,
    )  # fmt: skip
    asset = int(node.send(key, creation)["asset-index"])
    for owner, its in ((funder.address, funder.key), (payee, payee_key)):
        node.send(its, transaction.AssetTransferTxn(owner, params, owner, 0, asset))
    node.send(key, transaction.AssetTransferTxn(maker, params, funder.address, 10**9, asset))
    return asset


def test_an_account_pays_in_usdc_only_whatever_a_target_names(node: Node, funder: Funder, tmp_path: Path) -> None:
    """0.4 of an asset of 8 decimals are no 40 USDC, and nothing of it leaves the account: by `pay` and by `run`."""
    payee_key, payee = account.generate_account()
    asset = dear_asset(node, funder, payee_key, payee)
    with rail(make_entry(payee, asset=asset, amount=40_000_000)) as url:
        config = profile(tmp_path, url, **by_funder(node, funder))
        refusal = pay(tmp_path, url + CALL, config, "--max", "100")
        assert refusal.returncode == 1, refusal.stderr
        assert f"asks for the asset {asset}, and USDC of algorand_mainnet is {USDC}" in refusal.stderr
        words = ["run", "RAIL-PAY-05", "--config", str(config), "--report-dir", str(tmp_path / "report")]
        result = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path, timeout=600)
        assert result.returncode == 3, result.stderr
        report = json.loads((tmp_path / "report" / "report.json").read_text())
        assert f"the asset {asset} is not USDC" in json.dumps(report)
    assert (node.holds(payee, asset), node.holds(funder.address, asset)) == (0, 10**9)


def test_no_more_leaves_an_account_than_was_agreed(node: Node, funder: Funder, payee: str, tmp_path: Path) -> None:
    """The throw-away account that pays is given the price, and not a usual purse of 2 USDC."""
    with rail(make_entry(payee)) as url:
        pay(tmp_path, url + CALL, profile(tmp_path, url, **by_funder(node, funder)))
    assert node.holds(payee, USDC) == 50_000
    assert node.holds(funder.address, USDC) == 1_000_000_000 - 50_000
    payments = [
        transaction["txn"]["txn"]["aamt"]
        for number in range(1, node.algod.status()["last-round"] + 1)  # type: ignore[call-overload]
        for transaction in _transactions(node, number)
        if transaction["txn"]["txn"].get("snd") == funder.address and transaction["txn"]["txn"].get("aamt")
    ]
    assert payments == [50_000]


def _transactions(node: Node, number: int) -> list[Any]:
    block: Any = node.algod.block_info(number)
    return [{"txn": {"txn": one["txn"]}} for one in block["block"].get("txns", [])]


def test_an_account_needs_a_limit_on_this_machine_too(node: Node, funder: Funder, tmp_path: Path) -> None:
    """Where the node is says nothing of what its network is worth."""
    config = profile(tmp_path, "http://127.0.0.1:9", algod=node.url, token=node.token_file, funder=funder.file)
    refusal = pay(tmp_path, "http://127.0.0.1:9" + CALL, config)
    assert (refusal.returncode, "spending_limit" in refusal.stderr) == (2, True), refusal.stderr


def _algod(_: str, path: str, __: Any, ___: bytes) -> tuple[int, Any]:
    params = {"consensus-version": "x", "fee": 0, "genesis-id": "mainnet-v1.0", "last-round": 1, "min-fee": 1000}
    return (200, {**params, "genesis-hash": MAIN_GENESIS}) if path == "/v2/transactions/params" else (404, {})


def _evm(_: str, __: str, ___: Any, body: bytes) -> tuple[int, Any]:
    question = json.loads(body)
    chain_id = "0x2105" if question["method"] == "eth_chainId" else None
    return 200, {"jsonrpc": "2.0", "id": question["id"], "result": chain_id}


def _svm(_: str, __: str, ___: Any, body: bytes) -> tuple[int, Any]:
    question = json.loads(body)
    genesis_hash = {"getGenesisHash": MAIN_SOLANA}.get(question["method"])
    return 200, {"jsonrpc": "2.0", "id": question["id"], "result": genesis_hash}


def _absent(*_: object) -> tuple[int, Any]:
    return 404, {}


NODES = {"algorand": ("algod", _algod), "base": ("rpc", _evm), "solana": ("rpc", _svm)}


@pytest.mark.parametrize("command", ["pay", "run", "replay"])
@pytest.mark.parametrize("lane", NODES)
def test_a_forwarded_node_of_a_main_network_needs_its_word(lane: str, command: str, tmp_path: Path) -> None:
    """Its address is of this machine; it says itself which network it is of, and nothing is asked of the target."""
    member, answer = NODES[lane]
    (tmp_path / "key").write_text(base64.b64encode(b"\1" * 32).decode())
    with ExitStack() as stack:
        chain, target = stack.enter_context(serve(answer)), stack.enter_context(serve(_absent))
        text = (
            f'[surfaces.rail]\nurl = "{target.url}"\n[claims]\nsurfaces = ["rail"]\nlanes = ["{lane}"]\n'
            f'[chains.{lane}]\n{member} = "{chain.url}"\nfunder = {{ file = "key" }}\nspending_limit = "1000"\n'
        )
        (tmp_path / "target.toml").write_text(text)
        words = {
            "pay": ["pay", target.url + CALL],
            "run": ["run", "RAIL-PAY-05"],
            "replay": ["replay", f"{_log(tmp_path)}#1"],
        }[command]
        line = [*words, "--config", "target.toml"]
        refusal = prepared.run("conformance", *line, env=os.environ, cwd=tmp_path, timeout=600)
        assert refusal.returncode == 2, refusal.stderr
        assert f"is a node of the main network {lane}_mainnet, as it says itself" in refusal.stderr
        assert "--main-network" in refusal.stderr
        assert target.calls == []


def test_control_verbs_of_a_main_networks_node_are_left_alone(payee: str, tmp_path: Path) -> None:
    """A real account is behind them, so no option makes them pay."""
    with serve(_algod) as chain, rail(make_entry(payee)) as url:
        config = profile(tmp_path, url, algod=chain.url, control=f"{chain.url}/control")
        refusal = pay(tmp_path, url + CALL, config, "--main-network")
        assert refusal.returncode == 3, refusal.stderr
        assert "real money: nothing is paid there. Give funder and spending_limit instead of control" in refusal.stderr
        paths = {path for _, path in chain.calls}
        assert paths <= {"/v2/transactions/params", "/v2/status"}, paths


def _log(folder: Path) -> Path:
    """Write the log of a run with one exchange."""
    started_members = {"event": "run.started", "options": {}, "rows": ["RAIL-PAY-05"], "seed": 1}
    request: dict[str, Any] = {"method": "GET", "url": "http://h/", "path": "/", "headers": [], "body": None}
    exchange = {"event": "exchange", "n": 1, "check": "x", "ordinal": 1, "retry": False, "request": request}
    lines = [json.dumps(one) for one in (started_members, {**exchange, "response": None, "error": None})]
    path = folder / "events.ndjson"
    path.write_text("\n".join(lines) + "\n")
    return path
