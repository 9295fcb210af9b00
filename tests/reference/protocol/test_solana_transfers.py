"""Token transfers read from real Solana transactions, as solders builds them (5.5, P-LN-06)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction, VersionedTransaction

from reference.protocol import solana_transfers
from reference.protocol.observed_transaction import Transfer

TOKEN_PROGRAM = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
USDC = Pubkey.from_string("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
PAYER = Keypair.from_seed(bytes(32))
SOURCE, DESTINATION, REFERENCE = (Pubkey(bytes([at]) * 32) for at in (1, 2, 3))
OWNER = PAYER.pubkey()
BLOCKHASH = Hash(bytes([9]) * 32)


@dataclass(frozen=True, slots=True)
class Order:
    """An instruction of a token program."""

    data: bytes
    accounts: tuple[Pubkey, ...]
    program: Pubkey = TOKEN_PROGRAM

    @property
    def instruction(self) -> Instruction:
        metas = [AccountMeta(one, is_signer=one == OWNER, is_writable=False) for one in self.accounts]
        return Instruction(self.program, self.data, metas)


def build_checked(amount: int, *further: Pubkey, program: Pubkey = TOKEN_PROGRAM) -> Order:
    data = b"\x0c" + amount.to_bytes(8, "little") + b"\x06"
    return Order(data, (SOURCE, USDC, DESTINATION, OWNER, *further), program)


def build_unchecked(amount: int, *further: Pubkey) -> Order:
    return Order(b"\x03" + amount.to_bytes(8, "little"), (SOURCE, DESTINATION, OWNER, *further))


def legacy(*orders: Order) -> bytes:
    message = Message.new_with_blockhash([one.instruction for one in orders], OWNER, BLOCKHASH)
    return bytes(Transaction([PAYER], message, BLOCKHASH))


def build_versioned(*orders: Order, table: tuple[Pubkey, ...] = ()) -> tuple[bytes, list[str]]:
    """Return a version-0 transaction, and what its address table adds: writable ones, then read-only ones."""
    tables = [AddressLookupTableAccount(Pubkey(bytes([8]) * 32), list(table))] if table else []
    message = MessageV0.try_compile(OWNER, [one.instruction for one in orders], tables, BLOCKHASH)
    loaded_accounts = [
        str(table[at])
        for looked_up in message.address_table_lookups
        for places in (looked_up.writable_indexes, looked_up.readonly_indexes)
        for at in places
    ]
    return bytes(VersionedTransaction(message, [PAYER])), loaded_accounts


def expect_transfer(ordinal: int, value: int, *further: Pubkey, asset: str = str(USDC)) -> Transfer:
    account_names = tuple(map(str, further))
    return Transfer(ordinal, asset, str(OWNER), str(DESTINATION), value, accounts=account_names, source=str(SOURCE))


def test_a_checked_transfer_in_a_legacy_transaction() -> None:
    """Mint, owner, destination, amount, and the accounts after the owner."""
    raw = legacy(build_checked(50_000, REFERENCE))
    assert solana_transfers.transfers(raw, ()) == (expect_transfer(0, 50_000, REFERENCE),)
    assert solana_transfers.fee_payer(raw) == str(OWNER)
    assert solana_transfers.signature_of(raw) == str(Transaction.from_bytes(raw).signatures[0])


def test_an_unchecked_transfer_names_no_mint() -> None:
    """Where it goes says which asset it is."""
    assert solana_transfers.transfers(legacy(build_unchecked(7, REFERENCE)), ()) == (
        expect_transfer(0, 7, REFERENCE, asset=""),
    )


def test_a_versioned_transaction_without_a_table() -> None:
    """The same, in the other form."""
    raw, loaded_accounts = build_versioned(build_checked(50_000, REFERENCE))
    assert loaded_accounts == []
    assert solana_transfers.transfers(raw, loaded_accounts) == (expect_transfer(0, 50_000, REFERENCE),)


def test_accounts_from_an_address_table() -> None:
    """Destination and reference stand in a table: their places count on after the static keys."""
    raw, loaded_accounts = build_versioned(build_checked(50_000, REFERENCE), table=(REFERENCE, DESTINATION, SOURCE))
    assert {str(REFERENCE), str(DESTINATION)} <= set(loaded_accounts)
    assert solana_transfers.transfers(raw, loaded_accounts) == (expect_transfer(0, 50_000, REFERENCE),)


def test_without_what_the_table_added_nothing_is_seen() -> None:
    """An account that cannot be named is no account: rather no transfer than a wrong one."""
    raw, _ = build_versioned(build_checked(50_000, REFERENCE), table=(REFERENCE, DESTINATION))
    assert solana_transfers.transfers(raw, []) == ()


def test_every_transfer_is_told_with_its_place() -> None:
    """Other instructions between them count as places."""
    memo = Order(b"hello", (), MEMO)
    raw = legacy(memo, build_checked(1), build_unchecked(2), memo, build_checked(3, REFERENCE, SOURCE))
    expected = (expect_transfer(1, 1), expect_transfer(2, 2, asset=""), expect_transfer(4, 3, REFERENCE, SOURCE))
    assert solana_transfers.transfers(raw, ()) == expected


@pytest.mark.parametrize("amount", [0, 1, 2**63, 2**64 - 1])
def test_an_amount_is_unsigned_and_little_endian(amount: int) -> None:
    """All of its 64 bits."""
    assert solana_transfers.transfers(legacy(build_checked(amount)), ())[0].value == amount


NOT_TRANSFERS = {
    "Token-2022": build_checked(50_000, REFERENCE, program=TOKEN_2022),
    "another program": build_checked(50_000, REFERENCE, program=MEMO),
    "no data": Order(b"", (SOURCE, USDC, DESTINATION, OWNER)),
    "a checked transfer without its decimals": Order(b"\x0c" + bytes(8), (SOURCE, USDC, DESTINATION, OWNER)),
    "a checked transfer with a byte more": Order(b"\x0c" + bytes(10), (SOURCE, USDC, DESTINATION, OWNER)),
    "a transfer with a byte less": Order(b"\x03" + bytes(7), (SOURCE, DESTINATION, OWNER)),
    "a transfer with a byte more": Order(b"\x03" + bytes(9), (SOURCE, DESTINATION, OWNER)),
    "a checked transfer without its owner": Order(b"\x0c" + bytes(9), (SOURCE, USDC, DESTINATION)),
    "a transfer without its owner": Order(b"\x03" + bytes(8), (SOURCE, DESTINATION)),
    "an approval": Order(b"\x04" + bytes(8), (SOURCE, DESTINATION, OWNER)),
    "a burn": Order(b"\x0f" + bytes(9), (SOURCE, USDC, OWNER, OWNER)),
}


@pytest.mark.parametrize("order", NOT_TRANSFERS.values(), ids=NOT_TRANSFERS.keys())
def test_what_is_no_transfer_of_the_token_program(order: Order) -> None:
    """Beside one that is, which is still seen."""
    assert solana_transfers.transfers(legacy(order, build_checked(5)), ()) == (expect_transfer(1, 5),)


def test_an_instruction_that_points_beyond_the_accounts_is_none() -> None:
    """Neither its program nor its accounts can be named; the others count."""
    good = Message.new_with_blockhash([build_checked(5).instruction], OWNER, BLOCKHASH)
    for wrong in (b"\xfe", b"\x00"):
        account_indices = bytes(good.instructions[0].accounts)
        program = good.instructions[0].program_id_index
        raw = bytearray(bytes(Transaction.populate(good, [Signature.default()])))
        at = bytes(raw).index(bytes([program, len(account_indices)]) + account_indices)
        if wrong == b"\xfe":
            raw[at] = 0xFE
        else:
            raw[at + 2] = 0xFE
        assert solana_transfers.transfers(bytes(raw), ()) == ()


def test_every_truncation_is_a_fault_or_facts() -> None:
    """Cut anywhere, it is no transaction; nothing else is raised."""
    for raw in (
        legacy(build_checked(5, REFERENCE)),
        build_versioned(build_checked(5, REFERENCE), table=(REFERENCE,))[0],
    ):
        for end in range(len(raw)):
            with pytest.raises(solana_transfers.NotATransaction):
                solana_transfers.transfers(raw[:end], ())


NOBODY_S = {
    "no signature": b"\x00" + legacy(build_checked(5))[65:],
    "no signature and no account": bytes(4) + b"\x00" + bytes(32) + b"\x00",
    "no account": b"\x01" + bytes(64) + bytes(3) + b"\x00" + bytes(32) + b"\x00",
}


@pytest.mark.parametrize("raw", NOBODY_S.values(), ids=NOBODY_S.keys())
def test_a_transaction_of_nobody_is_none(raw: bytes) -> None:
    """Every transaction has a first signature, its id, and a first account, who pays its fee."""
    for read in (lambda raw: solana_transfers.transfers(raw, ()), solana_transfers.signature_of, _payer):
        with pytest.raises(solana_transfers.NotATransaction):
            read(raw)


@settings(max_examples=200)
@given(st.binary(max_size=300), st.integers(0, 200), st.integers(0, 255))
def test_no_bytes_are_a_crash(noise: bytes, place: int, value: int) -> None:
    """Noise, and a real transaction with one byte changed: facts, or `NotATransaction`."""
    changed_bytes = bytearray(legacy(build_checked(5, REFERENCE)))
    changed_bytes[place % len(changed_bytes)] = value
    for raw in (noise, bytes(changed_bytes)):
        for read in (lambda raw: solana_transfers.transfers(raw, ()), solana_transfers.signature_of, _payer):
            try:
                read(raw)
            except solana_transfers.NotATransaction:
                continue


def _payer(raw: bytes) -> str:
    return solana_transfers.fee_payer(raw)


# Addresses.


def test_an_associated_account_is_derived() -> None:
    """By the program's own seeds; known for the profile's payee, compared with another library's derivation."""
    from spl.token.instructions import get_associated_token_address

    owner = "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"
    expected = str(get_associated_token_address(Pubkey.from_string(owner), USDC))
    assert solana_transfers.associated_account(owner, str(USDC)) == expected


