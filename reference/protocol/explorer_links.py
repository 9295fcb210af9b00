"""Links to public explorers that show a transaction of a network. This project sends no request to them."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from reference.protocol.networks import Network

_ADDRESSES: Mapping[str, str] = {
    "algorand_mainnet": "https://lora.algokit.io/mainnet/transaction/{tx}",
    "algorand_testnet": "https://lora.algokit.io/testnet/transaction/{tx}",
    "base_mainnet": "https://basescan.org/tx/{tx}",
    "base_sepolia": "https://sepolia.basescan.org/tx/{tx}",
    "solana_mainnet": "https://explorer.solana.com/tx/{tx}",
    "solana_devnet": "https://explorer.solana.com/tx/{tx}?cluster=devnet",
}


def explorer_link(network: Network, tx_id: str) -> str | None:
    """Return the address at which a public explorer shows a transaction, None on a network without one."""
    address = _ADDRESSES.get(network.key)
    return None if address is None else address.format(tx=quote(tx_id, safe=""))
