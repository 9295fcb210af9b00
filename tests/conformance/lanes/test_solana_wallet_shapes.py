"""Payments in the shapes of wallets' transactions, against a node in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from solana.rpc.commitment import Confirmed
from solders.address_lookup_table_account import AddressLookupTable
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.constants import ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID

from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.wallet_shapes import GUARD, SHAPES, Shape, list_shapes, send_in_shape
from tests import prepared
from tests.conformance.lanes.test_solana_payer import PRICE, order, pay_with, read_received

_NAMES = {
    str(MEMO_PROGRAM_ID): "memo",
    str(TOKEN_PROGRAM_ID): "transfer",
    str(ASSOCIATED_TOKEN_PROGRAM_ID): "account",
    str(GUARD): "guard",
    "ComputeBudget111111111111111111111111111111": "budget",
}
# What each shape calls in order, and how many accounts it loads from tables.
_CALLS = {
    "a legacy transaction": ("transfer", 0),
    "a compute budget first": ("budget budget transfer", 0),
    "a memo before the transfer": ("memo transfer", 0),
    "twelve memos before the transfer": ("memo " * 12 + "transfer", 0),
    "a memo after the transfer": ("transfer memo", 0),
    "the payee's token account made in front": ("account transfer", 0),
    "guards last": ("budget budget transfer guard", 0),
    "guards before and after the transfer": ("budget budget guard guard guard transfer memo guard", 0),
    "mint and destination from a lookup table": ("budget budget transfer", 2),
    "the reference from a lookup table": ("transfer", 1),
    "all of it, with two lookup tables": ("budget budget account guard guard guard transfer memo guard", 4),
}


@pytest.fixture(scope="module", name="node")
def _node() -> Iterator[str]:
    with prepared.run_ready("sim.solana", "--port", "0", "--ws-port", "0", "--slot-seconds", "0.005") as ready:
        yield str(ready["rpc"])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_each_shape_pays(node: str, shape: Shape) -> None:
    """The payee has the price; the transaction calls what a wallet calls, and loads what the tables hold."""
    async with pay_with(node) as payer:
        wanted_order = order()
        tx_id = await send_in_shape(
            payer, shape, await payer.transfer(wanted_order), wanted_order.payee, b"thank you", wait=CONFIRMED
        )
        assert await read_received(payer, wanted_order) == PRICE
        transaction_request = payer.node.client.get_transaction(
            Signature.from_string(tx_id), "base64", Confirmed, max_supported_transaction_version=0
        )
        transaction = (await transaction_request).value
    assert transaction is not None
    assert transaction.transaction.meta is not None
    loaded_addresses = transaction.transaction.meta.loaded_addresses
    assert loaded_addresses is not None
    message_holder = transaction.transaction.transaction
    assert isinstance(message_holder, VersionedTransaction)
    message = message_holder.message
    keys = [*message.account_keys, *loaded_addresses.writable, *loaded_addresses.readonly]
    program_names = " ".join(_NAMES[str(keys[one.program_id_index])] for one in message.instructions)
    assert (program_names, len(loaded_addresses.writable) + len(loaded_addresses.readonly)) == _CALLS[shape.name]
    assert isinstance(message, Message if shape.name == "a legacy transaction" else MessageV0)
    assert wanted_order.reference in keys


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_with_a_memo_has_one(shape: Shape) -> None:
    """A checkout's payment needs its memo: right after the transfer, where the shape has none."""
    parts = [part.name for part in shape.with_memo().parts]
    assert parts.count("MEMO") == max(1, [part.name for part in shape.parts].count("MEMO"))
    assert [name for name in parts if name != "MEMO"] == [part.name for part in shape.parts if part.name != "MEMO"]


async def test_tables_made_at_once_are_several(node: str) -> None:
    """A table's address derives from its maker and a slot: two of one slot would be one table with both's addresses."""
    async with pay_with(node) as payer:
        fresh = [[Pubkey.new_unique()] for _ in range(4)]
        made = await asyncio.gather(*(payer.address_table(addresses) for addresses in fresh))
        table_data = [await payer.node.data(one.key) for one in made]
    assert len({one.key for one in made}) == len(fresh)
    tables = [AddressLookupTable.deserialize(data or b"") for data in table_data]
    assert [list(one.addresses) for one in tables] == fresh


async def test_a_node_without_the_guard_program_gets_the_other_shapes(
    node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be sent is returned separately, so that a report can name it."""
    monkeypatch.setattr("conformance.lanes.solana.wallet_shapes.GUARD", Pubkey.new_unique())
    async with pay_with(node) as payer:
        sendable, unguarded_shapes = await list_shapes(payer)
    assert not any(one.has_guards for one in sendable)
    assert [one.name for one in unguarded_shapes] == [
        "guards last",
        "guards before and after the transfer",
        "all of it, with two lookup tables",
    ]
    assert {*sendable, *unguarded_shapes} == {*SHAPES}
