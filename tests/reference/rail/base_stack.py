"""A simulated Base as a process, payers with eth-account's real keys and signatures, and a settler for the rail."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests import prepared

CAIP2 = "eip155:8453"
PRICE = 50_000
_SPLIT = "address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32"
_TYPES = [
    {"name": name, "type": kind}
    for name, kind in (
        ("from", "address"),
        ("to", "address"),
        ("value", "uint256"),
        ("validAfter", "uint256"),
        ("validBefore", "uint256"),
        ("nonce", "bytes32"),
    )
]


class SimulatedBase:
    """A simulated Base as a process of its own."""

    def __init__(self, *, block_seconds: float = 0.05) -> None:
        command = ["sim.base", "--port", "0", "--block-seconds", str(block_seconds)]
        self._process, ready = prepared.ready(*command)
        self.rpc: str = ready["rpc"]
        self.usdc: str = ready["usdc"]
        self._http = httpx.Client(trust_env=False, timeout=30)
        self._numbers = itertools.count(1)

    def ask(self, method: str, *params: Any) -> Any:
        """Return the result of a method of the node."""
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": list(params)}
        answer = self._http.post(self.rpc, json=body).json()
        assert "error" not in answer, answer
        return answer["result"]

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb."""
        answer = self._http.post(f"{self.rpc}/control", json={"verb": verb, **members}).json()
        assert answer["ok"] is True, answer
        return dict(answer)

    def calm(self) -> None:
        """Switch every fault off, let withheld transactions in and make gas cheap again."""
        for name in self._http.get(f"{self.rpc}/control").json()["faults"]:
            self.control("fault", name=name, count=0)
        self.control("lag", blocks=0)
        self.control("base_fee", amount="1000000")
        self.control("release")

    def usdc_of(self, address: str) -> int:
        """Return what an address holds, in atomic units."""
        return int(self.ask("eth_call", {"to": self.usdc, "data": call("balanceOf(address)", address)}, "latest"), 16)

    def count_of(self, address: str) -> int:
        """Return how many transactions of an address are in blocks."""
        return int(self.ask("eth_getTransactionCount", address, "latest"), 16)

    def until_mined(self, tx_id: str) -> dict[str, Any]:
        """Wait for a transaction's receipt."""
        outcome: dict[str, Any] = until(lambda: self.ask("eth_getTransactionReceipt", tx_id))
        return outcome

    def stop(self) -> None:
        """End the process."""
        self._http.close()
        self._process.terminate()
        assert self._process.wait(120) == 0


