"""Solana's JSON-RPC as clients read it: encodings, searches, lookup tables, error codes."""

from __future__ import annotations

import base64
from typing import Any

import base58
import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.token.associated import get_associated_token_address
from solders.transaction import VersionedTransaction
from spl.token.instructions import close_account
from spl.token.models import CloseAccountParams

MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
CLOCK = "SysvarC1ock11111111111111111111111111111111"


def test_balances_of_both_sides_stand_in_the_meta(bench: Any) -> None:
    """Lamports before and after follow the keys; token balances name account, owner, mint and amount."""
    payer, payee = bench.fund_account(usdc=1_500_000), Pubkey.new_unique()
    signature = bench.send(bench.payment(payer, payee, 1_234_500))
    bench.slots(32)
    transaction = bench.call("getTransaction", signature)
    keys, meta = transaction["transaction"]["message"]["accountKeys"], transaction["meta"]
    lamport_changes = [after - before for before, after in zip(meta["preBalances"], meta["postBalances"], strict=True)]
    rent = bench.call("getMinimumBalanceForRentExemption", 165)
    accounts = [str(get_associated_token_address(one, bench.usdc)) for one in (payer.pubkey(), payee)]
    assert {str(payer.pubkey()): -5000 - rent, accounts[1]: rent} == {
        key: change for key, change in zip(keys, lamport_changes, strict=True) if change
    }
    before = {keys[one["accountIndex"]]: one for one in meta["preTokenBalances"]}
    after = {keys[one["accountIndex"]]: one for one in meta["postTokenBalances"]}
    assert [accounts[0]] == list(before)
    assert set(accounts) == set(after)
    token_amount = {"amount": "1234500", "decimals": 6, "uiAmount": 1.2345, "uiAmountString": "1.2345"}
    assert token_amount == after[accounts[1]]["uiTokenAmount"]
    assert (str(payee), str(bench.usdc), str(TOKEN)) == tuple(
        after[accounts[1]][name] for name in ("owner", "mint", "programId")
    )


def test_a_reference_makes_the_node_speak_of_a_multisig(bench: Any) -> None:
    """With an account after the owner, jsonParsed has multisigAuthority and signers, and no authority."""
    payer, payee, reference = bench.fund_account(), Pubkey.new_unique(), Pubkey.new_unique()
    plain = bench.send(bench.payment(payer, payee, 5))
    named_signature = bench.send(bench.payment(payer, payee, 6, reference))
    bench.slots(32)
    infos = []
    for signature in (plain, named_signature):
        instructions = bench.call("getTransaction", signature, "jsonParsed")["transaction"]["message"]["instructions"]
        assert tuple(one["parsed"]["type"] for one in instructions) == ("createIdempotent", "transferChecked")
        infos.append(instructions[1]["parsed"]["info"])
    assert str(payer.pubkey()) == infos[0]["authority"]
    assert (str(payer.pubkey()), [str(reference)]) == (infos[1]["multisigAuthority"], infos[1]["signers"])
    assert "authority" not in infos[1]
    assert infos[1]["tokenAmount"]["amount"] == "6"


def test_every_encoding_shows_the_same_transaction(bench: Any) -> None:
    """base64 and base58 carry its bytes, json its keys and instructions."""
    payer = bench.fund_account()
    payment = bench.payment(payer, Pubkey.new_unique(), 5)
    signature = bench.send(payment)
    bench.slots(32)

    def show_transaction(encoding: str) -> Any:
        return bench.call("getTransaction", signature, {"encoding": encoding})["transaction"]

    assert [bytes(payment)] * 2 == [
        base64.b64decode(show_transaction("base64")[0]),
        base58.b58decode(show_transaction("base58")[0]),
    ]
    message = show_transaction("json")["message"]
    assert [str(key) for key in payment.message.account_keys] == message["accountKeys"]
    assert [bytes(one.data) for one in payment.message.instructions] == [
        base58.b58decode(instruction["data"]) for instruction in message["instructions"]
    ]
    assert bench.call_refused("getTransaction", signature, {"encoding": "morse"})["code"] == -32602


def test_version_0_is_shown_only_to_who_supports_it(bench: Any) -> None:
    """Without maxSupportedTransactionVersion the node answers -32015; a legacy one is called legacy."""
    payer = bench.fund_account()
    versioned_signature = bench.send(bench.payment(payer, Pubkey.new_unique(), 5, legacy=False))
    legacy = bench.send(bench.payment(payer, Pubkey.new_unique(), 5))
    bench.slots(32)
    assert bench.call_refused("getTransaction", versioned_signature)["code"] == -32015
    versions = [
        bench.call("getTransaction", signature, {"maxSupportedTransactionVersion": 0})["version"]
        for signature in (versioned_signature, legacy)
    ]
    assert versions == [0, "legacy"]
    assert "version" not in bench.call("getTransaction", legacy)


