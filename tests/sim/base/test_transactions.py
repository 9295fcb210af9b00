"""Signed transactions of every type are read as their signer meant them; invalid ones are refused as the node does."""

from __future__ import annotations

from typing import Any

import pytest
import rlp
from eth_account import Account
from eth_utils.crypto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.base.transactions import HALF_ORDER, Malformed, Signed, decode, sign

KEY = Account.from_key(b"\x07" * 32)
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
TO = "0xABcdEFABcdEFabcdEfAbCdefabcdeFABcDEFabCD"
PLAIN = {"nonce": 3, "gas": 90_000, "to": TO, "value": 5, "data": b"\x01\x00"}
LIST = [{"address": TO, "storageKeys": ["0x" + "0" * 63 + "1", "0x" + "f" * 64]}]
KINDS: dict[str, dict[str, Any]] = {
    "legacy": {"gasPrice": 11, "chainId": 8453},
    "legacy without a chain": {"gasPrice": 11},
    "access list": {"gasPrice": 11, "chainId": 8453, "accessList": LIST, "type": 1},
    "dynamic fee": {"maxFeePerGas": 11, "maxPriorityFeePerGas": 2, "chainId": 8453, "accessList": LIST},
}


def raw_of(**members: Any) -> bytes:
    return bytes(KEY.sign_transaction({**PLAIN, **members}).raw_transaction)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_type_is_read_as_it_was_signed(kind: str) -> None:
    """Another signer's transaction: sender, members and hash are those that were meant."""
    terms = KINDS[kind]
    raw = raw_of(**terms)
    read = decode(raw)
    access_list = ((TO, tuple(LIST[0]["storageKeys"])),) if "accessList" in terms else ()
    expected_fields = {"nonce": 3, "gas": 90_000, "to": TO, "value": 5, "data": b"\x01\x00", "access_list": access_list}
    assert expected_fields == {name: getattr(read, name) for name in expected_fields}
    assert (read.max_fee, read.max_tip) == (11, terms.get("maxPriorityFeePerGas", 11))
    assert (read.sender, read.chain_id, read.hash) == (KEY.address, terms.get("chainId"), keccak(raw))


def test_a_creation_has_no_receiver() -> None:
    """An empty receiver creates a contract, and costs what EIP-3860 says."""
    read = decode(raw_of(gasPrice=11, chainId=8453, to="", data=b"\x01" * 33))
    assert read.to is None
    assert read.intrinsic_gas == 21_000 + 33 * 16 + 32_000 + 2 * 2


def test_intrinsic_gas_counts_bytes_and_access_lists() -> None:
    """16 and 4 for a byte that is and is not zero; 2,400 an address and 1,900 a slot."""
    assert decode(raw_of(**KINDS["dynamic fee"])).intrinsic_gas == 21_000 + 16 + 4 + 2_400 + 2 * 1_900


@settings(max_examples=100, deadline=None)
@given(
    numbers=st.tuples(*[st.integers(0, 2**64 - 1)] * 4),
    value=st.integers(0, 2**256 - 1),
    data=st.binary(max_size=40),
    creates=st.booleans(),
)
def test_what_is_signed_here_is_what_is_read(
    numbers: tuple[int, int, int, int], value: int, data: bytes, creates: bool
) -> None:
    """Our own signer and reader agree, and so does the well-known one on who signed."""
    from coincurve import PrivateKey

    nonce, tip, more, gas = numbers
    to = None if creates else TO
    raw = sign(
        PrivateKey(bytes(KEY.key)),
        chain_id=8453,
        nonce=nonce,
        max_fee=tip + more,
        max_tip=tip,
        gas=gas,
        to=to,
        value=value,
        data=data,
    )
    read = decode(raw)
    assert (nonce, tip, tip + more, gas, to, value, data) == (
        *(read.nonce, read.max_tip, read.max_fee),
        *(read.gas, read.to, read.value, read.data),
    )
    assert read.sender == KEY.address == Account.recover_transaction(raw)


def fields_of(raw: bytes) -> list[Any]:
    rlp_fields: list[Any] = rlp.decode(raw[1:])
    return rlp_fields


def change_field(place: int, value: Any) -> bytes:
    """Return the bytes of a dynamic fee transaction with one field replaced."""
    fields = fields_of(raw_of(**KINDS["dynamic fee"]))
    fields[place] = value
    return b"\x02" + bytes(rlp.encode(fields))


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def twin() -> bytes:
    """Return a transaction with the other signature that the curve allows: s above half of the order."""
    fields = fields_of(raw_of(**KINDS["dynamic fee"]))
    fields[9] = b"" if fields[9] else b"\x01"
    fields[11] = number(ORDER - int.from_bytes(fields[11], "big"))
    return b"\x02" + bytes(rlp.encode(fields))


@pytest.mark.parametrize(
    "raw",
    [
        twin(),
        change_field(9, b"\x02"),
        change_field(10, b""),
        change_field(11, b""),
        change_field(10, number(ORDER)),
        change_field(10, number(2**256 - 1)),
        change_field(11, number(HALF_ORDER + 1)),
        change_field(10, number(5)),  # no point of the curve has this abscissa
    ],
    ids=["high s", "parity", "no r", "no s", "r is the order", "r beyond it", "s above half", "r on no point"],
)
def test_a_signature_that_is_none_is_refused(raw: bytes) -> None:
    """Also the twin of a good one (EIP-2), from which the same sender would follow."""
    with pytest.raises(Malformed, match="invalid transaction v, r, s values"):
        decode(raw)


