"""What both Base nodes refuse: calls, transactions, replacements, bodies, and control calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import rlp
from eth_abi.abi import encode
from eth_typing import HexStr
from eth_utils.crypto import keccak
from web3 import Web3

from tests.differential.base_cases import PAYEE, UNKNOWN, Case
from tests.differential.base_nodes import GWEI, USDC, BaseNode, attempt, compared_part, transfer

SHOUT = "0x365f5f37365ffd"  # reverts with its call data
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
REFUSALS: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Add a case under its own name."""
    REFUSALS[function.__name__] = function
    return function


@case
def refused_calls(node: BaseNode) -> dict[str, Any]:
    """Reverts with their data, halts with their reason, by eth_call and eth_estimateGas, and what web3.py raises."""
    payer, facts = node.account(), {}
    codes = {"fe": "invalid", "0c": "unknown", "5b5f56": "endless", "01": "underflow", "600a56": "jump"}
    places = {name: "0x" + f"{place + 0x1000:040x}" for place, name in enumerate(codes.values())}
    for code, name in codes.items():
        node.call("anvil_setCode", places[name], "0x" + code)
    node.call("anvil_setCode", "0x" + "7" * 40, SHOUT)
    own_error = keccak(b"Refused(uint256)")[:4] + encode(["uint256"], [7])
    calls: dict[str, dict[str, Any]] = {
        "reason": transfer(PAYEE, 10),
        "silence": {"to": "0x" + "7" * 40},
        "own error": {"to": "0x" + "7" * 40, "data": "0x" + own_error.hex()},
        "panic": {"to": "0x" + "7" * 40, "data": "0x" + (keccak(b"Panic(uint256)")[:4] + bytes(31) + b"\x11").hex()},
        "no function": {"to": USDC, "data": "0x12345678"},
        "too little gas": {"to": PAYEE, "gas": "0x1"},
        "no wei": {"to": PAYEE, "value": hex(10**19)},
        "from a contract": {"from": USDC, "to": PAYEE},
        "nobody": {"from": "0x" + "5" * 40, "to": PAYEE},
        "bad data": {"to": USDC, "data": "0x1"},
        "bad to": {"to": "0x12"},
        "data and input": {"to": USDC, "data": "0x", "input": "0x12345678"},
        **{name: {"to": place, "gas": "0x186a0"} for name, place in places.items()},
    }
    for name, members in calls.items():
        transaction = {"from": payer.address, **members}
        facts[name] = {
            method: compared_part(node.ask(method, transaction, "latest")) for method in ("eth_call", "eth_estimateGas")
        }
    facts["web3.py"] = {
        "reason": attempt(lambda: node.usdc.functions.transfer(PAYEE, 10).call({"from": payer.address})),
        "estimate": attempt(lambda: node.usdc.functions.transfer(PAYEE, 10).estimate_gas({"from": payer.address})),
        "own error": attempt(
            lambda: node.w3.eth.call({"to": Web3.to_checksum_address("0x" + "7" * 40), "data": own_error})
        ),
        "halt": attempt(lambda: node.w3.eth.call({"to": Web3.to_checksum_address(places["invalid"])})),
        "no transaction": attempt(lambda: node.w3.eth.get_transaction(UNKNOWN)),
        "no receipt": attempt(lambda: node.w3.eth.get_transaction_receipt(UNKNOWN)),
        "no block": attempt(lambda: node.w3.eth.get_block(10**6)),
    }
    return facts


def rewritten(raw: str, place: int, value: Any) -> str:
    """Return a dynamic fee transaction with one field replaced."""
    fields: list[Any] = rlp.decode(bytes.fromhex(raw[4:]))
    fields[place] = value(fields[place]) if callable(value) else value
    return "0x02" + bytes(rlp.encode(fields)).hex()


def twin(raw: str) -> str:
    """Return a transaction with the curve's other signature: s above half of the order."""
    twin_transaction = rewritten(
        raw, 11, lambda s: (ORDER - int.from_bytes(s, "big")).to_bytes(32, "big").lstrip(b"\0")
    )
    return rewritten(twin_transaction, 9, lambda parity: b"" if parity else b"\1")