def test_memos_stand_beside_signatures(bench: Any) -> None:
    """The search by address tells a memo with its length, and the very time of the block."""
    payer = bench.fund_account()
    signature = bench.send(bench.sign([Instruction(MEMO, "dög".encode(), [])], payer))
    bench.slots(1)
    newest = bench.call("getSignaturesForAddress", str(payer.pubkey()), {"commitment": "confirmed"})[0]
    assert (signature, "[4] dög") == (newest["signature"], newest["memo"])
    assert newest["blockTime"] == bench.call("getBlockTime", newest["slot"])


def test_searches_go_from_new_to_old_between_signatures(bench: Any) -> None:
    """`before`, `until` and `limit` cut the list; an unknown `before` leaves nothing, an unknown `until` all."""
    payer, reference = bench.fund_account(), Pubkey.new_unique()
    signatures = []
    for amount in range(1, 6):
        signatures.append(bench.send(bench.payment(payer, Pubkey.new_unique(), amount, reference)))
        bench.slots(1)
    newest_first = signatures[::-1]

    def list_signatures(**options: Any) -> list[str]:
        entries = bench.call("getSignaturesForAddress", str(reference), {"commitment": "confirmed", **options})
        return [one["signature"] for one in entries]

    unknown = str(Signature.from_bytes(bytes([9]) * 64))
    assert newest_first == list_signatures()
    assert newest_first[:2] == list_signatures(limit=2)
    assert newest_first[2:] == list_signatures(before=newest_first[1])
    assert newest_first[:3] == list_signatures(until=newest_first[3])
    assert [newest_first[2]] == list_signatures(before=newest_first[1], until=newest_first[3])
    assert ([], newest_first) == (list_signatures(before=unknown), list_signatures(until=unknown))
    for wrong in ({"limit": 0}, {"limit": 1001}, {"limit": "5"}, {"commitment": "processed"}, {"before": "x"}):
        assert bench.call_refused("getSignaturesForAddress", str(reference), wrong)["code"] == -32602


def test_searches_lag_behind_when_told_to(bench: Any) -> None:
    """The transaction is known by signature at once, and by address only so many slots later."""
    payer, reference = bench.fund_account(), Pubkey.new_unique()
    bench.control("lag", blocks=10)
    signature = bench.send(bench.payment(payer, Pubkey.new_unique(), 5, reference))
    bench.slots(9)
    search = ("getSignaturesForAddress", str(reference), {"commitment": "confirmed"})
    assert bench.call(*search) == []
    assert bench.call("getTransaction", signature, {"commitment": "confirmed"}) is not None
    bench.slots(1)
    assert [signature] == [one["signature"] for one in bench.call(*search)]
    bench.control("lag", blocks=0)


def test_old_statuses_need_a_search_of_the_history(bench: Any) -> None:
    """After the recent slots only searchTransactionHistory knows a signature."""
    signature = bench.send(bench.lamports(payer := bench.fund_account(), payer.pubkey(), 1))
    bench.slots(151)
    assert bench.call("getSignatureStatuses", [signature])["value"] == [None]
    assert bench.status(signature)["confirmationStatus"] == "finalized"


def test_accounts_of_lookup_tables_are_resolved(bench: Any) -> None:
    """A table made on the chain names the payee: keys, balances, search and parsed view know the loaded accounts."""
    payer, payee, watched_key = bench.fund_account(), Keypair().pubkey(), Keypair().pubkey()
    table = bench.lookup_table(payer, [payee, watched_key])
    transfer_step = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=payee, lamports=10**7))
    transfer_step = Instruction(
        transfer_step.program_id, transfer_step.data, [*transfer_step.accounts, AccountMeta(watched_key, False, False)]
    )
    recent = bench.chain.head.hash
    message = MessageV0.try_compile(payer.pubkey(), [transfer_step], [table], recent)
    assert payee not in message.account_keys
    signature = bench.send(VersionedTransaction(message, [payer]), preflightCommitment="processed")
    bench.slots(32)
    assert bench.balance(payee) == 10**7
    transaction = bench.call("getTransaction", signature, {"maxSupportedTransactionVersion": 0})
    assert {"writable": [str(payee)], "readonly": [str(watched_key)]} == transaction["meta"]["loadedAddresses"]
    assert transaction["meta"]["postBalances"][-2:] == [10**7, 0]
    lookups = [{"accountKey": str(table.key), "writableIndexes": [0], "readonlyIndexes": [1]}]
    assert lookups == transaction["transaction"]["message"]["addressTableLookups"]
    options = {"encoding": "jsonParsed", "maxSupportedTransactionVersion": 0}
    keys = bench.call("getTransaction", signature, options)["transaction"]["message"]["accountKeys"]
    loaded_keys = [(one["pubkey"], one["writable"], one["signer"]) for one in keys if one["source"] == "lookupTable"]
    assert [(str(payee), True, False), (str(watched_key), False, False)] == loaded_keys
    assert [signature] == [one["signature"] for one in bench.call("getSignaturesForAddress", str(watched_key))]


