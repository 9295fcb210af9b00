"""Two Base nodes that get the same calls: our simulator and Anvil, both making blocks only when asked."""

from __future__ import annotations

import itertools
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import HTTPProvider, Web3

from localnet import npm
from localnet.lanes.base import anvil
from sim.base.token import NETWORK_TOKENS, artefact, call_data
from tests import prepared
from tests.differential.comparison import shape
from tests.differential.processes import post_json, run_sidecar, until_it_answers
from tests.reserved_port import reserved_port

CHAIN = 8453
USDC = NETWORK_TOKENS[CHAIN].address
GWEI = 10**9
NEVER = 36_000.0  # seconds between blocks that were not requested


class BaseNode:
    """One node with an unmodified web3.py, plain JSON-RPC, and its control address."""

    def __init__(self, url: str, control: str) -> None:
        self.url = url
        self._control = control
        self.w3 = Web3(HTTPProvider(url, request_kwargs={"timeout": 30}))
        self.usdc: Any = self.w3.eth.contract(address=Web3.to_checksum_address(USDC), abi=artefact()["abi"])
        self._keys = itertools.count(1)

    def post(self, body: bytes) -> Any:
        """Return status and body of a POST, the body as JSON where it is some."""
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                said = answer.read()
        except urllib.error.HTTPError as answer:
            said = answer.read()
        try:
            return json.loads(said)
        except ValueError:
            return said.decode("utf-8", "replace")

    def ask(self, method: str, *params: Any) -> Any:
        """Return the whole answer of a call."""
        return self.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())

    def call(self, method: str, *params: Any) -> Any:
        """Return a call's result."""
        answer = self.ask(method, *params)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def steer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and body of a control call."""
        return post_json(self._control, body)

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb that must do."""
        status, answer = self.steer(json.dumps({"verb": verb, **members}).encode())
        assert (status, answer["ok"]) == (200, True), answer
        return answer

    def account(self, *, wei: int = 10**18, usdc: int = 0) -> LocalAccount:
        """Return an account of its own for each use, the same one on both nodes."""
        account: LocalAccount = Account.from_key((2**240 + next(self._keys)).to_bytes(32, "big"))
        if wei:
            self.call("anvil_setBalance", account.address, hex(wei))
        if usdc:
            self.control("mint", address=account.address, amount=str(usdc))
        return account

    def mine(self, count: int = 1) -> None:
        """Make blocks, the first of them with what waits."""
        self.call("evm_mine")
        if count > 1:
            self.call("anvil_mine", hex(count - 1))

    def sign_transaction(self, key: LocalAccount, **members: Any) -> str:
        """Return a transaction with a dynamic fee to oneself, or with other members."""
        fees = {} if "gasPrice" in members else {"maxFeePerGas": 10 * GWEI, "maxPriorityFeePerGas": GWEI}
        count = int(self.call("eth_getTransactionCount", key.address, "pending"), 16)
        terms: dict[str, Any] = {"chainId": CHAIN, "nonce": count, "gas": 200_000, "to": key.address, "value": 0}
        return "0x" + bytes(key.sign_transaction({**terms, **fees, **members}).raw_transaction).hex()

    def send_transaction(self, key: LocalAccount, **members: Any) -> str:
        """Send a transaction that the node takes; return its hash."""
        return str(self.call("eth_sendRawTransaction", self.sign_transaction(key, **members)))

    def mine_transaction(self, key: LocalAccount, **members: Any) -> Any:
        """Send a transaction, make a block and return the receipt."""
        tx_id = self.send_transaction(key, **members)
        self.mine()
        return self.call("eth_getTransactionReceipt", tx_id)


def transfer(to: str, amount: int) -> dict[str, Any]:
    """Return the members of a transaction that transfers USDC."""
    return {"to": USDC, "data": "0x" + call_data("transfer(address,uint256)", to, amount).hex()}


def compared_part(answer: Any) -> Any:
    """Return what of an answer is compared: a result's shape, or an error's code, words and data."""
    if not isinstance(answer, dict):
        return shape(answer)
    if "error" not in answer:
        return {"result": shape(answer.get("result"))}
    return {"error": {name: answer["error"].get(name) for name in ("code", "message", "data")}}


def attempt(act: Callable[[], Any]) -> Any:
    """Return what web3.py makes of something: the type of its result, or of what it raises."""
    try:
        return {"returns": type(act()).__name__}
    except Exception as fault:  # noqa: BLE001 - which one it is, is the fact
        return {"raises": type(fault).__name__}


@contextmanager
def run_simulator() -> Iterator[BaseNode]:
    """A simulator in a process of its own."""
    with prepared.run_ready("sim.base", "--port", "0", "--block-seconds", str(NEVER)) as ready:
        yield BaseNode(ready["rpc"], ready["rpc"] + "/control")


@contextmanager
def real() -> Iterator[BaseNode]:
    """Anvil from npm with localnet's control address."""
    with ExitStack() as stack:
        port = stack.enter_context(reserved_port())
        # Whatever other Anvil is on this machine: the recordings are of the pinned one.
        program = npm.node_modules() / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"
        words = [str(program), *anvil.command(port, CHAIN, NEVER)[1:]]
        process = stack.enter_context(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        stack.callback(process.terminate)
        url = f"http://127.0.0.1:{port}"
        until_it_answers(url, "eth_chainId")
        yield BaseNode(url, stack.enter_context(run_sidecar("anvil", url)))