UNPROTECTED_TRANSACTION: dict[str, Any] = {"nonce": 0, "gas": 21_000, "gasPrice": 10 * GWEI, "to": PAYEE, "value": 0}
ATTEMPTS: dict[str, Callable[[BaseNode, Any], str]] = {
    "other chain": lambda node, payer: node.sign_transaction(payer, chainId=1),
    "little gas": lambda node, payer: node.sign_transaction(payer, gas=20_999),
    "much gas": lambda node, payer: node.sign_transaction(payer, gas=10**9),
    "no money": lambda node, payer: node.sign_transaction(payer, value=10**19),
    "tip above fee": lambda node, payer: node.sign_transaction(payer, maxFeePerGas=GWEI, maxPriorityFeePerGas=2 * GWEI),
    "long creation": lambda node, payer: node.sign_transaction(payer, to="", data=b"\0" * 49_153, gas=5_000_000),
    "nothing": lambda *_: "0x",
    "no hex": lambda *_: "hello",
    "no type": lambda *_: "0x05c0",
    "fields": lambda *_: "0x02c0",
    "cut off": lambda node, payer: node.sign_transaction(payer)[:-2],
    "one byte more": lambda node, payer: node.sign_transaction(payer) + "00",
    "high s": lambda node, payer: twin(node.sign_transaction(payer)),
    "no signature": lambda node, payer: rewritten(node.sign_transaction(payer), 10, b""),
    "leading zero": lambda node, payer: rewritten(node.sign_transaction(payer), 1, b"\0\1"),
    "access list is text": lambda node, payer: rewritten(node.sign_transaction(payer), 8, b""),
    "unprotected": lambda _, payer: "0x" + bytes(payer.sign_transaction(UNPROTECTED_TRANSACTION).raw_transaction).hex(),
}


@case
def refused_transactions(node: BaseNode) -> dict[str, Any]:
    """Everything a node refuses before it waits for a block, and that it leaves no trace."""
    facts = {}
    for name, make in ATTEMPTS.items():
        payer = node.account()
        facts[name] = compared_part(node.ask("eth_sendRawTransaction", make(node, payer)))
        facts[name]["trace"] = node.call("eth_getTransactionCount", payer.address, "pending")
    poor = node.account(wei=0)
    facts["web3.py"] = attempt(lambda: node.w3.eth.send_raw_transaction(HexStr(node.sign_transaction(poor))))
    node.mine()
    return facts


@case
def replacements(node: BaseNode) -> dict[str, Any]:
    """The same again, one that pays too little more, one that pays enough, and a count that is used."""
    payer = node.account()
    good = node.sign_transaction(payer)
    cheap = node.sign_transaction(payer, value=1, maxFeePerGas=10 * GWEI + 1, maxPriorityFeePerGas=GWEI + 1)
    dear = node.sign_transaction(payer, value=1, maxFeePerGas=12 * GWEI, maxPriorityFeePerGas=2 * GWEI)
    facts = {
        "good": compared_part(node.ask("eth_sendRawTransaction", good)),
        "again": compared_part(node.ask("eth_sendRawTransaction", good)),
        "underpriced": compared_part(node.ask("eth_sendRawTransaction", cheap)),
        "replaced": compared_part(node.ask("eth_sendRawTransaction", dear)),
        "old": compared_part(node.ask("eth_getTransactionByHash", Web3.keccak(hexstr=good).to_0x_hex())),
    }
    node.mine()
    return {
        **facts,
        "mined again": compared_part(node.ask("eth_sendRawTransaction", dear)),
        "used count": compared_part(node.ask("eth_sendRawTransaction", node.sign_transaction(payer, nonce=0, value=2))),
        "after": node.call("eth_getTransactionCount", payer.address, "latest"),
        "status": node.call("eth_getTransactionReceipt", Web3.keccak(hexstr=dear).to_0x_hex())["status"],
    }


