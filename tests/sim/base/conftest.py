"""A simulated Base in this process, whose blocks are made only when a test says so, and one as a child process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from eth_abi.abi import decode
from eth_account import Account
from eth_account.signers.local import LocalAccount

from sim import json_rpc
from sim.base import control
from sim.base.chain import Chain
from sim.base.rpc import Rpc
from sim.base.token import call_data
from sim.clock import BlockClock
from tests import prepared

START = 1_800_000_000
GWEI = 10**9


class Bench:
    """A chain with what a client does to it."""

    def __init__(self, chain_id: int = 8453) -> None:
        self.system_time = START
        self.chain = Chain(chain_id, BlockClock(lambda: self.system_time))
        self.usdc = self.chain.token.address
        self._rpc = Rpc(self.chain)
        self._keys = 0

    def body(self, request: bytes) -> Any:
        """Return what a request body is answered; None for an empty answer."""
        answer = asyncio.run(json_rpc.answer(request, self._rpc.call))
        return orjson.loads(answer) if answer else None

    def ask(self, method: str, *params: Any) -> Any:
        """Return the whole answer of a call."""
        return self.body(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))

    def call(self, method: str, *params: Any) -> Any:
        """Return a call's result."""
        answer = self.ask(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    def number(self, method: str, *params: Any) -> int:
        """Return a call's result that is a quantity."""
        return int(self.call(method, *params), 16)

    def call_refused(self, method: str, *params: Any) -> Any:
        """Return a call's error."""
        return self.ask(method, *params)["error"]

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb that must do."""
        status, body = asyncio.run(control.carry_out(self.chain, {"verb": verb, **members}))
        assert (status, body["ok"]) == (200, True), body
        return body

    def control_refused(self, request: Any) -> str:
        """Return why a control call is not carried out."""
        status, body = asyncio.run(control.carry_out(self.chain, request))
        assert (status, body["ok"]) == (400, False)
        return str(body["error"])

    def mine(self, count: int = 1) -> None:
        """Make blocks."""
        for _ in range(count):
            self.chain.seal()

    def account(self) -> LocalAccount:
        """Return a new account that owns nothing; the same ones in each run."""
        self._keys += 1
        account: LocalAccount = Account.from_key(self._keys.to_bytes(32, "big"))
        return account

    def fund_account(self, *, wei: int = 10**18, usdc: int = 0) -> LocalAccount:
        """Return a new account with wei and USDC."""
        account = self.account()
        self.control("fund", address=account.address, amount=str(wei))
        if usdc:
            self.control("mint", address=account.address, amount=str(usdc))
        return account

    def sign_transaction(self, key: LocalAccount, **members: Any) -> str:
        """Return a transaction with a dynamic fee to oneself, or with other members; `gasPrice` makes a legacy one."""
        fees = {} if "gasPrice" in members else {"maxFeePerGas": GWEI, "maxPriorityFeePerGas": GWEI // 1000}
        terms: dict[str, Any] = {
            "nonce": self.chain.pending_nonce(key.address),
            "gas": 100_000,
            "to": key.address,
            "value": 0,
        }
        raw = key.sign_transaction({"chainId": self.chain.id, **terms, **fees, **members}).raw_transaction
        return "0x" + bytes(raw).hex()

    def send(self, key: LocalAccount, **members: Any) -> str:
        """Send a transaction that the node takes; return its hash."""
        return str(self.call("eth_sendRawTransaction", self.sign_transaction(key, **members)))

    def send_refused(self, key: LocalAccount, **members: Any) -> str:
        """Send a transaction that the node refuses; return its reason."""
        error = self.call_refused("eth_sendRawTransaction", self.sign_transaction(key, **members))
        assert error["code"] == -32000
        return str(error["message"])

    def mine_transaction(self, key: LocalAccount, **members: Any) -> Any:
        """Send a transaction, make a block and return the receipt."""
        tx_hash = self.send(key, **members)
        self.mine()
        return self.call("eth_getTransactionReceipt", tx_hash)

    def transfer(self, to: str, amount: int) -> dict[str, Any]:
        """Return the members of a transaction that transfers USDC."""
        return {"to": self.usdc, "data": "0x" + call_data("transfer(address,uint256)", to, amount).hex()}

    def usdc_balance(self, owner: str, tag: Any = "latest") -> int:
        """Return USDC as the node tells it."""
        query = {"to": self.usdc, "data": "0x" + call_data("balanceOf(address)", owner).hex()}
        return int(decode(["uint256"], bytes.fromhex(self.call("eth_call", query, tag)[2:]))[0])

    def wei(self, owner: str, tag: Any = "latest") -> int:
        """Return wei as the node tells it."""
        return self.number("eth_getBalance", owner, tag)


@pytest.fixture(name="bench")
def _bench() -> Bench:
    return Bench()


@pytest.fixture(scope="module", name="node")
def _node() -> Iterator[dict[str, Any]]:
    """The ready line of a running simulator with blocks every 10 ms."""
    with prepared.run_ready("sim.base", "--port", "0", "--block-seconds", "0.01") as ready:
        yield ready