def test_signatures_are_checked(bench: Any) -> None:
    """A forged one is -32003, and when the preflight is skipped it is dropped in silence."""
    payer = bench.fund_account()
    payment = bench.lamports(payer, payer.pubkey(), 1)
    forged_payment = VersionedTransaction.populate(payment.message, [Signature.from_bytes(bytes([7]) * 64)])
    assert bench.send_refused(forged_payment)["code"] == -32003
    signature = bench.send(forged_payment, skipPreflight=True)
    assert bench.status(signature) is None
    assert bench.status(bench.send(payment))["err"] is None


def test_a_simulation_needs_no_signature_and_changes_nothing(bench: Any) -> None:
    """It tells the accounts afterwards, verifies on request, and can replace the blockhash."""
    payer, payee = bench.fund_account(), Pubkey.new_unique()
    payment = bench.payment(payer, payee, 700)
    forged_payment = VersionedTransaction.populate(payment.message, [Signature.default()])
    account = str(get_associated_token_address(payee, bench.usdc))
    simulation = bench.simulate(
        forged_payment, accounts={"encoding": "jsonParsed", "addresses": [account]}, innerInstructions=True
    )
    assert (simulation["err"], simulation["accounts"][0]["data"]["parsed"]["info"]["tokenAmount"]["amount"]) == (
        None,
        "700",
    )
    assert simulation["unitsConsumed"] > 1000
    assert [one["index"] for one in simulation["innerInstructions"]] == [0]
    assert bench.usdc_balance(payee) is None
    options = {"encoding": "base64", "sigVerify": True}
    wire = base64.b64encode(bytes(forged_payment)).decode()
    assert bench.call_refused("simulateTransaction", wire, options)["code"] == -32003
    bench.slots(200)
    assert bench.simulate(payment)["err"] == "BlockhashNotFound"
    replaced_simulation = bench.simulate(payment, replaceRecentBlockhash=True)
    assert (None, bench.call("getLatestBlockhash")["value"]) == (
        replaced_simulation["err"],
        replaced_simulation["replacementBlockhash"],
    )


def test_transactions_have_a_greatest_size_and_a_shape(bench: Any) -> None:
    """More than 1232 bytes, other bytes, other text and indexes out of range are -32602."""
    payer = bench.fund_account()
    big = bench.sign([Instruction(MEMO, b"x" * 1200, [])], payer)
    astray = Message.new_with_compiled_instructions(1, 0, 1, [payer.pubkey()], bench.chain.head.hash, [])
    wires = [bytes(big), b"", bytes(64), bytes(VersionedTransaction(astray, [payer]))]
    texts = [base64.b64encode(one).decode() for one in wires] + ["A" * 2000, "%%%", "é"]
    refusals = [bench.call_refused("sendTransaction", text, {"encoding": "base64"}) for text in texts]
    assert [-32602] * len(texts) == [one["code"] for one in refusals]
    fitting_transaction = bench.sign(
        [Instruction(MEMO, b"x" * (1232 - len(bytes(bench.sign([Instruction(MEMO, b"", [])], payer))) - 1), [])], payer
    )
    assert len(bytes(fitting_transaction)) == 1232
    assert bench.status(bench.send(fitting_transaction))["err"] is None


def test_fees_of_a_message(bench: Any) -> None:
    """5000 lamports for each signature; null when the blockhash is not known."""
    payer, other_key = bench.fund_account(), Keypair()
    transfer_steps = [
        transfer(TransferParams(from_pubkey=signer.pubkey(), to_pubkey=payer.pubkey(), lamports=0))
        for signer in (payer, other_key)
    ]
    known_transaction = bench.sign(transfer_steps, payer, other_key)
    fee = bench.call("getFeeForMessage", base64.b64encode(bytes(known_transaction.message)).decode())
    assert fee["value"] == 10_000
    unknown = Message.new_with_blockhash(transfer_steps, payer.pubkey(), bench.chain.genesis_hash)
    assert bench.call("getFeeForMessage", base64.b64encode(bytes(unknown)).decode())["value"] is None


