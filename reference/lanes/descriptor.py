"""What the reference has to know of a lane before it is opened."""

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
        token: What the node asks for, or the empty string; never shown.
    """

    node: str
    indexer: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class LaneRules:
    """What the operator says about all lanes.

    Attributes:
        word: The service word, which reference accounts are derived from.
        confirmations: Blocks that make a transaction final where a lane counts them, its own included (1.2).
        commitment: Commitment that makes a transaction final where a lane's node has several.
        reads_calldata: Whether a lane that can tells what a transaction calls.
    """

    word: ServiceWord
    confirmations: int = 3
    commitment: str = "finalized"
    reads_calldata: bool = False


@dataclass(frozen=True, slots=True)
class WalletLink:
    """A link that opens a wallet on the phone on which the checkout is open.

    Attributes:
        name: What it says to people.
        address: Where it goes; a scheme of a wallet's own asks no third party.
    """

    name: str
    address: str


class Descriptor(ABC):
    """One lane.

    Attributes:
        name: Its name in settings, such as `WP_RAIL_PAYTO_<NAME>`.
        title: What people call its chain.
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
        """Return whether a network is of this lane."""
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
        raise LookupError(f"nothing is settled on {self.title}, so {key_file} is of no use")

    def wallet_links(self, payload: str) -> tuple[WalletLink, ...]:
        """Return the links of a page whose QR code has this text: each says what the code says (3.5).

        A payload that names address, asset, amount and memo opens a wallet that pays as it should.
        """
        return (WalletLink("Open in wallet", payload),)
