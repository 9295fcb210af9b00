"""What wallets put around a payment: lookup tables and guard assertions, and how a validator refuses wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import base58
import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    CloseLookupTableParams,
    DeactivateLookupTableParams,
    TransferParams,
    close_lookup_table,
    deactivate_lookup_table,
    transfer,
)
from solders.transaction import VersionedTransaction

from sim.solana.token_accounts import associated_address

GUARD = Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
TABLES = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
AT_PROCESSED = {"preflightCommitment": "processed"}
# A table that was switched off can be used for as many slots as the chain knows hashes of.
COOLDOWN = 513


def guard(data: bytes, *accounts: Pubkey) -> Instruction:
    return Instruction(GUARD, data, [AccountMeta(one, is_signer=False, is_writable=False) for one in accounts])


def move_lamports(bench: Any, payer: Keypair, to: Pubkey, *tables: AddressLookupTableAccount) -> VersionedTransaction:
    """Return a payment of lamports to an account that a table may hold, on the newest blockhash."""
    transfer_step = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=10**7))
    payment: VersionedTransaction = bench.sign(
        [transfer_step], payer, blockhash=bench.chain.head.hash, legacy=False, tables=tables
    )
    return payment


def test_a_wallets_payment_lands_whole(bench: Any) -> None:
    """Budget, guards, the payee's account, transfer, memo and a guard, with mint and reference from a table."""
    payer, payee, reference = bench.fund_account(), Keypair().pubkey(), Keypair().pubkey()
    table = bench.lookup_table(payer, [bench.usdc, reference])
    creation_step, transfer_step = bench.payment_steps(payer, payee, 250_000, reference)
    source = associated_address(payer.pubkey(), bench.usdc)
    guard_steps = [guard(b"\x06\x04\x01", payer.pubkey()), guard(b"\x0a\x04\x01", source), guard(b"\x0f\x04")]
    steps = [
        *(set_compute_unit_limit(200_000), set_compute_unit_price(1000)),
        *guard_steps,
        *(creation_step, transfer_step, Instruction(MEMO, b"thank you", []), guard(b"\x0a\x04\x01", source)),
    ]
    transaction = bench.sign(steps, payer, blockhash=bench.chain.head.hash, tables=[table])
    signature = bench.send(transaction, **AT_PROCESSED)
    bench.slots(32)
    assert bench.usdc_balance(payee) == 250_000
    assert [signature] == [one["signature"] for one in bench.call("getSignaturesForAddress", str(reference))]
    shown = bench.call("getTransaction", signature, {"encoding": "jsonParsed", "maxSupportedTransactionVersion": 0})
    assert shown["meta"]["err"] is None
    assert shown["meta"]["fee"] == 5000 + 200
    instructions = shown["transaction"]["message"]["instructions"]
    assert [one["programId"] for one in instructions].count(str(GUARD)) == 4
    assert instructions[4] == {
        "accounts": [],
        "data": base58.b58encode(b"\x0f\x04").decode(),
        "programId": str(GUARD),
        "stackHeight": 1,
    }
    assert "parsed" not in instructions[0]
    assert instructions[6]["parsed"]["info"]["mint"] == str(bench.usdc)
    assert reference not in transaction.message.account_keys


def _own(table: AddressLookupTableAccount, key: Pubkey) -> DeactivateLookupTableParams:
    return DeactivateLookupTableParams(lookup_table_address=table.key, authority_address=key)


@pytest.mark.parametrize("data", [b"\x02", b"\x05\x04\x00", b"\x11" + bytes(40)])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_guard_accepts_every_assertion(bench: Any, data: bytes, count: int) -> None:
    """Whatever it says, of accounts with data and without, named once or twice."""
    payer = bench.fund_account()
    accounts = [associated_address(payer.pubkey(), bench.usdc), payer.pubkey(), payer.pubkey()][:count]
    signature = bench.send(bench.sign([guard(data, *accounts)], payer), **AT_PROCESSED)
    assert bench.status(signature)["err"] is None


