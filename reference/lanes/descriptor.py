"""Descriptors of lanes: what the reference must know of a lane before it is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from reference.lanes.lane import Lane, Settler
from reference.protocol.networks import Family, Network
from reference.protocol.service_word import ServiceWord


@dataclass(frozen=True, slots=True, repr=False)
class NodeSettings:
    """Where the nodes of one network are.

    Attributes:
        node: Address of the node.
        indexer: Address of its indexer, where the chain has one.
        token: The node's access token, or the empty string; never shown.
    """

    node: str
    indexer: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class LaneRules:
    """The operator's settings for all lanes.

    Attributes:
        word: The service word, from which reference accounts are derived.
        confirmations: Blocks that make a transaction final on lanes that count them, its own included (1.2).
        commitment: Commitment that makes a transaction final on lanes whose nodes have several.
        reads_calldata: Whether lanes that can read it report what a transaction calls.
    """

    word: ServiceWord
    confirmations: int = 3
    commitment: str = "finalized"
    reads_calldata: bool = False


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet on the phone on which the checkout is open.

    Attributes:
        name: Its text.
        address: Its target. With the wallet's own scheme no third party learns of the payment.
    """

    name: str
    address: str


class Descriptor(ABC):
    """One lane.

    Attributes:
        name: Its name in settings, such as `WP_RAIL_PAYTO_<NAME>`.
        title: The usual name of its chain.
        family: The family of networks that it serves.
        main: Key of its main network.
        settles: Whether the rail settles what payers sign.
        undoes: Whether its chain can undo what was final by its rule.
    """

    name: str
    title: str
    family: Family
    main: str
    settles: bool = False
    undoes: bool = True

    def serves(self, network: Network) -> bool:
        """Return whether a network belongs to this lane."""
        return network.family == self.family and network.key.partition("_")[0] == self.name

    @abstractmethod
    def open(self, session: aiohttp.ClientSession, network: Network, nodes: NodeSettings, rules: LaneRules) -> Lane:
        """Return the lane of one of its networks."""

    def settler(self, key_file: Path) -> Settler:
        """Return the account from which the rail settles.

        Raises:
            OSError: The file cannot be read.
            ValueError: It holds no key.
            LookupError: Nothing is settled on this lane.
        """
        raise LookupError(f"nothing is settled on {self.title}, so {key_file} is unused")

    def wallet_links(self, payload: str) -> tuple[WalletLink, ...]:
        """Return the wallet links of a page whose QR code has this text; each carries the same data (3.5).

        A payload that names address, asset, amount and memo opens a wallet that pays correctly.
        """
        return (WalletLink("Open in wallet", payload),)