@case
def protocol(node: BaseNode) -> dict[str, Any]:
    """Bodies that are no call, and calls that are malformed."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
    bodies = {
        "no json": b"{",
        "a number": b"7",
        "empty batch": b"[]",
        "no method": b'{"jsonrpc":"2.0","id":1}',
        "bad method": b'{"jsonrpc":"2.0","id":1,"method":7}',
        "unknown method": b'{"jsonrpc":"2.0","id":1,"method":"eth_nothing","params":[]}',
        "no parameters": b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
        "text id": call.replace(b'"id":1', b'"id":"a"'),
        "batch": b"[" + call + b"," + call.replace(b'"id":1', b'"id":2') + b"]",
        "notification": call.replace(b'"id":1,', b""),
    }
    facts = {}
    for name, body in bodies.items():
        answer = node.post(body)
        several = answer if isinstance(answer, list) else [answer]
        facts[name] = [
            {
                "id": transaction.get("id"),
                "result": transaction.get("result"),
                "code": transaction.get("error", {}).get("code"),
            }
            if isinstance(transaction, dict)
            else transaction
            for transaction in several
        ]
    return facts


# What Ethereum's JSON-RPC has beyond what the simulator's clients call, each with parameters that it takes.
METHODS: dict[str, list[Any]] = {
    "eth_getBlockReceipts": ["latest"],
    "eth_getBlockTransactionCountByHash": [UNKNOWN],
    "eth_getBlockTransactionCountByNumber": ["latest"],
    "eth_getTransactionByBlockHashAndIndex": [UNKNOWN, "0x0"],
    "eth_getTransactionByBlockNumberAndIndex": ["latest", "0x0"],
    "eth_getUncleCountByBlockNumber": ["latest"],
    "eth_getProof": [PAYEE, [], "latest"],
    "eth_createAccessList": [{"to": PAYEE}, "latest"],
    "eth_simulateV1": [{"blockStateCalls": []}, "latest"],
    "eth_newFilter": [{}],
    "eth_newBlockFilter": [],
    "eth_blobBaseFee": [],
    "eth_coinbase": [],
    "net_listening": [],
    "web3_sha3": ["0x"],
    "debug_traceTransaction": [UNKNOWN],
    "txpool_status": [],
    "eth_protocolVersion": [],
}


@case
def methods(node: BaseNode) -> dict[str, Any]:
    """Which methods the node knows."""
    answers = {name: node.ask(name, *params) for name, params in METHODS.items()}
    return {name: one.get("error", {}).get("code") != -32601 for name, one in answers.items()}


CONTROL_CALLS: dict[str, Any] = {
    "nothing": None,
    "no verb": {},
    "unknown verb": {"verb": "dance"},
    "verb is a number": {"verb": 7},
    "fund without an address": {"verb": "fund", "amount": "1"},
    "fund no address": {"verb": "fund", "address": "x", "amount": "1"},
    "fund a number": {"verb": "fund", "address": PAYEE, "amount": 1},
    "fund less than nothing": {"verb": "fund", "address": PAYEE, "amount": "-1"},
    "fund far too much": {"verb": "fund", "address": PAYEE, "amount": str(2**200)},
    "mint far too much": {"verb": "mint", "address": PAYEE, "amount": str(2**65)},
    "mint nothing": {"verb": "mint", "address": PAYEE, "amount": "0"},
    "mint another": {"verb": "mint", "address": PAYEE, "amount": "1", "asset": PAYEE},
    "mint on the black list": {"verb": "mint", "address": USDC, "amount": "1"},
    "advance by nothing": {"verb": "advance"},
    "advance by both": {"verb": "advance", "blocks": 1, "seconds": 1},
    "advance back": {"verb": "advance", "blocks": -1},
    "advance for ever": {"verb": "advance", "blocks": 10**9},
    "time without end": {"verb": "block_time_offset", "seconds": 10**15},
    "time is text": {"verb": "block_time_offset", "seconds": "1"},
    "no reorganisation": {"verb": "reorg", "depth": 0},
    "too deep a reorganisation": {"verb": "reorg", "depth": 10**6},
    "unknown snapshot": {"verb": "restore", "id": 10**6},
    "lag": {"verb": "lag", "blocks": 0},
    "fault": {"verb": "fault", "name": "hang", "count": 0},
    "base fee": {"verb": "base_fee", "amount": "1000000"},
    "release": {"verb": "release"},
}


@case
def control_calls(node: BaseNode) -> dict[str, Any]:
    """The control form of specification 9.1: what is refused is 400 with a reason, and what is done adds up."""
    facts: dict[str, Any] = {}
    for name, wanted_status in CONTROL_CALLS.items():
        status, body = node.steer(json.dumps(wanted_status).encode())
        assert (status, body["ok"]) in ((200, True), (400, False))
        assert body["ok"] or body["error"]
        facts[name] = status
    owner = node.account(wei=0).address
    for _ in range(2):
        node.control("fund", address=owner, amount="7")
        node.control("mint", address=owner.lower(), amount="3", asset=USDC)
    height = int(node.call("eth_blockNumber"), 16)
    snapshot_id = node.control("snapshot")["id"]
    node.control("advance", blocks=3)
    assert int(node.call("eth_blockNumber"), 16) >= height + 3
    node.control("mint", address=owner, amount="3")
    balances = [node.usdc.functions.balanceOf(owner).call()]
    for _ in range(2):
        node.control("restore", id=snapshot_id)
        balances.append(node.usdc.functions.balanceOf(owner).call())
    return {**facts, "wei": node.call("eth_getBalance", owner, "latest"), "held": balances}