@pytest.mark.parametrize("data", [b"", b"\x00\x01", b"\x01", b"\x12", b"\xff"])
def test_the_guard_refuses_what_is_no_assertion(bench: Any, data: bytes) -> None:
    """In the preflight, and as a failed transaction without one."""
    payer = bench.fund_account()
    transaction = bench.sign([guard(data, payer.pubkey(), associated_address(payer.pubkey(), bench.usdc))], payer)
    refusal = bench.send_refused(transaction, **AT_PROCESSED)
    expected_error = {"InstructionError": [0, "InvalidInstructionData"]}
    assert (refusal["code"], refusal["data"]["err"]) == (-32002, expected_error)
    signature = bench.send(transaction, skipPreflight=True)
    assert bench.status(signature)["err"] == expected_error


def test_the_guard_is_a_program_that_nothing_undoes(bench: Any) -> None:
    """It is there from the first slot, in a snapshot that was restored and after a reorganisation."""
    payer = bench.fund_account()

    def check_guard() -> None:
        account = bench.call("getAccountInfo", str(GUARD), {"encoding": "base64"})["value"]
        assert (account["executable"], account["owner"]) == (True, "BPFLoaderUpgradeab1e11111111111111111111111")
        guard_call = bench.sign([guard(b"\x06\x04\x01", payer.pubkey())], payer, blockhash=bench.chain.head.hash)
        assert bench.status(bench.send(guard_call, **AT_PROCESSED))["err"] is None

    check_guard()
    snapshot_id = bench.control("snapshot")["id"]
    bench.control("reorg", depth=2)
    check_guard()
    bench.control("restore", id=snapshot_id)
    check_guard()


REFUSED_TABLES: dict[str, tuple[str, str]] = {
    "missing": ("AddressLookupTableNotFound", "Transaction loads an address table account that doesn't exist"),
    "no table": (
        "InvalidAddressLookupTableOwner",
        "Transaction loads an address table account with an invalid owner",
    ),
    "cut off": ("InvalidAddressLookupTableData", "Transaction loads an address table account with invalid data"),
    "too short": ("InvalidAddressLookupTableIndex", "Transaction address table lookup uses an invalid index"),
    "filled in this slot": (
        "InvalidAddressLookupTableIndex",
        "Transaction address table lookup uses an invalid index",
    ),
}


def _wrong_table(bench: Any, payer: Keypair, fault_name: str, payee: Pubkey) -> AddressLookupTableAccount:
    """Return a table that does not hold what is looked up in it."""
    if fault_name == "missing":
        return AddressLookupTableAccount(Pubkey.new_unique(), [payee])
    if fault_name == "no table":
        return AddressLookupTableAccount(bench.usdc, [payee])
    if fault_name == "cut off":
        at = Pubkey.new_unique()
        bench.chain.write(at, Account(10**9, bytes(10), TABLES))
        return AddressLookupTableAccount(at, [payee])
    if fault_name == "too short":
        whole: AddressLookupTableAccount = bench.lookup_table(payer, [payer.pubkey()])
        return AddressLookupTableAccount(whole.key, [payer.pubkey(), payee])
    young: AddressLookupTableAccount = bench.lookup_table(payer, [payee], slots=0)
    return young


@pytest.mark.parametrize("fault_name", REFUSED_TABLES)
def test_a_table_that_does_not_hold_the_accounts_is_refused_at_once(bench: Any, fault_name: str) -> None:
    """As a validator does it: -32602 before signatures and blockhash are looked at, by each way in; nothing lands."""
    payer, payee = bench.fund_account(), Keypair().pubkey()
    transaction = move_lamports(bench, payer, payee, _wrong_table(bench, payer, fault_name, payee))
    before = bench.balance(payer.pubkey())
    expected_error = {"code": -32602, "message": f"invalid transaction: {REFUSED_TABLES[fault_name][1]}"}
    assert bench.send_refused(transaction, **AT_PROCESSED) == expected_error
    assert bench.send_refused(transaction, skipPreflight=True) == expected_error
    wire: Sequence[Any] = (bench.wire(transaction), {"encoding": "base64", "commitment": "processed"})
    assert bench.call_refused("simulateTransaction", *wire) == expected_error
    assert bench.chain.try_out(transaction, bench.chain.head.number).err == REFUSED_TABLES[fault_name][0]
    bench.slots(1)
    assert (bench.balance(payer.pubkey()), bench.balance(payee)) == (before, 0)
    if fault_name == "filled in this slot":
        bench.send(transaction, **AT_PROCESSED)
        assert bench.balance(payee) == 10**7