def test_a_reference_is_the_profile_s() -> None:
    """The vector of 5.4."""
    token = "1767225600:0011223344556677:a09b8bbc7b366385e78e577f66a953775dce4472ed6f732572ad6ab56172b995"
    digest = hashlib.sha256(f"weldproof-payable-core:solana-ref:{token}".encode()).digest()
    assert solana_transfers.reference_account(digest) == "FsFR6sRtNSjtXvNCBdTRaDaoWd4jVBysLeRHVHi57ZBs"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi", True),
        ("1" * 32, True),
        ("1" * 31, False),
        ("1" * 33, False),
        ("", False),
        ("0OIl", False),
        (" 4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi", False),
        ("4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi\n", False),
        ("é" * 40, False),
        ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", False),
    ],
)
def test_an_address_is_32_bytes_in_base58(text: str, expected: bool) -> None:
    """In its one spelling."""
    assert solana_transfers.is_address(text) is expected


@pytest.mark.parametrize("in_table", [(), (USDC, DESTINATION), (REFERENCE,), (REFERENCE, USDC, DESTINATION)])
def test_what_a_wallet_puts_around_a_transfer(in_table: tuple[Pubkey, ...]) -> None:
    """Budget, guards, account creation and memo: the one transfer is found at its place, with all of its accounts."""
    budget = Order(b"\x02\x40\x0d\x03\x00", (), Pubkey.from_string("ComputeBudget111111111111111111111111111111"))
    guard = Order(b"\x06\x04\x01", (OWNER,), Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95"))
    account_creation = Order(
        b"\x01", (OWNER, DESTINATION, USDC), Pubkey.from_string(solana_transfers.ASSOCIATED_PROGRAM)
    )
    around = (
        budget,
        budget,
        guard,
        guard,
        guard,
        account_creation,
        build_checked(9, REFERENCE),
        Order(b"hi", (), MEMO),
        guard,
    )
    raw, loaded_accounts = build_versioned(*around, table=in_table)
    assert {*loaded_accounts} == {str(one) for one in in_table}
    assert solana_transfers.transfers(raw, loaded_accounts) == (expect_transfer(6, 9, REFERENCE),)
    assert solana_transfers.memos(raw, loaded_accounts) == (b"hi",)


def test_memos_of_the_top_level_are_told() -> None:
    """The data of both memo programs, in order, as bytes; data of another program is no memo."""
    first = Pubkey.from_string("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
    raw = legacy(
        Order(b"one", (), MEMO),
        build_checked(1),
        Order(b"\xff\0", (), first),
        Order(b"no", (), Pubkey(bytes([7]) * 32)),
    )
    assert solana_transfers.memos(raw, ()) == (b"one", b"\xff\0")
    assert solana_transfers.memos(legacy(build_checked(1)), ()) == ()
    with pytest.raises(solana_transfers.NotATransaction):
        solana_transfers.memos(b"", ())
