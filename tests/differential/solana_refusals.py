"""What both Solana nodes refuse or lack: transactions, bodies, methods, and control calls."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from tests.differential.solana_cases import AT_CONFIRMED, NOBODY, Case, lamports, usdc_balance
from tests.differential.solana_nodes import SECONDS, USDC, SolanaNode, compared_part, make_account, pay

BY_SDK = ("replay", "bad signature", "unknown blockhash", "token overdraft")
HISTORY = {"searchTransactionHistory": True}
REFUSALS: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Add a case under its own name."""
    REFUSALS[function.__name__] = function
    return function


@case
def refused_transactions(node: SolanaNode) -> dict[str, Any]:
    """Everything that is refused before it lands, by sending, by simulating, and by solana-py."""
    payer, poor, to = node.fund_key(usdc=100), node.key(), Pubkey.from_string(NOBODY)
    new, stranger = node.key().pubkey(), node.key().pubkey()
    owner, good = payer.pubkey(), node.sign_transaction([lamports(payer, to, 890_880)], payer)
    node.until(node.send(good)["result"], "confirmed")
    creation, stale = make_account(owner, to), Hash.from_bytes(bytes([8]) * 32)
    attempts: dict[str, Callable[[], str]] = {
        "replay": lambda: good,
        "one byte more": lambda: base64.b64encode(base64.b64decode(good) + b"\0").decode(),
        "cut off": lambda: base64.b64encode(base64.b64decode(good)[:-1]).decode(),
        "bad signature": lambda: spoil_signature(node.sign_transaction([lamports(payer, to, 890_881)], payer)),
        "unknown blockhash": lambda: node.sign_transaction([lamports(payer, to, 890_882)], payer, recent=stale),
        "no account": lambda: node.sign_transaction([lamports(poor, to, 890_883)], poor),
        "too much": lambda: node.sign_transaction([lamports(payer, to, 10**15)], payer),
        "too little for rent": lambda: node.sign_transaction([lamports(payer, new, 5)], payer),
        "token overdraft": lambda: node.sign_transaction([creation, pay(owner, to, 101)], payer),
        "wrong decimals": lambda: node.sign_transaction([creation, pay(owner, to, 1, decimals=5)], payer),
        "no token account": lambda: node.sign_transaction([pay(owner, stranger, 1)], payer),
        "no base64": lambda: "!",
        "nothing": lambda: "",
        "no transaction": lambda: base64.b64encode(b"\1" * 40).decode(),
        "too long": lambda: base64.b64encode(b"\1" * 1300).decode(),
    }
    facts = {name: _refused_in_time(node, name, make) for name, make in attempts.items()}
    facts["bad encoding"] = compared_part(node.ask("sendTransaction", good, {"encoding": "morse"}))
    facts["default encoding"] = compared_part(node.ask("sendTransaction", "l0l0"))
    return facts


def spoil_signature(transaction: str) -> str:
    """Return a transaction with an invalid signature."""
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    damaged_transaction = VersionedTransaction.populate(message, [Signature.from_bytes(bytes([7]) * 64)])
    return base64.b64encode(bytes(damaged_transaction)).decode()


def _refused_in_time(node: SolanaNode, name: str, make: Callable[[], str]) -> dict[str, Any]:
    """Try a transaction right after it is made; again after a delay of the machine: it is valid for four seconds."""
    for _ in range(20):
        facts = _collect_refusal(node, make(), by_sdk=name in BY_SDK)
        if name == "unknown blockhash" or "blockhashnotfound" not in str(facts).lower().replace(" ", ""):
            break
    return facts


def _collect_refusal(node: SolanaNode, raw: str, *, by_sdk: bool) -> dict[str, Any]:
    simulation = node.ask("simulateTransaction", raw, {"encoding": "base64", "sigVerify": True, **AT_CONFIRMED})
    value = simulation.get("result", {}).get("value", {})
    facts = {
        "sent": compared_part(node.send(raw)),
        "simulated": {"err": value.get("err")} if value else compared_part(simulation),
    }
    if by_sdk:
        facts["solana-py"] = node.attempt(lambda client: client.send_raw_transaction(base64.b64decode(raw)))
    return facts


@case
def lapsed_blockhash(node: SolanaNode) -> dict[str, Any]:
    """A transaction that is sent after the last block height at which its blockhash is valid, after one in time."""
    payer, to = node.fund_key(), Pubkey.from_string(NOBODY)
    latest = node.call("getLatestBlockhash", AT_CONFIRMED)
    recent = Hash.from_string(latest["blockhash"])
    early, late = (
        node.sign_transaction([lamports(payer, to, amount)], payer, recent=recent) for amount in (890_880, 890_881)
    )
    node.until(node.send(early)["result"], "confirmed")
    ends = time.monotonic() + SECONDS
    while node.call("getBlockHeight", AT_CONFIRMED) <= latest["lastValidBlockHeight"]:
        assert time.monotonic() < ends
        # The simulator's blockhashes are valid for a minute, as on a public network; its slots pass on command.
        if node.steer(b'{"verb": "advance", "blocks": 200}')[0] != HTTPStatus.OK:
            time.sleep(0.05)
    signature = node.send(late)
    return {
        "err": signature["error"]["data"]["err"],
        "code": signature["error"]["code"],
        "is valid": node.call("isBlockhashValid", str(recent), AT_CONFIRMED),
        "statuses": [one is not None for one in node.call("getSignatureStatuses", [_id(early), _id(late)], HISTORY)],
    }


def _id(transaction: str) -> str:
    return str(VersionedTransaction.from_bytes(base64.b64decode(transaction)).signatures[0])