class BasePayer:
    """An account with USDC, and with gas for what it sends itself."""

    def __init__(self, chain: SimulatedBase, *, usdc: int = 10**8) -> None:
        self.chain = chain
        self.account = Account.create()
        self.address: str = self.account.address
        chain.control("fund", address=self.address, amount=str(10**18))
        if usdc:
            chain.control("mint", address=self.address, amount=str(usdc))

    @property
    def usdc(self) -> int:
        """What it holds, in atomic units."""
        return self.chain.usdc_of(self.address)

    def sign(self, kind: str, types: list[dict[str, str]], message: Mapping[str, Any]) -> bytes:
        """Return the account's signature of an EIP-712 message of the asset."""
        domain = {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": self.chain.usdc}
        return bytes(Account.sign_typed_data(self.account.key, domain, {kind: types}, dict(message)).signature)

    def authorize(self, entry: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """Return the proof of an entry, signed; `changes` are made to the authorization before."""
        token = entry["extra"]["payment_reference"]
        message = {
            "from": self.address,
            "to": to_checksum_address(entry["payTo"]),
            "value": int(entry["maxAmountRequired"]),
            "validAfter": 0,
            "validBefore": int(time.time()) + 100_000,
            "nonce": keccak(token.encode()),
            **changes,
        }
        signature = self.sign("TransferWithAuthorization", _TYPES, message)
        members = {name: str(value) if isinstance(value, int) else value for name, value in message.items()}
        members["nonce"] = "0x" + message["nonce"].hex()
        return {"authorization": members, "signature": "0x" + signature.hex(), "challenge_token": token}

    def use(self, proof: Mapping[str, Any]) -> str:
        """Use an authorization, one's own or another's, and return the mined transaction's id."""
        return self.send(self.chain.usdc, use_call(proof))

    def cancel(self, proof: Mapping[str, Any]) -> str:
        """Take an authorization of one's own out of use."""
        nonce = bytes.fromhex(proof["authorization"]["nonce"][2:])
        types = [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]
        signed = self.sign("CancelAuthorization", types, {"authorizer": self.address, "nonce": nonce})
        return self.send(
            self.chain.usdc, call("cancelAuthorization(address,bytes32,bytes)", self.address, nonce, signed)
        )

    def transfer(self, to: str, amount: int) -> str:
        """Send USDC."""
        return self.send(self.chain.usdc, call("transfer(address,uint256)", to, amount))

    def send(self, to: str, data: str) -> str:
        """Send a call from this account and return its id once it is mined."""
        nonce = int(self.chain.ask("eth_getTransactionCount", self.address, "pending"), 16)
        tx_id = self.submit(to, data, nonce=nonce)
        assert self.chain.until_mined(tx_id)["status"] == "0x1"
        return tx_id

    def submit(self, to: str, data: str, *, nonce: int) -> str:
        """Hand a call from this account to the node and return its id."""
        transaction = self.account.sign_transaction(
            {
                "type": 2,
                "chainId": 8453,
                "nonce": nonce,
                "to": to_checksum_address(to),
                "data": data,
                "value": 0,
                "gas": 300_000,
                "maxFeePerGas": 10**9,
                "maxPriorityFeePerGas": 10_000_000,
            }
        )
        tx_id: str = self.chain.ask("eth_sendRawTransaction", "0x" + bytes(transaction.raw_transaction).hex())
        return tx_id


def call(signature: str, *arguments: Any) -> str:
    """Return call data of a function named with its types."""
    types = signature[signature.index("(") + 1 : -1].split(",")
    return "0x" + (keccak(signature.encode())[:4] + encode(types, arguments)).hex()


def use_call(proof: Mapping[str, Any]) -> str:
    """Return call data that uses the authorization of a proof."""
    report, signature = proof["authorization"], bytes.fromhex(proof["signature"][2:])
    terms = (report["from"], report["to"], *(int(report[name]) for name in ("value", "validAfter", "validBefore")))
    split = (signature[64], signature[:32], signature[32:64])
    return call(f"transferWithAuthorization({_SPLIT})", *terms, bytes.fromhex(report["nonce"][2:]), *split)


def until(ask: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Return the first answer that is true.

    Raises:
        AssertionError: No answer was true in time.
    """
    deadline = time.monotonic() + seconds
    while (asked_at := time.monotonic()) < deadline:
        match = ask()
        if match:
            return match
        # A question that opens a database takes as long as the old pause. It must not take a processor from the
        # programs whose work is awaited.
        time.sleep(min(max(0.02, 4 * (time.monotonic() - asked_at)), 0.3))
    raise AssertionError("it did not happen in time")


class Settler:
    """The account that a rail settles from, in a file of its own."""

    def __init__(self, chain: SimulatedBase, folder: Path, *, wei: int = 10**18) -> None:
        account = Account.create()
        self.chain = chain
        self.address: str = account.address
        self.file = folder / f"settler-{self.address}"
        self.file.write_text(account.key.hex(), "ascii")
        if wei:
            chain.control("fund", address=self.address, amount=str(wei))


def base_settings(chain: SimulatedBase, settler: Settler, pay_to: str, lanes: str = "base_mainnet") -> dict[str, str]:
    """Return the settings of a rail that offers Base, and that waits long for what is on its way."""
    return {
        "WP_RAIL_LANES": lanes,
        "WP_NODE_BASE_MAINNET": chain.rpc,
        "WP_RAIL_PAYTO_BASE": pay_to,
        "WP_RAIL_SETTLER_KEY_FILE": str(settler.file),
        "WP_CHAIN_POLL_SECONDS": "0.05",
        "WP_RAIL_CONFIRM_WAIT": "20",
        "WP_RAIL_JOIN_WAIT": "30",
    }
