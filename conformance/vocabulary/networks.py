"""Networks by every spelling in use, with the name people know and their USDC (1.2); pure and light to load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.network import Network, is_main

__all__ = ["EXAMPLE", "EXAMPLE_TEST", "HEXADECIMAL", "NETWORKS", "Network", "is_main", "network_named"]

_CIRCLE_MAIN = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
_CIRCLE_TEST = "USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
_TEMPO_USDC = "0x20c000000000000000000000b9537d11c60e8b50"
# Networks that no lane serves.
_FURTHER = (
    Network("voi_mainnet", "Voi", "voi:mainnet", "voi:mainnet", "302190", unit="aUSDC"),
    Network("hedera_mainnet", "Hedera", "hedera:mainnet", "hedera:mainnet", "0.0.456858"),
    Network("hedera_testnet", "Hedera testnet", "hedera:testnet", "hedera:testnet", "0.0.4279119"),
    Network("stellar_mainnet", "Stellar", "stellar:pubnet", "stellar:pubnet", _CIRCLE_MAIN, 7),
    Network("stellar_testnet", "Stellar testnet", "stellar:testnet", "stellar:testnet", _CIRCLE_TEST, 7),
    Network("tempo_mainnet", "Tempo", "eip155:4217", "eip155:4217", _TEMPO_USDC),
    Network("tempo_testnet", "Tempo testnet", "eip155:4218", "eip155:4218", _TEMPO_USDC),
)
NETWORKS: Final = (*(network for lane in FACTS.values() for network in (lane.main, lane.test)), *_FURTHER)
# What requests name that only need some network, a main one and its test network.
EXAMPLE, EXAMPLE_TEST = NETWORKS[0], NETWORKS[1]
# A main network whose addresses are hexadecimal.
HEXADECIMAL: Final = next(one for one in NETWORKS if one.caip2.startswith("eip155:"))
_BY_SPELLING: Mapping[str, Network] = {
    spelling: one for one in NETWORKS for spelling in (one.key, one.key.replace("_", "-"), one.event, one.caip2)
}


def network_named(text: object) -> Network | None:
    """Return the network that any of its four spellings names; None for another text."""
    return _BY_SPELLING.get(text) if isinstance(text, str) else None
