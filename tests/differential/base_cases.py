"""What is done to both Base nodes, and the facts that are compared; each case stands alone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from eth_account import Account
from eth_typing import HexStr
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from sim.base.token import artefact, call_data
from tests.differential.base_nodes import CHAIN, GWEI, USDC, BaseNode, attempt, compared_part, transfer
from tests.differential.comparison import shape

PAYEE = to_checksum_address("0x" + "0b" * 20)
UNKNOWN = HexStr("0x" + "1" * 64)
TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
MEMBERS = ("from", "to", "value", "validAfter", "validBefore", "nonce")
TYPES = ("address", "address", "uint256", "uint256", "uint256", "bytes32")

Case = Callable[[BaseNode], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Add a case under its own name."""
    CASES[function.__name__] = function
    return function


def number(node: BaseNode) -> int:
    return int(node.call("eth_blockNumber"), 16)


def authorization(payer: Any, to: str, nonce: bytes, **changes: Any) -> tuple[list[Any], bytes]:
    """Return the terms of a signed authorization and its signature."""
    terms = {"from": payer.address, "to": to, "value": 5, "validAfter": 0, "validBefore": 2**40, "nonce": nonce}
    terms |= changes
    domain = {"name": "USD Coin", "version": "2", "chainId": CHAIN, "verifyingContract": USDC}
    types = {"TransferWithAuthorization": [{"name": n, "type": t} for n, t in zip(MEMBERS, TYPES, strict=True)]}
    return list(terms.values()), bytes(Account.sign_typed_data(payer.key, domain, types, terms).signature)


@case
def introduction(node: BaseNode) -> dict[str, Any]:
    """Who the node says it is."""
    methods = ("eth_chainId", "net_version", "eth_syncing", "eth_accounts")
    facts = {name: node.call(name) for name in methods}
    numbers = ("eth_blockNumber", "eth_gasPrice", "eth_maxPriorityFeePerGas", "web3_clientVersion")
    return {**facts, **{name: shape(node.call(name)) for name in numbers}}


@case
def blocks(node: BaseNode) -> dict[str, Any]:
    """Blocks by tag, number and hash, with and without transactions, and those that are not there."""
    payer = node.account()
    receipt = node.mine_transaction(payer, value=1)
    block = node.call("eth_getBlockByNumber", receipt["blockNumber"], False)
    assert block == node.call("eth_getBlockByHash", receipt["blockHash"], False)
    assert block["transactions"] == [receipt["transactionHash"]]
    parent = node.call("eth_getBlockByNumber", hex(int(block["number"], 16) - 1), False)
    assert (parent["hash"], parent["timestamp"] <= block["timestamp"]) == (block["parentHash"], True)
    node.mine(30)
    tags = ("earliest", "finalized", "safe", "latest")
    heights = [int(node.call("eth_getBlockByNumber", tag, False)["number"], 16) for tag in tags]
    return {
        "receipts": node.call("eth_getBlockReceipts", receipt["blockNumber"]) == [receipt],
        "count": node.call("eth_getBlockTransactionCountByNumber", receipt["blockNumber"]),
        "count by hash": node.call("eth_getBlockTransactionCountByHash", receipt["blockHash"]),
        "placed": [
            shape(node.call("eth_getTransactionByBlockNumberAndIndex", receipt["blockNumber"], place))
            for place in ("0x0", "0x1")
        ],
        "placed by hash": node.call("eth_getTransactionByBlockHashAndIndex", receipt["blockHash"], "0x0")["hash"]
        == receipt["transactionHash"],
        "no receipts": compared_part(node.ask("eth_getBlockReceipts", hex(10**6))),
        "plain": shape(block),
        "whole": shape(node.call("eth_getBlockByNumber", receipt["blockNumber"], True)),
        "uncles": block["sha3Uncles"],
        "empty": shape(node.call("eth_getBlockByNumber", "latest", False)),
        "earliest": heights[0],
        "in order": heights == sorted(heights) and len(set(heights)) == 4,
        "unknown number": compared_part(node.ask("eth_getBlockByNumber", hex(10**6), False)),
        "unknown hash": compared_part(node.ask("eth_getBlockByHash", UNKNOWN, False)),
        "digest": node.call("web3_sha3", "0x1234"),
        "unknown tag": compared_part(node.ask("eth_getBlockByNumber", "newest", False)),
    }


