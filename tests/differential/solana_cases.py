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
from tests.differential.solana_nodes import USDC, SolanaNode, compared_outcome, compared_part, make_account, memo, pay

Case = Callable[[SolanaNode], dict[str, Any]]
CASES: dict[str, Case] = {}
NOBODY = str(Pubkey.from_bytes(bytes([3]) * 32))
ABSENT = str(Pubkey.from_bytes(bytes([4]) * 32))
UNKNOWN = str(Signature.from_bytes(bytes([5]) * 64))
TOKENS = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
AT_CONFIRMED = {"commitment": "confirmed"}


def case(function: Case) -> Case:
    """Add a case under its own name."""
    CASES[function.__name__] = function
    return function


def lamports(key: Keypair, to: Pubkey, amount: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=key.pubkey(), to_pubkey=to, lamports=amount))


def usdc_balance(node: SolanaNode, owner: Pubkey) -> str:
    """Return USDC in atomic units."""
    account = str(get_associated_token_address(owner, USDC))
    return str(node.call("getTokenAccountBalance", account, AT_CONFIRMED)["amount"])


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
        "valid": node.call("isBlockhashValid", str(node.blockhash()), AT_CONFIRMED),
        "not valid": node.call("isBlockhashValid", NOBODY, AT_CONFIRMED),
        "count": shape(node.call("getTransactionCount")),
        "airdrop": compared_part(node.ask("requestAirdrop", NOBODY, 5)),
        **{name: shape(node.call(name)) for name in shapes},
    }


@case
def account_reads(node: SolanaNode) -> dict[str, Any]:
    """Accounts in every encoding, several at once, by owner, and those that are not there."""
    owner = node.fund_key(usdc=1_500_000).pubkey()
    place = str(get_associated_token_address(owner, USDC))
    facts: dict[str, Any] = {}
    for name, key in (("mint", str(USDC)), ("token", place), ("owner", str(owner))):
        for encoding in ("base64", "base58", "jsonParsed"):
            answer = node.ask("getAccountInfo", key, {**AT_CONFIRMED, "encoding": encoding})
            facts[f"{name} {encoding}"] = compared_part(answer)
        plain = node.call("getAccountInfo", key, {**AT_CONFIRMED, "encoding": "base64"})
        facts[f"{name} values"] = {one: plain.get(one) for one in ("owner", "executable", "space", "rentEpoch")}
        facts[f"{name} size"] = len(base64.b64decode(plain["data"][0]))
    parsed_data = node.call("getAccountInfo", place, {**AT_CONFIRMED, "encoding": "jsonParsed"})["data"]["parsed"]
    amount = parsed_data["info"]["tokenAmount"]
    assert (parsed_data["type"], amount["amount"], parsed_data["info"]["owner"]) == ("account", "1500000", str(owner))
    slice_options = {**AT_CONFIRMED, "encoding": "base64", "dataSlice": {"offset": 64, "length": 8}}
    parsed_too, raw_too = ({**AT_CONFIRMED, "encoding": one} for one in ("jsonParsed", "base64"))
    by_mint = node.call("getTokenAccountsByOwner", str(owner), {"mint": str(USDC)}, parsed_too)
    by_program = node.call("getTokenAccountsByOwner", str(owner), {"programId": TOKENS}, raw_too)
    return {
        **facts,
        "amount": amount,
        "sliced": node.call("getAccountInfo", place, slice_options)["data"],
        "balance": node.call("getBalance", str(owner), AT_CONFIRMED),
        "no balance": node.call("getBalance", ABSENT, AT_CONFIRMED),
        "token balance": node.call("getTokenAccountBalance", place, AT_CONFIRMED),
        "supply": shape(node.call("getTokenSupply", str(USDC), AT_CONFIRMED)),
        "by mint": [[one["pubkey"] for one in by_mint] == [place], shape(by_mint)],
        "by program": [[one["pubkey"] for one in by_program] == [place], shape(by_program)],
        "several": shape(node.call("getMultipleAccounts", [place, ABSENT], raw_too)),
        "default encoding": compared_part(node.ask("getAccountInfo", place, AT_CONFIRMED)),
        "nobody": compared_part(node.ask("getAccountInfo", ABSENT, {**AT_CONFIRMED, "encoding": "base64"})),
        "no token account": compared_part(node.ask("getTokenAccountBalance", ABSENT, AT_CONFIRMED)),
        "not a token account": compared_part(node.ask("getTokenAccountBalance", str(owner), AT_CONFIRMED)),
        "not a mint": compared_part(node.ask("getTokenSupply", str(owner), AT_CONFIRMED)),
        "owner of nothing": node.call("getTokenAccountsByOwner", NOBODY, {"mint": str(USDC)}, AT_CONFIRMED),
        "unknown mint": compared_part(node.ask("getTokenAccountsByOwner", str(owner), {"mint": NOBODY}, AT_CONFIRMED)),
        "no filter": compared_part(node.ask("getTokenAccountsByOwner", str(owner), {}, AT_CONFIRMED)),
        "bad key": compared_part(node.ask("getAccountInfo", "x", AT_CONFIRMED)),
        "compressed": compared_outcome(node.ask("getAccountInfo", place, {"encoding": "base64+zstd", **AT_CONFIRMED})),
        "bad encoding": compared_part(node.ask("getAccountInfo", place, {"encoding": "morse"})),
        "bad commitment": compared_part(node.ask("getBalance", place, {"commitment": "maybe"})),
        "no parameters": compared_part(node.ask("getBalance")),
    }


