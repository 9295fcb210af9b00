"""What a network is called, and its USDC; pure and light to load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOCAL_ENDING: Final = "_localnet"
_TEST_ENDINGS: Final = ("_testnet", "_devnet", "_sepolia", LOCAL_ENDING)


def is_main(key: str) -> bool:
    """Return whether a network key is a main network's: test networks say so at their end (P-NW-02)."""
    return not key.endswith(_TEST_ENDINGS)


def with_worth(network: str) -> str:
    """Return a network's key, with the words that it is not a main network if its money is worth nothing."""
    return network if is_main(network) else f"{network} (not a main network)"


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
        """Return whether a text is its USDC; a contract's address in any case (P-NW-04)."""
        contract = self.asset_id.startswith("0x")
        return text.lower() == self.asset_id.lower() if contract else text == self.asset_id