@case
def payment(node: BaseNode) -> dict[str, Any]:
    """An authorization from estimate to receipt, by web3.py: values, events, shapes."""
    payer, relayer = node.account(usdc=10), node.account()
    terms, signature = authorization(payer, PAYEE, b"\1" * 32)
    use = node.usdc.get_function_by_signature(f"transferWithAuthorization({','.join(TYPES)},bytes)")
    count = node.w3.eth.get_transaction_count(relayer.address)
    built_transaction = use(*terms, signature).build_transaction({"from": relayer.address, "nonce": count})
    tx_hash = node.w3.eth.send_raw_transaction(relayer.sign_transaction(built_transaction).raw_transaction)
    pending_transaction = node.call("eth_getTransactionByHash", tx_hash.to_0x_hex())
    assert node.call("eth_getTransactionReceipt", tx_hash.to_0x_hex()) is None
    node.mine()
    receipt = node.call("eth_getTransactionReceipt", tx_hash.to_0x_hex())
    transaction = node.call("eth_getTransactionByHash", tx_hash.to_0x_hex())
    read = node.w3.eth.get_transaction_receipt(tx_hash)
    assert (read["status"], node.usdc.functions.balanceOf(PAYEE).call() >= 5) == (1, True)
    used, estimate = int(receipt["gasUsed"], 16), int(built_transaction["gas"])
    places = ("transactionHash", "blockHash", "blockNumber", "transactionIndex")
    assert [receipt[name] for name in places[1:]] == [transaction[name] for name in places[1:]]
    return {
        "hash": receipt["transactionHash"] == tx_hash.to_0x_hex() == transaction["hash"],
        "status": receipt["status"],
        "type": receipt["type"],
        "from": receipt["from"],
        "to": receipt["to"],
        "events": [{name: one[name] for name in ("address", "topics", "data", "removed")} for one in receipt["logs"]],
        "bloom": receipt["logsBloom"],
        "index": [one["logIndex"] for one in receipt["logs"]],
        "enough gas": used <= estimate,
        "not twice": estimate <= 2 * used,
        "gas within a third": 57_000 <= used <= 100_000,
        "receipt": shape(receipt),
        "transaction": shape(transaction),
        "waiting": shape(pending_transaction),
        "input": transaction["input"],
        "replay": attempt(lambda: use(*terms, signature).call({"from": relayer.address})),
        "replay raw": compared_part(
            node.ask("eth_call", {"from": relayer.address, "to": USDC, "data": built_transaction["data"]}, "latest")
        ),
    }


@case
def failed_payment(node: BaseNode) -> dict[str, Any]:
    """A transaction that reverts is mined, costs gas and tells nothing."""
    payer = node.account()
    receipt = node.mine_transaction(payer, **transfer(PAYEE, 10))
    price = int(receipt["effectiveGasPrice"], 16) * int(receipt["gasUsed"], 16)
    balance = int(node.call("eth_getBalance", payer.address, "latest"), 16)
    assert balance == 10**18 - price
    return {"status": receipt["status"], "logs": receipt["logs"], "bloom": receipt["logsBloom"]}


@case
def transaction_types(node: BaseNode) -> dict[str, Any]:
    """Legacy, access list and dynamic fee: taken, and read back."""
    access_list = [{"address": USDC, "storageKeys": ["0x" + "0" * 63 + "5"]}]
    kinds: dict[str, dict[str, Any]] = {
        "legacy": {"gasPrice": 10 * GWEI},
        "access list": {"gasPrice": 10 * GWEI, "accessList": access_list, "type": 1},
        "dynamic": {"accessList": access_list},
    }
    facts = {}
    for name, members in kinds.items():
        payer = node.account()
        receipt = node.mine_transaction(payer, value=3, to=PAYEE, **members)
        read = node.call("eth_getTransactionByHash", receipt["transactionHash"])
        fields = ("type", "nonce", "value", "gas", "chainId", "v", "r", "s", "accessList", "maxFeePerGas", "yParity")
        facts[name] = {
            "values": {key: read.get(key) for key in fields},
            "used": receipt["gasUsed"],
            "shape": shape(read),
            "receipt": shape(receipt),
        }
    return facts


