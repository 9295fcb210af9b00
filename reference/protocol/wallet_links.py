"""Links that open a wallet on the phone on which the checkout is open: each says what the QR code says (3.5).

Solana Pay and ARC-26 name address, asset, amount and memo, and a wallet that is opened by them pays as it should. A
bare EIP-681 transfer has no place for a memo: a wallet that is opened by one pays unbound, and the link stays unpaid.
So on Base a wallet is opened at the page itself, with the EIP-681 request behind it as in the code, and pays there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet.

    Attributes:
        name: What it says to people.
        address: Where it goes.
    """

    name: str
    address: str


def _at_page_in_metamask(payload: str) -> str:
    return "metamask://dapp/" + payload.partition("://")[2]


def _at_page_in_coinbase_wallet(payload: str) -> str:
    return "cbwallet://dapp?url=" + quote(payload, safe="")


# How the payload of the code opens a wallet; a scheme of a wallet's own asks no third party.
_OPENED: Mapping[str, tuple[tuple[str, Callable[[str], str]], ...]] = {
    "algorand": (("Open in wallet", str),),
    "solana": (("Open in wallet", str),),
    "evm": (
        ("Open in MetaMask", _at_page_in_metamask),
        ("Open in Coinbase Wallet", _at_page_in_coinbase_wallet),
    ),
}


def wallet_links(family: str, payload: str) -> tuple[WalletLink, ...]:
    """Return the links of a page.

    Args:
        family: The network's family.
        payload: The text of the page's QR code.
    """
    return tuple(WalletLink(name, opened(payload)) for name, opened in _OPENED.get(family, ()))