def test_what_a_table_held_is_told_when_the_table_is_gone(bench: Any) -> None:
    """Switched off, a table works for 512 slots more; once it is closed, its transactions keep their accounts."""
    payer, payee = bench.fund_account(), Keypair().pubkey()
    key, table = payer.pubkey(), bench.lookup_table(payer, [payee])
    first = bench.send(move_lamports(bench, payer, payee, table), **AT_PROCESSED)
    off = deactivate_lookup_table(_own(table, key))
    bench.send(bench.sign([off], payer, blockhash=bench.chain.head.hash), **AT_PROCESSED)
    bench.slots(COOLDOWN - 2)
    bench.send(move_lamports(bench, payer, payee, table), **AT_PROCESSED)
    assert bench.balance(payee) == 2 * 10**7
    closing_step = close_lookup_table(CloseLookupTableParams(**_own(table, key), recipient_address=key))
    early = bench.sign([closing_step], payer, blockhash=bench.chain.head.hash)
    assert bench.send_refused(early, **AT_PROCESSED)["data"]["err"] == {"InstructionError": [0, "InvalidArgument"]}
    bench.slots(2)
    refusal = bench.send_refused(move_lamports(bench, payer, payee, table), **AT_PROCESSED)
    assert refusal["message"] == f"invalid transaction: {REFUSED_TABLES['missing'][1]}"
    bench.send(bench.sign([closing_step], payer, blockhash=bench.chain.head.hash), **AT_PROCESSED)
    bench.slots(33)
    assert bench.call("getAccountInfo", str(table.key))["value"] is None
    transaction = bench.call("getTransaction", first, {"maxSupportedTransactionVersion": 0})
    assert transaction["meta"]["loadedAddresses"] == {"writable": [str(payee)], "readonly": []}


def test_a_table_is_shown_parsed(bench: Any) -> None:
    """As an account, and the instructions that make, fill and switch it off."""
    payer, payee = bench.fund_account(), Keypair().pubkey()
    key, table = payer.pubkey(), bench.lookup_table(payer, [payee])
    off = deactivate_lookup_table(_own(table, key))
    sent = bench.send(bench.sign([off], payer, blockhash=bench.chain.head.hash), **AT_PROCESSED)
    at = bench.chain.head.number
    bench.slots(33)
    table_data = bench.call("getAccountInfo", str(table.key), {"encoding": "jsonParsed"})["value"]["data"]
    assert (table_data["program"], table_data["parsed"]["type"], table_data["space"]) == (
        "address-lookup-table",
        "lookupTable",
        88,
    )
    assert table_data["parsed"]["info"] == {
        "deactivationSlot": str(at),
        "lastExtendedSlot": str(at - 2),
        "lastExtendedSlotStartIndex": 0,
        "authority": str(key),
        "addresses": [str(payee)],
    }
    creation_signature = bench.call("getSignaturesForAddress", str(table.key))[-1]["signature"]
    instructions = [
        instruction["parsed"]
        for signature in (creation_signature, sent)
        for instruction in bench.call("getTransaction", signature, {"encoding": "jsonParsed"})["transaction"][
            "message"
        ]["instructions"]
    ]
    own = {"lookupTableAccount": str(table.key), "lookupTableAuthority": str(key)}
    assert [one["type"] for one in instructions] == ["createLookupTable", "extendLookupTable", "deactivateLookupTable"]
    assert instructions[1]["info"]["newAddresses"] == [str(payee)]
    assert instructions[2]["info"] == own
    assert all(own.items() <= one["info"].items() for one in instructions)