@case
def creation(node: BaseNode) -> dict[str, Any]:
    """A contract is created at the address that follows from its sender; one that fails is not there."""
    payer = node.account()
    code = bytes.fromhex("6007600a5f3960075ff3") + bytes.fromhex("365f5f37365ffd")
    answer_data = node.call("eth_call", {"from": payer.address, "data": "0x" + code.hex()}, "latest")
    good = node.mine_transaction(payer, to="", data=code)
    bad = node.mine_transaction(payer, to="", data=b"\xfe")
    return {
        "asked": answer_data,
        "address": good["contractAddress"],
        "to": good["to"],
        "status": [good["status"], bad["status"]],
        "code": node.call("eth_getCode", good["contractAddress"], "latest"),
        "bad": bad["contractAddress"],
        "bad gas": bad["gasUsed"],
        "count": node.call("eth_getTransactionCount", good["contractAddress"], "latest"),
    }


@case
def events(node: BaseNode) -> dict[str, Any]:
    """Searches by blocks, address and topics, and searches that are malformed."""
    payer = node.account(usdc=10)
    first = number(node) + 1
    for amount in (1, 2, 3):
        node.mine_transaction(payer, **transfer(PAYEE, amount))
    to, sender = ("0x" + "0" * 24 + one[2:].lower() for one in (PAYEE, payer.address))
    block = node.call("eth_getBlockByNumber", hex(first), False)
    filters: dict[str, dict[str, Any]] = {
        "all": {},
        "one block": {"fromBlock": hex(first + 1), "toBlock": hex(first + 1)},
        "by hash": {"blockHash": block["hash"], "fromBlock": None, "toBlock": None},
        "address": {"address": USDC.lower()},
        "addresses": {"address": [PAYEE, USDC]},
        "no address": {"address": PAYEE},
        "topic": {"topics": [TRANSFER]},
        "alternatives": {"topics": [[UNKNOWN, TRANSFER], sender]},
        "gap": {"topics": [None, None, to]},
        "empty": {"topics": []},
        "wrong place": {"topics": [TRANSFER, to]},
        "four": {"topics": [TRANSFER, None, None, None]},
        "to the future": {"toBlock": hex(first + 1000)},
        "backwards": {"fromBlock": hex(first + 2), "toBlock": hex(first)},
        "unknown block": {"blockHash": UNKNOWN, "fromBlock": None, "toBlock": None},
        "bad address": {"address": "0x12"},
        "bad topic": {"topics": ["0x12"]},
        "bad topics": {"topics": TRANSFER},
        "five": {"topics": [None] * 5},
        "both": {"blockHash": block["hash"]},
    }
    facts: dict[str, Any] = {}
    for name, members in filters.items():
        log_filter = {"fromBlock": hex(first), "toBlock": "latest", **members}
        answer = node.ask("eth_getLogs", {key: value for key, value in log_filter.items() if value is not None})
        logs = answer.get("result")
        facts[name] = compared_part(answer) if logs is None else [int(one["data"], 16) for one in logs]
    log = node.call("eth_getLogs", {"fromBlock": hex(first), "toBlock": hex(first)})[0]
    return {**facts, "shape": shape(log)}