def test_token_accounts_are_found_by_owner_program_and_filter(bench: Any) -> None:
    """By mint or program, with parsed data; a closed account is found no more."""
    owner = bench.fund_account(usdc=0)
    bench.control("mint", address=str(owner.pubkey()), amount="0")
    bench.slots(32)
    account = get_associated_token_address(owner.pubkey(), bench.usdc)
    key = str(owner.pubkey())
    for account_filter in ({"mint": str(bench.usdc)}, {"programId": str(TOKEN)}):
        accounts = bench.call("getTokenAccountsByOwner", key, account_filter, {"encoding": "jsonParsed"})["value"]
        assert [(str(account), key)] == [
            (account["pubkey"], account["account"]["data"]["parsed"]["info"]["owner"]) for account in accounts
        ]
    filters = [{"dataSize": 165}, {"memcmp": {"offset": 32, "bytes": key}}]
    accounts = bench.call("getProgramAccounts", str(TOKEN), {"filters": filters, "encoding": "base64"})
    assert [str(account)] == [one["pubkey"] for one in accounts]
    close = close_account(
        CloseAccountParams(program_id=TOKEN, account=account, dest=owner.pubkey(), owner=owner.pubkey(), signers=[])
    )
    bench.send(bench.sign([close], owner))
    assert (
        bench.call("getTokenAccountsByOwner", key, {"mint": str(bench.usdc)}, {"commitment": "processed"})["value"]
        == []
    )
    bench.slots(33)
    assert bench.call("getAccountInfo", str(account))["value"] is None


def test_both_mints_are_those_of_usdc(bench: Any) -> None:
    """Two mints with 6 decimals; supply and largest accounts follow what is minted."""
    owner = Keypair().pubkey()
    for mint in bench.chain.mints:
        bench.control("mint", address=str(owner), amount="77", asset=str(mint))
    bench.slots(32)
    for mint in ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"):
        supply = bench.call("getTokenSupply", mint)["value"]
        assert (supply["amount"], supply["decimals"]) == ("77", 6)
        token_account = str(get_associated_token_address(owner, Pubkey.from_string(mint)))
        assert [(token_account, "77")] == [
            (entry["address"], entry["amount"]) for entry in bench.call("getTokenLargestAccounts", mint)["value"]
        ]
        mint_data = bench.call("getAccountInfo", mint, {"encoding": "jsonParsed"})["value"]["data"]["parsed"]
        assert (mint_data["type"], mint_data["info"]["supply"]) == ("mint", "77")


def test_blocks_tell_their_transactions_and_times(bench: Any) -> None:
    """A final block has its parent's hash, its time and what landed; a future one is not there."""
    bench.system_time += 1000
    bench.slots(1)
    slot = bench.chain.head.number
    signature = bench.send(bench.lamports(bench.chain.bank, bench.chain.bank.pubkey(), 1))
    bench.slots(32)
    block = bench.call("getBlock", slot, {"maxSupportedTransactionVersion": 0})
    assert [signature] == [one["transaction"]["signatures"][0] for one in block["transactions"]]
    assert bench.system_time == block["blockTime"] == bench.call("getBlockTime", slot)
    before = bench.call("getBlock", slot - 1, {"transactionDetails": "signatures"})
    assert (before["blockhash"], []) == (block["previousBlockhash"], before["signatures"])
    assert bench.call("getBlocks", slot - 1, slot) == [slot - 1, slot]
    assert [
        bench.call_refused(*call)["code"]
        for call in (("getBlockTime", 10**9), ("getBlockTime", 3), ("getBlock", slot + 1))
    ] == [-32004, -32007, -32004]


def test_a_context_slot_that_is_not_reached_is_told(bench: Any) -> None:
    """A minContextSlot beyond the commitment's slot is -32016 with the slot that is there."""
    final = bench.call("getSlot")
    key = str(Pubkey.new_unique())
    error = bench.call_refused("getBalance", key, {"minContextSlot": final + 1})
    assert (-32016, {"contextSlot": final}) == (error["code"], error["data"])
    assert bench.call("getBalance", key, {"minContextSlot": final + 1, "commitment": "processed"})["value"] == 0