@case
def payment(node: SolanaNode) -> dict[str, Any]:
    """A payment with a reference and a memo: simulated, sent, found by the reference, read in every encoding."""
    payer, payee, reference = node.fund_key(usdc=1_000_000), node.key().pubkey(), node.key().pubkey()
    steps = [make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 250_000, reference), memo("weld:me")]
    raw = node.sign_transaction(steps, payer)
    simulation = node.call("simulateTransaction", raw, {"encoding": "base64", "sigVerify": True, **AT_CONFIRMED})
    before = node.call("getBalance", str(payer.pubkey()), AT_CONFIRMED)
    signature = node.settle_transaction(raw)
    status = node.until(signature, "finalized")
    signatures = node.call("getSignaturesForAddress", str(reference))
    read = {
        encoding: node.call("getTransaction", signature, {"encoding": encoding, "maxSupportedTransactionVersion": 0})
        for encoding in ("json", "jsonParsed", "base64", "base58")
    }
    meta = read["json"]["meta"]
    assert [one["signature"] for one in signatures] == [signature]
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
        "simulated": {"err": simulation["err"], "logs": simulation["logs"], "shape": shape({**simulation, "logs": []})},
        "status": shape(status),
        "level": status["confirmationStatus"],
        "found": shape(signatures),
        "found memo": signatures[0]["memo"],
        "fee": meta["fee"],
        "paid": before - after,
        "held": [usdc_balance(node, one) for one in (payer.pubkey(), payee)],
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
            {name: account_key[name] for name in ("signer", "writable", "source")}
            for account_key in read["jsonParsed"]["transaction"]["message"]["accountKeys"]
        ],
        "shapes": {name: shape({**one, "meta": {**one["meta"], "logMessages": []}}) for name, one in read.items()},
        "time is in seconds": 1_700_000_000 < read["json"]["blockTime"] < 4_000_000_000,
        "time is the block's": read["json"]["blockTime"] == block_time,
        # At each call Surfpool computes a block's time from the slots since: on a busy machine it varies by a second.
        "time is the list's": abs(signatures[0]["blockTime"] - block_time) <= 2,
        "default encoding": shape(node.call("getTransaction", signature))["transaction"],
        "solana-py": node.attempt(lambda client: client.get_transaction(Signature.from_string(signature))),
    }