def test_a_changed_member_changes_the_sender() -> None:
    """The signature covers every member: with a changed member, the transaction has another sender."""
    for place, value in ((1, b"\x09"), (5, bytes(20)), (6, b"\x09"), (7, b"\x09"), (8, [])):
        assert decode(change_field(place, value)).sender != KEY.address


NESTED_LIST = b"\xc1" * 50_000
DEEP = b"\xc0"
for _ in range(2_000):
    DEEP = rlp.codec.length_prefix(len(DEEP), 0xC0) + DEEP


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "rlp"),
        (b"\x00\xc0", "type not supported"),
        (b"\x03\xc0", "type not supported"),
        (b"\x04\xc0", "type not supported"),
        (b"\x7f\xc0", "type not supported"),
        (b"\x02", "rlp"),
        (b"\x02\xc0", "wrong number of fields"),
        (b"\x02\x80", "wrong number of fields"),
        (rlp.encode([b""] * 8), "wrong number of fields"),
        (raw_of(**KINDS["dynamic fee"]) + b"\0", "rlp"),
        (raw_of(**KINDS["dynamic fee"])[:-1], "rlp"),
        (change_field(1, b"\0"), "canonical integer"),
        (change_field(1, b"\0\3"), "canonical integer"),
        (change_field(6, b"\1" * 33), "canonical integer"),
        (change_field(6, [b"\1"]), "canonical integer"),
        (change_field(5, b"\1" * 19), "length of address"),
        (change_field(5, b"\1" * 21), "length of address"),
        (change_field(5, []), "length of address"),
        (change_field(7, []), "data is a list"),
        (change_field(8, b""), "access list"),
        (change_field(8, b"\1"), "access list"),
        (change_field(8, [b"\1" * 20]), "access list"),
        (change_field(8, [[b"\1" * 20]]), "access list"),
        (change_field(8, [[b"\1" * 19, []]]), "access list"),
        (change_field(8, [[b"\1" * 20, b""]]), "access list"),
        (change_field(8, [[b"\1" * 20, [b"\1" * 31]]]), "access list"),
        (change_field(8, [[b"\1" * 20, [b"\1" * 33]]]), "access list"),
        (NESTED_LIST, "rlp"),
        (DEEP, "rlp"),
        (b"\x02" + DEEP, "rlp"),
    ],
)
def test_bytes_that_are_no_transaction_are_refused(raw: bytes, reason: str) -> None:
    """Unknown types, RLP that is not canonical, fields of a wrong kind: one kind of refusal, with the reason."""
    with pytest.raises(Malformed, match=reason):
        decode(raw)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    place=st.integers(0, 400),
    flipped_bits=st.integers(1, 255),
    cut=st.integers(0, 9),
)
def test_a_damaged_transaction_never_speaks_for_its_signer(kind: str, place: int, flipped_bits: int, cut: int) -> None:
    """One changed byte or a missing end: refused, or of another sender."""
    raw = bytearray(raw_of(**KINDS[kind]))
    raw[place % len(raw)] ^= flipped_bits
    try:
        read = decode(bytes(raw[: len(raw) - cut]))
    except Malformed:
        return
    assert isinstance(read, Signed)
    assert read.sender != KEY.address


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"chainId": 84532}, "invalid chain id for signer: have 84532 want 8453"),
        ({"gas": 20_999}, "intrinsic gas too low: gas 20999, minimum needed 21000"),
        ({"gas": 21_015, "data": b"\x01"}, "intrinsic gas too low: gas 21015, minimum needed 21016"),
        ({"gas": 60_000_001}, "exceeds block gas limit"),
        ({"value": 10**18}, "insufficient funds for gas * price + value"),
        ({"maxPriorityFeePerGas": 2 * 10**9}, "max priority fee per gas higher than max fee per gas"),
        ({"data": b"\0" * 131_072, "gas": 9_000_000}, "oversized data"),
        ({"to": "", "data": b"\0" * 49_153, "gas": 9_000_000}, "max initcode size exceeded"),
    ],
)
def test_what_no_block_could_hold_is_refused_at_once(bench: Any, members: dict[str, Any], reason: str) -> None:
    """In the words of a real node, with nothing left in the pool."""
    payer = bench.fund_account()
    assert reason in bench.send_refused(payer, **members)
    assert bench.chain.pending_nonce(payer.address) == 0


def test_a_legacy_transaction_without_a_chain_is_refused(bench: Any) -> None:
    """It could be replayed on every chain (EIP-155)."""
    payer = bench.fund_account()
    raw = payer.sign_transaction({**PLAIN, "nonce": 0, "gasPrice": 10**9}).raw_transaction
    error = bench.call_refused("eth_sendRawTransaction", "0x" + bytes(raw).hex())
    assert "only replay-protected (EIP-155) transactions" in error["message"]


def test_a_count_that_was_used_is_refused_and_a_later_one_waits(bench: Any) -> None:
    """Too low is an error that names both; a gap is filled later, and then all of it is mined in order."""
    payer = bench.fund_account()
    bench.mine_transaction(payer)
    assert "nonce too low: next nonce 1, tx nonce 0" in bench.send_refused(payer, nonce=0, value=1)
    later = [bench.send(payer, nonce=nonce) for nonce in (3, 2)]
    bench.mine()
    assert [bench.call("eth_getTransactionReceipt", one) for one in later] == [None, None]
    assert bench.number("eth_getTransactionCount", payer.address, "pending") == 1
    first = bench.send(payer, nonce=1)
    assert bench.number("eth_getTransactionCount", payer.address, "pending") == 4
    bench.mine()
    block = bench.call("eth_getBlockByNumber", "latest", False)
    assert [first, later[1], later[0]] == block["transactions"]