def test_programs_read_the_chains_clock(bench: Any) -> None:
    """The clock account has the slot and the time of the last execution."""
    bench.control("block_time_offset", seconds=5000)
    bench.send(bench.lamports(bench.chain.bank, bench.chain.bank.pubkey(), 1))
    clock_account = bench.call("getAccountInfo", CLOCK, {"encoding": "base64", "commitment": "processed"})["value"]
    data = base64.b64decode(clock_account["data"][0])
    numbers = [int.from_bytes(data[place : place + 8], "little") for place in (0, 32)]
    assert [bench.chain.head.number, bench.system_time + 5000] == numbers


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("getSplot", [], -32601),
        ("getBalance", [], -32602),
        ("getBalance", ["short"], -32602),
        ("getBalance", ["0" * 44], -32602),
        ("getBalance", [7], -32602),
        ("getBalance", ["So11111111111111111111111111111111111111112", {"commitment": "certain"}], -32602),
        ("getBalance", ["So11111111111111111111111111111111111111112", []], -32602),
        ("getTokenAccountBalance", ["So11111111111111111111111111111111111111112"], -32602),
        ("getMultipleAccounts", [["So11111111111111111111111111111111111111112"] * 101], -32602),
        ("getSignatureStatuses", [["x"]], -32602),
        ("getSignatureStatuses", ["x"], -32602),
        ("getMinimumBalanceForRentExemption", [-1], -32602),
        ("getMinimumBalanceForRentExemption", [2**63], -32602),
        ("getAccountInfo", ["EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", {"encoding": "morse"}], -32602),
    ],
)
def test_calls_that_make_no_sense_have_their_codes(bench: Any, method: str, params: list[Any], code: int) -> None:
    """JSON-RPC's own codes for unknown methods and bad parameters."""
    assert bench.call_refused(method, *params)["code"] == code


def test_large_accounts_are_not_shown_in_base58(bench: Any) -> None:
    """More than 128 bytes are refused unless they are cut or shown in base64."""
    owner = bench.fund_account()
    account = str(get_associated_token_address(owner.pubkey(), bench.usdc))
    assert [
        bench.call_refused("getAccountInfo", account, options)["code"] for options in ({}, {"encoding": "base58"})
    ] == [
        -32600,
        -32600,
    ]
    cut = bench.call("getAccountInfo", account, {"encoding": "base58", "dataSlice": {"offset": 0, "length": 32}})[
        "value"
    ]
    assert [str(bench.usdc), "base58"] == cut["data"]
    assert cut["space"] == 165


def test_surfpools_cheat_names_fund_too(bench: Any) -> None:
    """Account and token account are written, the supply follows, and an invalid program is refused."""
    owner, key = Keypair().pubkey(), Keypair()
    bench.call("surfnet_setAccount", str(key.pubkey()), {"lamports": 10**9})
    bench.call("surfnet_setTokenAccount", str(owner), str(bench.usdc), {"amount": 900}, str(TOKEN))
    bench.call("surfnet_setTokenAccount", str(owner), str(bench.usdc), {"amount": 250})
    assert (bench.usdc_balance(owner), bench.balance(key.pubkey())) == (250, 10**9)
    supply = bench.call("getTokenSupply", str(bench.usdc), {"commitment": "processed"})["value"]["amount"]
    assert supply == "250"
    wrong = [{"lamports": -1}, {"lamports": "1"}, {"data": "xyz"}, {"owner": "x"}, {"lamports": 1, "executable": True}]
    codes = [bench.call_refused("surfnet_setAccount", str(Pubkey.new_unique()), one)["code"] for one in wrong]
    assert [-32602] * len(wrong) == codes
    assert bench.call_refused("surfnet_setAccount", str(TOKEN), {"lamports": 0})["code"] == -32602


def test_an_airdrop_is_a_transaction(bench: Any) -> None:
    """It is found by its signature; one that the chain refuses is an error."""
    key = Pubkey.new_unique()
    signature = bench.call("requestAirdrop", str(key), 5 * 10**9)
    assert (bench.status(signature)["err"], bench.balance(key)) == (None, 5 * 10**9)
    assert bench.call("requestAirdrop", str(key), 5 * 10**9) != signature
    assert bench.call_refused("requestAirdrop", str(Pubkey.new_unique()), 1)["code"] == -32603
    assert bench.call_refused("requestAirdrop", str(key), 2**64 - 1)["code"] == -32603


def test_an_account_that_is_not_initialised_holds_no_tokens(bench: Any) -> None:
    """165 zero bytes of the token program are neither a token account nor parsed as one."""
    key = str(Pubkey.new_unique())
    bench.call("surfnet_setAccount", key, {"lamports": 10**9, "data": "00" * 165, "owner": str(TOKEN)})
    bench.slots(32)
    assert bench.call_refused("getTokenAccountBalance", key)["message"].endswith("not a Token account")
    account_data = bench.call("getAccountInfo", key, {"encoding": "jsonParsed"})["value"]["data"]
    assert account_data[1] == "base64"