@case
def versioned_payment(node: SolanaNode) -> dict[str, Any]:
    """A v0 transaction: returned with its version, and only to clients that ask for versions."""
    payer = node.fund_key()
    signature = node.settle_transaction(
        node.sign_transaction([lamports(payer, Pubkey.from_string(NOBODY), 890_880)], payer, legacy=False)
    )
    whole = node.call("getTransaction", signature, {"encoding": "json", "maxSupportedTransactionVersion": 0})
    return {
        "version": whole["version"],
        "unsupported": compared_outcome(node.ask("getTransaction", signature, {"encoding": "json"})),
        "shape": shape({**whole, "meta": {**whole["meta"], "logMessages": []}}),
        "loaded": whole["meta"]["loadedAddresses"],
    }


@case
def wallet_payment(node: SolanaNode) -> dict[str, Any]:
    """A payment as a wallet makes it: compute budget, account, transfer and memo, its accounts from a lookup table."""
    payer, payee, reference = node.fund_key(usdc=1_000_000), node.key().pubkey(), node.key().pubkey()
    destination = get_associated_token_address(payee, USDC)
    creation, table = node.lookup_table(payer, [payee, USDC, destination, reference])
    steps = [
        *(set_compute_unit_limit(200_000), set_compute_unit_price(1000)),
        *(make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 250_000, reference), memo("weld:me")),
    ]
    signature = node.settle_transaction(node.sign_transaction(steps, payer, tables=[table]))
    signatures = node.call("getSignaturesForAddress", str(reference))
    transactions = {
        encoding: node.call("getTransaction", signature, {"encoding": encoding, "maxSupportedTransactionVersion": 0})
        for encoding in ("json", "jsonParsed", "base64")
    }
    meta, message = transactions["json"]["meta"], transactions["jsonParsed"]["transaction"]["message"]
    account = node.call("getAccountInfo", str(table.key), {**AT_CONFIRMED, "encoding": "jsonParsed"})["data"]
    creation_instructions = node.call("getTransaction", creation, {"encoding": "jsonParsed"})["transaction"]["message"][
        "instructions"
    ]
    assert meta["loadedAddresses"]["writable"] == [str(destination)]
    assert {*meta["loadedAddresses"]["readonly"]} == {str(payee), str(USDC), str(reference)}
    return {
        "held": usdc_balance(node, payee),
        "found by the loaded reference": [one["signature"] for one in signatures] == [signature],
        "fee": meta["fee"],
        "order of the loaded": [[*map(str, table.addresses)].index(one) for one in meta["loadedAddresses"]["readonly"]],
        "token balances": [one["accountIndex"] for one in meta["postTokenBalances"]],
        "inner": [[one["index"], len(one["instructions"])] for one in meta["innerInstructions"]],
        "account keys": [{name: one[name] for name in ("writable", "source")} for one in message["accountKeys"]],
        "budget": message["instructions"][:2],
        "transfer": message["instructions"][3]["parsed"]["type"],
        "shapes": {
            name: shape({**one, "meta": {**one["meta"], "logMessages": []}}) for name, one in transactions.items()
        },
        "table": shape(account),
        "addresses": account["parsed"]["info"]["addresses"],
        "instructions": [{**shape(one), "type": one["parsed"]["type"]} for one in creation_instructions],
    }


@case
def lookups(node: SolanaNode) -> dict[str, Any]:
    """Signatures by address: newest first, limited, before and until; what is not there is null or nothing."""
    payer, reference = node.fund_key(), node.key().pubkey()
    signatures = []
    for number in range(3):
        move = lamports(payer, Pubkey.from_string(NOBODY), 890_880 + number)
        move = Instruction(move.program_id, move.data, [*move.accounts, *_name_references(reference)])
        signatures.append(str(node.send(node.sign_transaction([move], payer))["result"]))
        node.until(signatures[-1], "confirmed")
    node.until(signatures[-1], "finalized")

    def list_places(**options: Any) -> list[int]:
        entries = node.call("getSignaturesForAddress", str(reference), options)
        return [signatures.index(entry["signature"]) for entry in entries]

    return {
        "all": list_places(),
        "limited": list_places(limit=2),
        "before": list_places(before=signatures[2]),
        "until": list_places(until=signatures[0]),
        "between": list_places(before=signatures[2], until=signatures[0]),
        "of an unused key": node.call("getSignaturesForAddress", str(node.key().pubkey())),
        "processed": compared_outcome(node.ask("getSignaturesForAddress", str(reference), {"commitment": "processed"})),
        "limit 0": compared_outcome(node.ask("getSignaturesForAddress", str(reference), {"limit": 0})),
        "limit 1001": compared_outcome(node.ask("getSignaturesForAddress", str(reference), {"limit": 1001})),
        "bad before": compared_outcome(node.ask("getSignaturesForAddress", str(reference), {"before": "x"})),
        "bad key": compared_part(node.ask("getSignaturesForAddress", "x")),
        "no transaction": compared_part(node.ask("getTransaction", UNKNOWN, {"encoding": "json"})),
        "bad signature": compared_part(node.ask("getTransaction", "x", {"encoding": "json"})),
        "statuses": node.call("getSignatureStatuses", [UNKNOWN, signatures[0]])[0],
        "bad status": compared_part(node.ask("getSignatureStatuses", ["x"])),
        "many statuses": compared_outcome(node.ask("getSignatureStatuses", [UNKNOWN] * 257)),
        "solana-py": node.attempt(lambda client: client.get_transaction(Signature.from_string(UNKNOWN))),
    }


