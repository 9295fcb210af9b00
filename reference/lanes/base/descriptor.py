"""The Base lane in the registry."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import quote

import aiohttp

from reference.lanes.base.lane import BaseLane
from reference.lanes.descriptor import Descriptor, LaneRules, NodeSettings, WalletLink
from reference.lanes.json_rpc import open_rpc
from reference.lanes.lane import Lane, Settler
from reference.protocol.networks import Network


class Base(Descriptor):
    """Base: the rail settles what payers sign."""

    name = "base"
    title = "Base"
    family = "evm"
    main = "base_mainnet"
    settles = True

    def open(self, session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
        """Return the lane over an EVM node."""
        node = open_rpc(session, nodes.node, nodes.token)
        return BaseLane(network, node, rules.confirmations, reads_calldata=rules.reads_calldata)

    def settler(self, key_file: Path) -> Settler:
        """Return the account whose key a file holds, 64 hex digits."""
        from reference.lanes.base.account import EvmAccount  # noqa: PLC0415 - needed only to settle

        return EvmAccount.from_file(key_file)

    def wallet_links(self, payload: str) -> tuple[WalletLink, ...]:
        """Return links that open the page itself, whose address is the payload, in the browser of a wallet.

        A bare EIP-681 transfer has no place for a memo. A wallet opened by one would pay without the memo, and the link
        would stay unpaid.
        """
        return (
            WalletLink("Open in MetaMask", "metamask://dapp/" + payload.partition("://")[2]),
            WalletLink("Open in Coinbase Wallet", "cbwallet://dapp?url=" + quote(payload, safe="")),
        )


DESCRIPTOR: Final = Base()
