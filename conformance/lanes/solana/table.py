"""Address lookup tables: a transaction then names its accounts by their place in a table on the chain."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from solana.rpc.commitment import Finalized
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.pubkey import Pubkey
from solders.system_program import (
    CreateLookupTableParams,
    ExtendLookupTableParams,
    create_lookup_table,
    extend_lookup_table,
)

from conformance.lanes.solana.node import CONFIRMED, Account, SolanaNode
from conformance.outcome import Inconclusive

_TRIES, _PAUSE = 100, 0.05


async def address_table(node: SolanaNode, payer: Account, addresses: Sequence[Pubkey]) -> AddressLookupTableAccount:
    """Make a table of `addresses` and return it once a transaction can use it: a slot after it was filled.

    Raises:
        Refused: The node refuses it.
        Inconclusive: The node cannot be asked, or no slot follows.
    """
    params = CreateLookupTableParams(
        authority_address=payer.key, payer_address=payer.key, recent_slot=await _rooted_slot(node)
    )
    made, place = create_lookup_table(params)
    filled = extend_lookup_table(
        ExtendLookupTableParams(
            lookup_table_address=place,
            authority_address=payer.key,
            payer_address=payer.key,
            new_addresses=list(addresses),
        )
    )
    sent = await node.submit(await node.signed([made, filled], payer))
    slot = (await node.landed(sent, CONFIRMED)).slot
    await node.succeeded(sent, CONFIRMED)
    for _ in range(_TRIES):
        if await node.slot() > slot:
            return AddressLookupTableAccount(place, list(addresses))
        await asyncio.sleep(_PAUSE)
    raise Inconclusive("no slot followed the one in which the address table was filled")


async def _rooted_slot(node: SolanaNode) -> int:
    """Return a slot that the chain surely still knows by its hash."""
    return (await node.ask(node.client.get_slot(Finalized))).value
