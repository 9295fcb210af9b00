"""What is done to both Solana nodes, and the facts that are compared; each case stands alone."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import websockets
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token.instructions import get_associated_token_address

from tests.differential.comparison import shape
from tests.differential.solana_nodes import USDC, SolanaNode, make_account, memo, pay, taken, told

Case = Callable[[SolanaNode], dict[str, Any]]
CASES: dict[str, Case] = {}
NOBODY = str(Pubkey.from_bytes(bytes([3]) * 32))
ABSENT = str(Pubkey.from_bytes(bytes([4]) * 32))
UNKNOWN = str(Signature.from_bytes(bytes([5]) * 64))
TOKENS = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
CONFIRMED = {"commitment": "confirmed"}


def case(function: Case) -> Case:
    """Add a case under its own name."""
    CASES[function.__name__] = function
    return function


def lamports(key: Keypair, to: Pubkey, amount: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=key.pubkey(), to_pubkey=to, lamports=amount))


def held(node: SolanaNode, owner: Pubkey) -> str:
    """Return USDC in atomic units."""
    account = str(get_associated_token_address(owner, USDC))
    return str(node.call("getTokenAccountBalance", account, CONFIRMED)["amount"])


def slots(node: SolanaNode) -> list[int]:
    """Return the newest slot that is final, the newest that is confirmed, and the newest."""
    return [node.call("getSlot", {"commitment": level}) for level in ("finalized", "confirmed", "processed")]


@case
def introduction(node: SolanaNode) -> dict[str, Any]:
    """Who the node says it is, and what costs what."""
    shapes = ("getVersion", "getGenesisHash", "getIdentity", "getSlot", "getBlockHeight", "getEpochInfo")
    rents = {size: node.call("getMinimumBalanceForRentExemption", size) for size in (0, 82, 165)}
    levels = slots(node)
    for _ in range(50):  # slots go on between two questions, far when the machine is held up there
        if levels[1] - levels[0] <= 80:
            break
        levels = slots(node)
    return {
        "health": node.call("getHealth"),
        "rents": rents,
        "in order": levels == sorted(levels),
        "final apart": 30 <= levels[1] - levels[0] <= 80,
        "blockhash": shape(node.ask("getLatestBlockhash")["result"]),
        "valid": node.call("isBlockhashValid", str(node.blockhash()), CONFIRMED),
        "not valid": node.call("isBlockhashValid", NOBODY, CONFIRMED),
        "count": shape(node.call("getTransactionCount")),
        "airdrop": told(node.ask("requestAirdrop", NOBODY, 5)),
        **{name: shape(node.call(name)) for name in shapes},
    }


@case
def account_reads(node: SolanaNode) -> dict[str, Any]:
    """Accounts in every encoding, several at once, by owner, and those that are not there."""
    owner = node.funded(usdc=1_500_000).pubkey()
    place = str(get_associated_token_address(owner, USDC))
    facts: dict[str, Any] = {}
    for name, key in (("mint", str(USDC)), ("token", place), ("owner", str(owner))):
        for encoding in ("base64", "base58", "jsonParsed"):
            answer = node.ask("getAccountInfo", key, {**CONFIRMED, "encoding": encoding})
            facts[f"{name} {encoding}"] = told(answer)
        plain = node.call("getAccountInfo", key, {**CONFIRMED, "encoding": "base64"})
        facts[f"{name} values"] = {one: plain.get(one) for one in ("owner", "executable", "space", "rentEpoch")}
        facts[f"{name} size"] = len(base64.b64decode(plain["data"][0]))
    parsed = node.call("getAccountInfo", place, {**CONFIRMED, "encoding": "jsonParsed"})["data"]["parsed"]
    amount = parsed["info"]["tokenAmount"]
    assert (parsed["type"], amount["amount"], parsed["info"]["owner"]) == ("account", "1500000", str(owner))
    sliced = {**CONFIRMED, "encoding": "base64", "dataSlice": {"offset": 64, "length": 8}}
    parsed_too, raw_too = ({**CONFIRMED, "encoding": one} for one in ("jsonParsed", "base64"))
    by_mint = node.call("getTokenAccountsByOwner", str(owner), {"mint": str(USDC)}, parsed_too)
    by_program = node.call("getTokenAccountsByOwner", str(owner), {"programId": TOKENS}, raw_too)
    return {
        **facts,
        "amount": amount,
        "sliced": node.call("getAccountInfo", place, sliced)["data"],
        "balance": node.call("getBalance", str(owner), CONFIRMED),
        "no balance": node.call("getBalance", ABSENT, CONFIRMED),
        "token balance": node.call("getTokenAccountBalance", place, CONFIRMED),
        "supply": shape(node.call("getTokenSupply", str(USDC), CONFIRMED)),
        "by mint": [[one["pubkey"] for one in by_mint] == [place], shape(by_mint)],
        "by program": [[one["pubkey"] for one in by_program] == [place], shape(by_program)],
        "several": shape(node.call("getMultipleAccounts", [place, ABSENT], raw_too)),
        "default encoding": told(node.ask("getAccountInfo", place, CONFIRMED)),
        "nobody": told(node.ask("getAccountInfo", ABSENT, {**CONFIRMED, "encoding": "base64"})),
        "no token account": told(node.ask("getTokenAccountBalance", ABSENT, CONFIRMED)),
        "not a token account": told(node.ask("getTokenAccountBalance", str(owner), CONFIRMED)),
        "not a mint": told(node.ask("getTokenSupply", str(owner), CONFIRMED)),
        "owner of nothing": node.call("getTokenAccountsByOwner", NOBODY, {"mint": str(USDC)}, CONFIRMED),
        "unknown mint": told(node.ask("getTokenAccountsByOwner", str(owner), {"mint": NOBODY}, CONFIRMED)),
        "no filter": told(node.ask("getTokenAccountsByOwner", str(owner), {}, CONFIRMED)),
        "bad key": told(node.ask("getAccountInfo", "x", CONFIRMED)),
        "compressed": taken(node.ask("getAccountInfo", place, {"encoding": "base64+zstd", **CONFIRMED})),
        "bad encoding": told(node.ask("getAccountInfo", place, {"encoding": "morse"})),
        "bad commitment": told(node.ask("getBalance", place, {"commitment": "maybe"})),
        "no parameters": told(node.ask("getBalance")),
    }


@case
def payment(node: SolanaNode) -> dict[str, Any]:
    """A payment with a reference and a memo: simulated, sent, found by the reference, read in every encoding."""
    payer, payee, reference = node.funded(usdc=1_000_000), node.key().pubkey(), node.key().pubkey()
    steps = [make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 250_000, reference), memo("weld:me")]
    raw = node.signed(steps, payer)
    simulated = node.call("simulateTransaction", raw, {"encoding": "base64", "sigVerify": True, **CONFIRMED})
    before = node.call("getBalance", str(payer.pubkey()), CONFIRMED)
    sent = node.settled(raw)
    status = node.until(sent, "finalized")
    found = node.call("getSignaturesForAddress", str(reference))
    read = {
        encoding: node.call("getTransaction", sent, {"encoding": encoding, "maxSupportedTransactionVersion": 0})
        for encoding in ("json", "jsonParsed", "base64", "base58")
    }
    meta = read["json"]["meta"]
    assert [one["signature"] for one in found] == [sent]
    assert base64.b64decode(read["base64"]["transaction"][0]) == base64.b64decode(raw)
    assert meta["err"] is None
    instruction = read["jsonParsed"]["transaction"]["message"]["instructions"][1]
    after = node.call("getBalance", str(payer.pubkey()))
    balances = [
        [(one["accountIndex"], one["mint"], one["owner"], one["uiTokenAmount"]) for one in meta[name]]
        for name in ("preTokenBalances", "postTokenBalances")
    ]
    block_time = node.call("getBlockTime", read["json"]["slot"])
    return {
        "simulated": {"err": simulated["err"], "logs": simulated["logs"], "shape": shape({**simulated, "logs": []})},
        "status": shape(status),
        "level": status["confirmationStatus"],
        "found": shape(found),
        "found memo": found[0]["memo"],
        "fee": meta["fee"],
        "paid": before - after,
        "held": [held(node, one) for one in (payer.pubkey(), payee)],
        "token balances": balances,
        "lamports": [len(meta["preBalances"]), len(meta["postBalances"])],
        "logs": meta["logMessages"],
        "units": meta["computeUnitsConsumed"],
        "status in meta": meta["status"],
        "rewards": meta["rewards"],
        "header": read["json"]["transaction"]["message"]["header"],
        "keys": [str(one) for one in read["json"]["transaction"]["message"]["accountKeys"]],
        "parsed": {"program": instruction["program"], "parsed": instruction["parsed"]},
        "account keys": [
            {name: one[name] for name in ("signer", "writable", "source")}
            for one in read["jsonParsed"]["transaction"]["message"]["accountKeys"]
        ],
        "shapes": {name: shape({**one, "meta": {**one["meta"], "logMessages": []}}) for name, one in read.items()},
        "time is in seconds": 1_700_000_000 < read["json"]["blockTime"] < 4_000_000_000,
        "time is the block's": read["json"]["blockTime"] == block_time,
        # At each call Surfpool computes a block's time from the slots since: on a busy machine it varies by a second.
        "time is the list's": abs(found[0]["blockTime"] - block_time) <= 2,
        "default encoding": shape(node.call("getTransaction", sent))["transaction"],
        "solana-py": node.attempt(lambda client: client.get_transaction(Signature.from_string(sent))),
    }


@case
def versioned_payment(node: SolanaNode) -> dict[str, Any]:
    """A v0 transaction: returned with its version, and only to clients that ask for versions."""
    payer = node.funded()
    sent = node.settled(node.signed([lamports(payer, Pubkey.from_string(NOBODY), 890_880)], payer, legacy=False))
    whole = node.call("getTransaction", sent, {"encoding": "json", "maxSupportedTransactionVersion": 0})
    return {
        "version": whole["version"],
        "unsupported": taken(node.ask("getTransaction", sent, {"encoding": "json"})),
        "shape": shape({**whole, "meta": {**whole["meta"], "logMessages": []}}),
        "loaded": whole["meta"]["loadedAddresses"],
    }


@case
def wallet_payment(node: SolanaNode) -> dict[str, Any]:
    """A payment as a wallet makes it: compute budget, account, transfer and memo, its accounts from a lookup table."""
    payer, payee, reference = node.funded(usdc=1_000_000), node.key().pubkey(), node.key().pubkey()
    destination = get_associated_token_address(payee, USDC)
    making, table = node.lookup_table(payer, [payee, USDC, destination, reference])
    steps = [
        *(set_compute_unit_limit(200_000), set_compute_unit_price(1000)),
        *(make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 250_000, reference), memo("weld:me")),
    ]
    sent = node.settled(node.signed(steps, payer, tables=[table]))
    listed = node.call("getSignaturesForAddress", str(reference))
    shown = {
        encoding: node.call("getTransaction", sent, {"encoding": encoding, "maxSupportedTransactionVersion": 0})
        for encoding in ("json", "jsonParsed", "base64")
    }
    meta, parsed = shown["json"]["meta"], shown["jsonParsed"]["transaction"]["message"]
    account = node.call("getAccountInfo", str(table.key), {**CONFIRMED, "encoding": "jsonParsed"})["data"]
    made = node.call("getTransaction", making, {"encoding": "jsonParsed"})["transaction"]["message"]["instructions"]
    assert meta["loadedAddresses"]["writable"] == [str(destination)]
    assert {*meta["loadedAddresses"]["readonly"]} == {str(payee), str(USDC), str(reference)}
    return {
        "held": held(node, payee),
        "found by the loaded reference": [one["signature"] for one in listed] == [sent],
        "fee": meta["fee"],
        "order of the loaded": [[*map(str, table.addresses)].index(one) for one in meta["loadedAddresses"]["readonly"]],
        "token balances": [one["accountIndex"] for one in meta["postTokenBalances"]],
        "inner": [[one["index"], len(one["instructions"])] for one in meta["innerInstructions"]],
        "account keys": [{name: one[name] for name in ("writable", "source")} for one in parsed["accountKeys"]],
        "budget": parsed["instructions"][:2],
        "transfer": parsed["instructions"][3]["parsed"]["type"],
        "shapes": {name: shape({**one, "meta": {**one["meta"], "logMessages": []}}) for name, one in shown.items()},
        "table": shape(account),
        "addresses": account["parsed"]["info"]["addresses"],
        "instructions": [{**shape(one), "type": one["parsed"]["type"]} for one in made],
    }


@case
def lookups(node: SolanaNode) -> dict[str, Any]:
    """Signatures by address: newest first, limited, before and until; what is not there is null or nothing."""
    payer, reference = node.funded(), node.key().pubkey()
    sent = []
    for number in range(3):
        move = lamports(payer, Pubkey.from_string(NOBODY), 890_880 + number)
        move = Instruction(move.program_id, move.data, [*move.accounts, *_named(reference)])
        sent.append(str(node.send(node.signed([move], payer))["result"]))
        node.until(sent[-1], "confirmed")
    node.until(sent[-1], "finalized")

    def found(**options: Any) -> list[int]:
        listed = node.call("getSignaturesForAddress", str(reference), options)
        return [sent.index(one["signature"]) for one in listed]

    return {
        "all": found(),
        "limited": found(limit=2),
        "before": found(before=sent[2]),
        "until": found(until=sent[0]),
        "between": found(before=sent[2], until=sent[0]),
        "of an unused key": node.call("getSignaturesForAddress", str(node.key().pubkey())),
        "processed": taken(node.ask("getSignaturesForAddress", str(reference), {"commitment": "processed"})),
        "limit 0": taken(node.ask("getSignaturesForAddress", str(reference), {"limit": 0})),
        "limit 1001": taken(node.ask("getSignaturesForAddress", str(reference), {"limit": 1001})),
        "bad before": taken(node.ask("getSignaturesForAddress", str(reference), {"before": "x"})),
        "bad key": told(node.ask("getSignaturesForAddress", "x")),
        "no transaction": told(node.ask("getTransaction", UNKNOWN, {"encoding": "json"})),
        "bad signature": told(node.ask("getTransaction", "x", {"encoding": "json"})),
        "statuses": node.call("getSignatureStatuses", [UNKNOWN, sent[0]])[0],
        "bad status": told(node.ask("getSignatureStatuses", ["x"])),
        "many statuses": taken(node.ask("getSignatureStatuses", [UNKNOWN] * 257)),
        "solana-py": node.attempt(lambda client: client.get_transaction(Signature.from_string(UNKNOWN))),
    }


def _named(*keys: Pubkey) -> list[AccountMeta]:
    return [AccountMeta(one, is_signer=False, is_writable=False) for one in keys]


@case
def failed_transaction(node: SolanaNode) -> dict[str, Any]:
    """Without preflight it lands, fails, costs its fee and moves nothing else."""
    payer, payee = node.funded(usdc=100), node.key().pubkey()
    before = node.call("getBalance", str(payer.pubkey()), CONFIRMED)
    steps = [make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 101)]
    sent = node.settled(node.signed(steps, payer), skipPreflight=True)
    status = node.until(sent, "finalized")
    whole = node.call("getTransaction", sent, {"encoding": "json"})
    listed = node.call("getSignaturesForAddress", str(payer.pubkey()), {"limit": 1})[0]
    return {
        "status": {name: status[name] for name in ("err", "status", "confirmationStatus")},
        "meta": {name: whole["meta"][name] for name in ("err", "status", "fee", "logMessages")},
        "listed": {name: listed[name] for name in ("err", "confirmationStatus")},
        "paid": before - node.call("getBalance", str(payer.pubkey())),
        "held": held(node, payer.pubkey()),
        "no account": node.call("getAccountInfo", str(get_associated_token_address(payee, USDC)), CONFIRMED),
    }


@case
def fees(node: SolanaNode) -> dict[str, Any]:
    """The fee of a message, and the answer to an invalid message."""
    payer = node.funded()
    raw = VersionedTransaction.from_bytes(
        base64.b64decode(node.signed([lamports(payer, Pubkey.from_string(NOBODY), 5)], payer))
    )
    told_message = base64.b64encode(bytes(raw.message)).decode()
    return {
        "fee": node.call("getFeeForMessage", told_message, CONFIRMED),
        "bad": told(node.ask("getFeeForMessage", "!", CONFIRMED)),
        "prioritization": shape(node.call("getRecentPrioritizationFees", [NOBODY])[:1]),
    }


@case
def subscriptions(node: SolanaNode) -> dict[str, Any]:
    """Over the WebSocket: a signature's notification and slots, with their shapes."""
    payer = node.funded()
    raw = node.signed([lamports(payer, Pubkey.from_string(NOBODY), 890_880)], payer)
    signature = str(VersionedTransaction.from_bytes(base64.b64decode(raw)).signatures[0])

    async def listen() -> dict[str, Any]:
        async with websockets.connect(node.ws) as socket:

            async def ask(method: str, *params: Any) -> Any:
                await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
                while "id" not in (answer := json.loads(await socket.recv())):
                    pass
                return answer

            async def next_of(method: str) -> Any:
                while (notice := json.loads(await socket.recv())).get("method") != method:
                    pass
                return notice["params"]["result"]

            facts: dict[str, Any] = {"opened": shape(await ask("signatureSubscribe", signature, CONFIRMED))}
            await asyncio.to_thread(node.send, raw)
            notice = await next_of("signatureNotification")
            facts |= {"signature": shape(notice), "value": notice["value"]}
            facts["slots opened"] = shape(await ask("slotSubscribe"))
            facts["slot"] = shape(await next_of("slotNotification"))
            facts["bad"] = told(await ask("signatureSubscribe", "x"))
            return facts

    return asyncio.run(asyncio.wait_for(listen(), 600))
