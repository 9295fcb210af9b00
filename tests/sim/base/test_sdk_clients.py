"""Unmodified web3.py against the process: a payment by authorization from its estimate to its events."""

from __future__ import annotations

import itertools
import json
import time
import urllib.request
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import HTTPProvider, Web3
from web3.exceptions import ContractLogicError, TransactionNotFound, Web3RPCError
from web3.logs import DISCARD

from sim.base.token import artefact

MEMBERS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
TYPES = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
WHOLE = f"transferWithAuthorization({','.join(TYPES)},bytes)"
KEYS = itertools.count(1)


class Client:
    """web3.py with a funded account on the running simulator."""

    def __init__(self, node: dict[str, Any]) -> None:
        self.url = node["rpc"]
        self.w3 = Web3(HTTPProvider(self.url, request_kwargs={"timeout": 60}))
        self.usdc: Any = self.w3.eth.contract(address=node["usdc"], abi=artefact()["abi"])
        self.payer = self.account(wei=10**18, usdc=1000)

    def account(self, *, wei: int = 0, usdc: int = 0) -> LocalAccount:
        """Return an account of this run's own."""
        account: LocalAccount = Account.from_key((2**200 + next(KEYS)).to_bytes(32, "big"))
        for verb, amount in (("fund", wei), ("mint", usdc)):
            if amount:
                self.control(verb, address=account.address, amount=str(amount))
        return account

    def control(self, verb: str, **members: Any) -> dict[str, Any]:
        """Carry out a control verb."""
        body = json.dumps({"verb": verb, **members}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/control", body), timeout=60) as answer:
            answer_body: dict[str, Any] = json.loads(answer.read())
        return answer_body

    def authorization(self, to: str, **changes: Any) -> tuple[Any, ...]:
        """Return the arguments of a signed authorization."""
        terms = {"from": self.payer.address, "to": to, "value": 5, "validAfter": 0, "validBefore": 2**40}
        terms |= {"nonce": Web3.keccak(next(KEYS)), **changes}
        domain = {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": self.usdc.address}
        types = {"TransferWithAuthorization": [{"name": n, "type": t} for n, t in zip(MEMBERS, TYPES, strict=True)]}
        signature = Account.sign_typed_data(self.payer.key, domain, types, terms).signature
        return (*terms.values(), bytes(signature))

    def send(self, call: Any, signer: LocalAccount, **members: Any) -> Any:
        """Build, sign and send a contract call the way web3.py does it; return the receipt."""
        count = self.w3.eth.get_transaction_count(signer.address, "pending")
        transaction = call.build_transaction({"from": signer.address, "nonce": count, **members})
        tx_hash = self.w3.eth.send_raw_transaction(signer.sign_transaction(transaction).raw_transaction)
        return self.w3.eth.wait_for_transaction_receipt(tx_hash, timeout=60, poll_latency=0.01)


@pytest.fixture(name="client")
def _client(node: dict[str, Any]) -> Client:
    return Client(node)


def test_the_chain_introduces_itself(client: Client) -> None:
    """Chain id, token, domain: those of the real network."""
    assert (client.w3.is_connected(), client.w3.eth.chain_id, client.w3.net.version) == (True, 8453, "8453")
    assert client.usdc.functions.symbol().call() == "USDC"
    assert client.usdc.functions.DOMAIN_SEPARATOR().call().hex() == (
        "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
    )
    assert client.w3.client_version.startswith("sim-base/")


def test_an_authorization_is_settled_and_found_by_its_nonce(client: Client) -> None:
    """Filled in by web3.py (fees, gas), mined, both events read by it, and found in a search; a replay is refused."""
    relayer, payee = client.account(wei=10**18), client.account()
    terms = client.authorization(payee.address)
    call = client.usdc.get_function_by_signature(WHOLE)(*terms)
    receipt = client.send(call, relayer)
    assert (receipt["status"], receipt["from"], receipt["to"]) == (1, relayer.address, client.usdc.address)
    used = client.usdc.events.AuthorizationUsed().process_receipt(receipt, errors=DISCARD)
    transfer_logs = client.usdc.events.Transfer().process_receipt(receipt, errors=DISCARD)
    assert [dict(one["args"]) for one in used] == [{"authorizer": client.payer.address, "nonce": terms[5]}]
    assert [dict(one["args"]) for one in transfer_logs] == [
        {"from": client.payer.address, "to": payee.address, "value": 5}
    ]
    assert used[0]["logIndex"] + 1 == transfer_logs[0]["logIndex"]
    log_filter = {"authorizer": client.payer.address, "nonce": terms[5]}
    logs = client.usdc.events.AuthorizationUsed().get_logs(from_block=0, argument_filters=log_filter)
    assert [one["transactionHash"] for one in logs] == [receipt["transactionHash"]]
    assert client.usdc.functions.balanceOf(payee.address).call() == 5
    with pytest.raises(ContractLogicError, match="authorization is used or canceled"):
        call.estimate_gas({"from": relayer.address})


def test_a_refusal_keeps_its_reason_and_its_data(client: Client) -> None:
    """A call and an estimate raise with the contract's text; a transaction that reverts is mined as failed."""
    stranger = client.account(wei=10**18)
    call = client.usdc.functions.transfer(client.payer.address, 1)
    for attempt in (call.call, call.estimate_gas):
        with pytest.raises(ContractLogicError, match="ERC20: transfer amount exceeds balance") as error:
            attempt({"from": stranger.address})
        assert str(error.value.data).startswith("0x08c379a0")
    receipt = client.send(call, stranger, gas=100_000)
    assert (receipt["status"], receipt["logs"]) == (0, [])


@pytest.mark.parametrize(
    "fees", [{"gasPrice": 10**9}, {"gasPrice": 10**9, "accessList": []}, {}], ids=["legacy", "access list", "dynamic"]
)
def test_every_type_of_transaction_is_mined(client: Client, fees: dict[str, Any]) -> None:
    """And read back with its type, sender and amount."""
    transaction = {"to": client.account().address, "value": 7, "gas": 21_000, "chainId": 8453, **fees}
    if not fees:
        transaction |= {
            "maxFeePerGas": client.w3.eth.gas_price * 2,
            "maxPriorityFeePerGas": client.w3.eth.max_priority_fee,
        }
    transaction["nonce"] = client.w3.eth.get_transaction_count(client.payer.address)
    tx_hash = client.w3.eth.send_raw_transaction(client.payer.sign_transaction(transaction).raw_transaction)
    receipt = client.w3.eth.wait_for_transaction_receipt(tx_hash, timeout=60, poll_latency=0.01)
    read = client.w3.eth.get_transaction(tx_hash)
    kind = 2 if not fees else len(fees) - 1
    assert (receipt["status"], receipt["type"], read["type"], read["value"]) == (1, kind, kind, 7)
    assert (read["from"], receipt["gasUsed"]) == (client.payer.address, 21_000)
    block = client.w3.eth.get_block(receipt["blockNumber"], full_transactions=True)
    assert list(block["transactions"]).count(read) == 1


def test_a_contract_is_created(client: Client) -> None:
    """Our own token, a second time, at the address its receipt names; it is not the one that is planted."""
    contract = artefact()
    factory = client.w3.eth.contract(abi=contract["abi"], bytecode=contract["bytecode"])
    receipt = client.send(factory.constructor(), client.payer)
    copy: Any = client.w3.eth.contract(address=receipt["contractAddress"], abi=contract["abi"])
    assert (receipt["status"], copy.functions.initialized().call()) == (1, False)
    assert client.w3.eth.get_code(copy.address) == client.w3.eth.get_code(client.usdc.address)


def test_what_is_not_there_raises_what_web3_raises(client: Client) -> None:
    """Unknown transactions, methods that the node lacks, wei that the sender lacks."""
    for look in (client.w3.eth.get_transaction, client.w3.eth.get_transaction_receipt):
        with pytest.raises(TransactionNotFound):
            look(Web3.keccak(b"nothing"))
    with pytest.raises(Web3RPCError, match="does not exist"):
        client.w3.eth.sign(client.payer.address, text="x")
    poor = client.account()
    raw = poor.sign_transaction(
        {"to": poor.address, "value": 1, "gas": 21_000, "gasPrice": 10**9, "nonce": 0, "chainId": 8453}
    )
    with pytest.raises(Web3RPCError, match="insufficient funds"):
        client.w3.eth.send_raw_transaction(raw.raw_transaction)


def test_a_reorganisation_takes_a_receipt_away(client: Client) -> None:
    """TransactionNotFound afterwards, and the money is back."""
    client.control("advance", blocks=1000)  # so that there are as many to take back as come while it is counted
    payee = client.account()
    receipt = client.send(client.usdc.functions.transfer(payee.address, 9), client.payer, gas=100_000)
    block = receipt["blockNumber"]
    dropped_hashes: list[str] = []
    for _ in range(20):  # blocks come while it is counted
        depth = client.w3.eth.block_number - block + 1 + min(1000, block - 1)
        dropped_hashes += client.control("reorg", depth=depth)["dropped"]
        if receipt["transactionHash"].to_0x_hex() in dropped_hashes:
            break
    assert receipt["transactionHash"].to_0x_hex() in dropped_hashes
    with pytest.raises(TransactionNotFound):
        client.w3.eth.get_transaction_receipt(receipt["transactionHash"])
    assert client.usdc.functions.balanceOf(payee.address).call() == 0


def test_confirmations_and_finality_come_with_time(client: Client) -> None:
    """Blocks are made by themselves; the final one reaches a block that was the newest."""
    newest = client.w3.eth.get_block("latest")
    until = time.monotonic() + 60
    while client.w3.eth.get_block("finalized")["number"] < newest["number"]:
        assert time.monotonic() < until
        time.sleep(0.02)
    assert client.w3.eth.get_block(newest["number"])["hash"] == newest["hash"]
    assert client.w3.eth.block_number >= newest["number"] + 24
    history = client.w3.eth.fee_history(4, "latest", [50])
    assert (len(history["baseFeePerGas"]), len(history["reward"])) == (5, 4)