@case
def states(node: BaseNode) -> dict[str, Any]:
    """Money, counts, code and storage: now, before, by hash, and of blocks that are not there."""
    payer, start = node.account(usdc=100), number(node)
    balances = {"to": USDC, "data": "0x" + call_data("balanceOf(address)", payer.address).hex()}
    for _ in range(3):
        node.mine_transaction(payer, **transfer(PAYEE, 10))
    block = node.call("eth_getBlockByNumber", hex(start + 1), False)
    node.send_transaction(payer)
    return {
        "held": [int(node.call("eth_call", balances, hex(start + one)), 16) for one in range(4)],
        "by hash": int(node.call("eth_call", balances, {"blockHash": block["hash"]}), 16),
        "by number": int(node.call("eth_call", balances, {"blockNumber": block["number"]}), 16),
        "counts": [node.call("eth_getTransactionCount", payer.address, hex(start + one)) for one in range(4)],
        "pending": node.call("eth_getTransactionCount", payer.address, "pending"),
        "latest": node.call("eth_getTransactionCount", payer.address, "latest"),
        "earliest": node.call("eth_getBalance", payer.address, "earliest"),
        "no code": node.call("eth_getCode", PAYEE, "latest"),
        "code": node.call("eth_getCode", USDC, "latest") == artefact()["deployedBytecode"],
        "storage": node.call("eth_getStorageAt", USDC, "0x3", "latest")[:2],
        "no storage": node.call("eth_getStorageAt", PAYEE, "0x0", "latest"),
        "future": compared_part(node.ask("eth_getBalance", PAYEE, hex(10**6))),
        "unknown hash": compared_part(node.ask("eth_getBalance", PAYEE, {"blockHash": UNKNOWN})),
        "bad address": compared_part(node.ask("eth_getBalance", "0x12", "latest")),
        "bad tag": compared_part(node.ask("eth_getBalance", PAYEE, "newest")),
        "no parameters": compared_part(node.ask("eth_getBalance")),
        "no tag": compared_part(node.ask("eth_getBalance", PAYEE)),
        "object": compared_part(node.ask("eth_getBalance", {}, "latest")),
        "bad hash": compared_part(node.ask("eth_getTransactionReceipt", "0x12")),
        "no receipt": compared_part(node.ask("eth_getTransactionReceipt", UNKNOWN)),
        "no transaction": compared_part(node.ask("eth_getTransactionByHash", UNKNOWN)),
    }


@case
def gaps(node: BaseNode) -> dict[str, Any]:
    """A later count waits until the gap is filled; then both are mined in order."""
    payer = node.account()
    later = node.send_transaction(payer, nonce=1)
    node.mine()
    pending_transaction = node.call("eth_getTransactionByHash", later)
    pending_count = node.call("eth_getTransactionCount", payer.address, "pending")
    first = node.send_transaction(payer, nonce=0)
    node.mine()
    receipts = [node.call("eth_getTransactionReceipt", one) for one in (first, later)]
    return {
        "waiting": [pending_transaction["blockHash"], node.call("eth_getTransactionCount", payer.address, "pending")],
        "pending": pending_count,
        "status": [one["status"] for one in receipts],
        "places": [one["transactionIndex"] for one in receipts],
    }


@case
def reorganisation(node: BaseNode) -> dict[str, Any]:
    """Blocks, receipts, events and money of dropped blocks are gone, and what was dropped can be sent again."""
    payer = node.account(usdc=100)
    node.mine()
    head = number(node)
    raw = node.sign_transaction(payer, **transfer(PAYEE, 10))
    tx_id = node.call("eth_sendRawTransaction", raw)
    node.mine()
    node.mine()
    old = node.call("eth_getBlockByNumber", hex(head + 1), False)
    node.control("reorg", depth=2)
    new = node.call("eth_getBlockByNumber", hex(head + 1), False)
    facts = {
        "height": number(node) - head,
        "another block": new["hash"] != old["hash"],
        "empty": new["transactions"],
        "old block": compared_part(node.ask("eth_getBlockByHash", old["hash"], False)),
        "receipt": compared_part(node.ask("eth_getTransactionReceipt", tx_id)),
        "events": node.call("eth_getLogs", {"fromBlock": hex(head + 1), "address": USDC}),
        "count": node.call("eth_getTransactionCount", payer.address, "latest"),
        "held": node.usdc.functions.balanceOf(payer.address).call(),
        "web3.py": attempt(lambda: node.w3.eth.get_transaction_receipt(tx_id)),
        "again": compared_part(node.ask("eth_sendRawTransaction", raw)),
    }
    node.mine()
    return {**facts, "status": node.call("eth_getTransactionReceipt", tx_id)["status"]}


