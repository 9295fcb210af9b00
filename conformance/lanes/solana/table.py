"""Address lookup tables, with which a transaction names its accounts by their place in a table on the chain."""

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
from conformance.lanes.solana.refusals import UnknownBlockhash
from conformance.outcome import Inconclusive

_TRIES, _PAUSE = 100, 0.05
# The most attempts for one table, if the node answers that the transaction came too late.
_SIGNATURES = 5


class AddressTables:
    """Creator of address tables; the address of each derives from its account and a separate slot."""

    def __init__(self, node: SolanaNode) -> None:
        self._node = node
        self._slot_lock = asyncio.Lock()
        self._newest_slot = -1

    async def make(self, payer: Account, addresses: Sequence[Pubkey]) -> AddressLookupTableAccount:
        """Create a table of `addresses` and return it when a transaction can use it: a slot after it was filled.

        Raises:
            Refused: The node refuses it.
            Inconclusive: The node cannot be asked, or no slot follows.
        """
        node = self._node
        tx_id, place = await self._submit(payer, addresses)
        slot = (await node.wait_for_level(tx_id, CONFIRMED)).slot
        await node.wait_for_success(tx_id, CONFIRMED)
        for _ in range(_TRIES):
            if await node.slot() > slot:
                return AddressLookupTableAccount(place, list(addresses))
            await asyncio.sleep(_PAUSE)
        raise Inconclusive("no slot followed the one in which the address table was filled")

    async def _submit(self, payer: Account, addresses: Sequence[Pubkey]) -> tuple[str, Pubkey]:
        """Submit the transaction that creates a table, and return its id and the table's address."""
        tries = 0
        while True:
            params = CreateLookupTableParams(
                authority_address=payer.key, payer_address=payer.key, recent_slot=await self._unused_slot()
            )
            creation, place = create_lookup_table(params)
            extension = extend_lookup_table(
                ExtendLookupTableParams(
                    lookup_table_address=place,
                    authority_address=payer.key,
                    payer_address=payer.key,
                    new_addresses=list(addresses),
                )
            )
            try:
                return await self._node.submit(await self._node.sign([creation, extension], payer)), place
            except UnknownBlockhash:
                # If the blockhash is too old, the slot in the table's address may be too old as well: another table
                # is created.
                tries += 1
                if tries == _SIGNATURES:
                    raise
                await asyncio.sleep(_PAUSE)

    async def _unused_slot(self) -> int:
        """Return a slot that no other table uses, and whose hash the chain surely still knows."""
        async with self._slot_lock:
            for _ in range(_TRIES):
                # A finalized slot: the chain could still drop a newer one, and the table's address with it.
                slot = (await self._node.ask(self._node.client.get_slot(Finalized))).value
                if slot > self._newest_slot:
                    self._newest_slot = slot
                    return slot
                await asyncio.sleep(_PAUSE)
        raise Inconclusive("no slot followed the one of which the last address table was made")
