"""Networks by every spelling in use, with the name people know and their USDC (1.2); pure and light to load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TEST_ENDINGS: Final = ("_testnet", "_devnet", "_sepolia")


def is_main(key: str) -> bool:
    """Return whether a network key is a main network's: test networks say so at their end (P-NW-02)."""
    return not key.endswith(_TEST_ENDINGS)


@dataclass(frozen=True, slots=True)
class Network:
    """One network.

    Attributes:
        key: Underscore name, which hashes are taken over.
        name: What people call it.
        event: Colon form.
        caip2: CAIP-2 form.
        asset_id: USDC on it, as text.
        decimals: Decimals of that asset.
        unit: What people call the asset.
    """

    key: str
    name: str
    event: str
    caip2: str
    asset_id: str
    decimals: int = 6
    unit: str = "USDC"

    @property
    def is_test(self) -> bool:
        """Whether its money is worth nothing (P-NW-02)."""
        return not is_main(self.key)

    def is_asset(self, text: str) -> bool:
        """Return whether a text is its USDC; EVM addresses in any case (P-NW-04)."""
        evm = self.asset_id.startswith("0x")
        return text.lower() == self.asset_id.lower() if evm else text == self.asset_id


_ALGORAND_MAIN = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k"
_ALGORAND_TEST = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"
_SOLANA_MAIN = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
_SOLANA_DEV = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
_CIRCLE_MAIN = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
_CIRCLE_TEST = "USDC:GBBD47IF6LWK7P7MDEVSCWR7DPUWV3NY3DTQEVFL4NAT4AQH3ZLLFLA5"
_TEMPO_USDC = "0x20c000000000000000000000b9537d11c60e8b50"
_NETWORKS = (
    Network("algorand_mainnet", "Algorand", "algorand:mainnet", _ALGORAND_MAIN, "31566704"),
    Network("algorand_testnet", "Algorand TestNet", "algorand:testnet", _ALGORAND_TEST, "10458941"),
    Network("base_mainnet", "Base", "eip155:8453", "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    Network(
        "base_sepolia", "Base Sepolia", "eip155:84532", "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
    ),
    Network("solana_mainnet", "Solana", _SOLANA_MAIN, _SOLANA_MAIN, "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    Network("solana_devnet", "Solana Devnet", _SOLANA_DEV, _SOLANA_DEV, "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"),
    Network("voi_mainnet", "Voi", "voi:mainnet", "voi:mainnet", "302190", unit="aUSDC"),
    Network("hedera_mainnet", "Hedera", "hedera:mainnet", "hedera:mainnet", "0.0.456858"),
    Network("hedera_testnet", "Hedera testnet", "hedera:testnet", "hedera:testnet", "0.0.4279119"),
    Network("stellar_mainnet", "Stellar", "stellar:pubnet", "stellar:pubnet", _CIRCLE_MAIN, 7),
    Network("stellar_testnet", "Stellar testnet", "stellar:testnet", "stellar:testnet", _CIRCLE_TEST, 7),
    Network("tempo_mainnet", "Tempo", "eip155:4217", "eip155:4217", _TEMPO_USDC),
    Network("tempo_testnet", "Tempo testnet", "eip155:4218", "eip155:4218", _TEMPO_USDC),
)
_BY_SPELLING: Mapping[str, Network] = {
    spelling: one for one in _NETWORKS for spelling in (one.key, one.key.replace("_", "-"), one.event, one.caip2)
}


def network_named(text: object) -> Network | None:
    """Return the network that any of its four spellings names; None for another text."""
    return _BY_SPELLING.get(text) if isinstance(text, str) else None