def _name_references(*keys: Pubkey) -> list[AccountMeta]:
    return [AccountMeta(one, is_signer=False, is_writable=False) for one in keys]


@case
def failed_transaction(node: SolanaNode) -> dict[str, Any]:
    """Without preflight it lands, fails, costs its fee and moves nothing else."""
    payer, payee = node.fund_key(usdc=100), node.key().pubkey()
    before = node.call("getBalance", str(payer.pubkey()), AT_CONFIRMED)
    steps = [make_account(payer.pubkey(), payee), pay(payer.pubkey(), payee, 101)]
    signature = node.settle_transaction(node.sign_transaction(steps, payer), skipPreflight=True)
    status = node.until(signature, "finalized")
    whole = node.call("getTransaction", signature, {"encoding": "json"})
    listed_signature = node.call("getSignaturesForAddress", str(payer.pubkey()), {"limit": 1})[0]
    return {
        "status": {name: status[name] for name in ("err", "status", "confirmationStatus")},
        "meta": {name: whole["meta"][name] for name in ("err", "status", "fee", "logMessages")},
        "listed": {name: listed_signature[name] for name in ("err", "confirmationStatus")},
        "paid": before - node.call("getBalance", str(payer.pubkey())),
        "held": usdc_balance(node, payer.pubkey()),
        "no account": node.call("getAccountInfo", str(get_associated_token_address(payee, USDC)), AT_CONFIRMED),
    }


@case
def fees(node: SolanaNode) -> dict[str, Any]:
    """The fee of a message, and the answer to an invalid message."""
    payer = node.fund_key()
    raw = VersionedTransaction.from_bytes(
        base64.b64decode(node.sign_transaction([lamports(payer, Pubkey.from_string(NOBODY), 5)], payer))
    )
    told_message = base64.b64encode(bytes(raw.message)).decode()
    return {
        "fee": node.call("getFeeForMessage", told_message, AT_CONFIRMED),
        "bad": compared_part(node.ask("getFeeForMessage", "!", AT_CONFIRMED)),
        "prioritization": shape(node.call("getRecentPrioritizationFees", [NOBODY])[:1]),
    }


@case
def subscriptions(node: SolanaNode) -> dict[str, Any]:
    """Over the WebSocket: a signature's notification and slots, with their shapes."""
    payer = node.fund_key()
    raw = node.sign_transaction([lamports(payer, Pubkey.from_string(NOBODY), 890_880)], payer)
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

            facts: dict[str, Any] = {"opened": shape(await ask("signatureSubscribe", signature, AT_CONFIRMED))}
            await asyncio.to_thread(node.send, raw)
            notice = await next_of("signatureNotification")
            facts |= {"signature": shape(notice), "value": notice["value"]}
            facts["slots opened"] = shape(await ask("slotSubscribe"))
            facts["slot"] = shape(await next_of("slotNotification"))
            facts["bad"] = compared_part(await ask("signatureSubscribe", "x"))
            return facts

    return asyncio.run(asyncio.wait_for(listen(), 600))