@case
def times(node: BaseNode) -> dict[str, Any]:
    """Seconds that pass in the chain only, seen by its blocks and by its code."""

    def now() -> int:
        return int(node.call("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    clock = {"to": "0x" + "c" * 40}
    node.call("anvil_setCode", clock["to"], "0x425f5260205ff3")
    node.mine()
    before = now()
    node.control("advance", seconds=1000)
    after = now()
    node.mine()
    return {
        "advanced": 1000 <= after - before < 1300,
        "seen": int(node.call("eth_call", clock, "latest"), 16) == now(),
        "stays": 0 <= now() - after < 300,
    }


def _complete_history(node: BaseNode, blocks: int) -> dict[str, Any]:
    """Return the fees of the newest blocks; Anvil 1.7.1 adds a block to them only after it has mined it (#13680)."""
    ends = time.monotonic() + 30
    while True:
        history: dict[str, Any] = node.call("eth_feeHistory", hex(blocks), "latest", [25.0, 75.0])
        if len(history["gasUsedRatio"]) == blocks or time.monotonic() > ends:
            return history
        time.sleep(0.02)


@case
def fees(node: BaseNode) -> dict[str, Any]:
    """What history and advice look like."""
    node.mine(3)
    history = _complete_history(node, 2)
    plain = node.call("eth_feeHistory", "0x2", "latest", [])
    return {
        "shape": {name: shape(one) for name, one in history.items()},
        "sizes": {name: len(one) for name, one in history.items() if isinstance(one, list)},
        "without percentiles": sorted(plain),
    }


def _draw_act(rng: random.Random, payer: Any, people: list[Any], nonces: list[bytes]) -> bytes:
    """Return call data of one act on the token, honest or not; authorizations come back now and then."""
    other_address, amount = rng.choice(people).address, rng.choice([0, 1, 5, 40, 60, 10**6])
    kind = rng.randrange(6)
    if kind < 2:
        return call_data("transfer(address,uint256)", other_address, amount)
    if kind == 2:
        return call_data("approve(address,uint256)", other_address, amount)
    if kind == 3:
        return call_data("transferFrom(address,address,uint256)", other_address, payer.address, amount)
    if kind == 4 and nonces:
        return rng.choice(nonces)
    window = rng.choice([{}, {}, {}, {"validBefore": 5}, {"validAfter": 2**39}])
    terms, signature = authorization(rng.choice(people), other_address, rng.randbytes(32), value=amount, **window)
    if rng.random() < 0.2:
        terms[2] += 1
    nonces.append(call_data(f"transferWithAuthorization({','.join(TYPES)},bytes)", *terms, signature))
    return nonces[-1]


@case
def walk(node: BaseNode) -> dict[str, Any]:
    """Twenty-five blocks of drawn acts: the outcome, events and balances of each are the same on both."""
    rng, people, nonces = random.Random(3009), [node.account(usdc=100) for _ in range(3)], []  # type: ignore[var-annotated]
    facts: dict[str, Any] = {}
    for number_of in range(25):
        payer = rng.choice(people)
        acts = [_draw_act(rng, payer, people, nonces) for _ in range(rng.choice([1, 1, 2, 4]))]
        tx_ids = [node.send_transaction(payer, to=USDC, data="0x" + act.hex()) for act in acts]
        node.mine()
        receipts = [node.call("eth_getTransactionReceipt", one) for one in tx_ids]
        facts[f"block {number_of}"] = {
            "done": [(one["status"], one["transactionIndex"]) for one in receipts],
            "events": [[(log["topics"], log["data"], log["logIndex"]) for log in one["logs"]] for one in receipts],
            "held": [node.usdc.functions.balanceOf(one.address).call() for one in people],
        }
    good = sum(one["done"].count(("0x1", place)) for one in facts.values() for place in ("0x0", "0x1", "0x2", "0x3"))
    assert 10 <= good <= 40
    return {**facts, "counts": [node.call("eth_getTransactionCount", one.address, "latest") for one in people]}