@case
def refused_tables(node: SolanaNode) -> dict[str, Any]:
    """Transactions whose lookup tables do not hold what they load: sent, sent without a preflight, and simulated."""
    payer, to = node.fund_key(), Pubkey.from_string(NOBODY)
    _, whole = node.lookup_table(payer, [USDC])
    tables = {
        "missing": AddressLookupTableAccount(Pubkey.from_bytes(bytes([8]) * 32), [to]),
        "no table": AddressLookupTableAccount(USDC, [to]),
        "too short": AddressLookupTableAccount(whole.key, [USDC, to]),
    }
    facts = {}
    for name, table in tables.items():
        raw = node.sign_transaction([lamports(payer, to, 890_880)], payer, tables=[table])
        facts[name] = {
            "sent": compared_part(node.send(raw)),
            "sent without a preflight": compared_part(node.send(raw, skipPreflight=True)),
            "simulated": compared_part(node.ask("simulateTransaction", raw, {"encoding": "base64", **AT_CONFIRMED})),
        }
        assert all("error" in one for one in facts[name].values())
    # A table's address derives from a slot, and so is another one each time.
    masked_facts: dict[str, Any] = json.loads(json.dumps(facts).replace(str(whole.key), "the table"))
    return masked_facts


@case
def protocol(node: SolanaNode) -> dict[str, Any]:
    """Bodies that are no call, and calls that are malformed."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"getHealth","params":[]}'
    bodies = {
        "no json": b"{",
        "a number": b"7",
        "no method": b'{"jsonrpc":"2.0","id":1}',
        "bad method": b'{"jsonrpc":"2.0","id":1,"method":7}',
        "unknown method": b'{"jsonrpc":"2.0","id":1,"method":"getNothing","params":[]}',
        "no parameters": b'{"jsonrpc":"2.0","id":1,"method":"getHealth"}',
        "text id": call.replace(b'"id":1', b'"id":"a"'),
        "batch": b"[" + call + b"," + call.replace(b'"id":1', b'"id":2') + b"]",
        "notification": call.replace(b'"id":1,', b""),
        "empty batch": b"[]",
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


# What Solana's JSON-RPC has beyond what the simulator's clients call, each with parameters that it takes.
METHODS: dict[str, list[Any]] = {
    "getBlock": [1],
    "getBlocks": [0, 3],
    "getBlocksWithLimit": [0, 3],
    "getBlockCommitment": [1],
    "getBlockProduction": [],
    "getClusterNodes": [],
    "getEpochSchedule": [],
    "getFirstAvailableBlock": [],
    "getHighestSnapshotSlot": [],
    "getInflationGovernor": [],
    "getInflationRate": [],
    "getLargestAccounts": [],
    "getLeaderSchedule": [],
    "getMaxRetransmitSlot": [],
    "getProgramAccounts": [NOBODY],
    "getRecentPerformanceSamples": [1],
    "getSlotLeader": [],
    "getStakeMinimumDelegation": [],
    "getSupply": [],
    "getTokenAccountsByDelegate": [NOBODY, {"mint": str(USDC)}],
    "getTokenLargestAccounts": [str(USDC)],
    "getVoteAccounts": [],
    "minimumLedgerSlot": [],
}


@case
def methods(node: SolanaNode) -> dict[str, Any]:
    """Which methods the node knows."""
    answers = {name: node.ask(name, *params) for name, params in METHODS.items()}
    return {name: one.get("error", {}).get("code") != -32601 for name, one in answers.items()}


CONTROL_CALLS: dict[str, Any] = {
    "nothing": None,
    "no verb": {},
    "unknown verb": {"verb": "dance"},
    "fund without an address": {"verb": "fund", "amount": "1000000"},
    "fund no address": {"verb": "fund", "address": "x", "amount": "1000000"},
    "fund a number": {"verb": "fund", "address": NOBODY, "amount": 1_000_000},
    "fund less than the rent": {"verb": "fund", "address": str(Pubkey.from_bytes(bytes([9]) * 32)), "amount": "1"},
    "fund far too much": {"verb": "fund", "address": NOBODY, "amount": str(2**65)},
    "mint far too much": {"verb": "mint", "address": NOBODY, "amount": str(2**65)},
    "mint nothing": {"verb": "mint", "address": NOBODY, "amount": "0"},
    "mint another": {"verb": "mint", "address": NOBODY, "amount": "1", "asset": NOBODY},
    "advance": {"verb": "advance", "blocks": 1},
    "time": {"verb": "block_time_offset", "seconds": 10**9},
    "no reorganisation": {"verb": "reorg", "depth": 0},
    "lag": {"verb": "lag", "blocks": 0},
    "fault": {"verb": "fault", "name": "hang", "count": 0},
    "release": {"verb": "release"},
    "unknown snapshot": {"verb": "restore", "id": 10**6},
}


@case
def control_calls(node: SolanaNode) -> dict[str, Any]:
    """The control form of specification 9.1: what is refused is 400 with a reason, and what is done adds up."""
    facts: dict[str, Any] = {}
    for name, wanted_status in CONTROL_CALLS.items():
        status, body = node.steer(json.dumps(wanted_status).encode())
        assert (status, body["ok"]) in ((200, True), (400, False))
        assert body["ok"] or body["error"]
        facts[name] = status
    owner = node.key().pubkey()
    for _ in range(2):
        node.control("fund", address=str(owner), amount="1000000")
        node.control("mint", address=str(owner), amount="3", asset=str(USDC))
    return {**facts, "lamports": node.call("getBalance", str(owner), AT_CONFIRMED), "held": usdc_balance(node, owner)}
