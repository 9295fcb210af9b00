"""Guard of main networks: which node serves one, so that a payment there would cost real money."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from conformance.outcome import Inconclusive
from conformance.target import LANES, Chain, Profile, ProfileError
from conformance.vocabulary.lanes.registry import FACTS
from conformance.vocabulary.networks import Network, is_main, network_named

# Theory: the node is asked for its network, which is never guessed from its address, since a forwarded port makes any
# node local. Most nodes report the hash of their genesis, which no simulator shares. Other nodes report a chain id
# instead, and simulators use those of main networks, so the hash of block 0 decides as well. With a key of the
# operator, the chain id alone decides: a transaction that is signed for it is valid on the main network, too, and any
# program that sees it can send it there.
_FIRST_BLOCKS: Final = {lane.main.caip2: lane.first_block for lane in FACTS.values() if lane.first_block is not None}
_FURTHER_MAIN: Final = frozenset[str]().union(*(lane.further_main for lane in FACTS.values()))
_DEVELOPMENT: Final = frozenset[str]().union(*(lane.development for lane in FACTS.values()))
# Namespaces whose ids are chosen freely; in other namespaces they are hashes.
_CHOSEN_NAMESPACES: Final = frozenset(name.partition(":")[0] for name in _DEVELOPMENT)


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The network of a node, as the node reports it.

    Attributes:
        caip2: CAIP-2 name, by its genesis hash or its chain id.
        first_block: Hash of block 0, in hexadecimal with 0x; None if the node does not have it.
    """

    caip2: str
    first_block: str | None = None

    @property
    def name(self) -> str:
        """The network's key, else its CAIP-2 name."""
        row = network_named(self.caip2)
        return self.caip2 if row is None else row.key

    @property
    def is_private(self) -> bool:
        """Whether it is not a public network, as far as is known."""
        if self.caip2.partition(":")[0] in _CHOSEN_NAMESPACES:
            return self.caip2 in _DEVELOPMENT
        return network_named(self.caip2) is None and self.caip2 not in _FURTHER_MAIN

    def is_main(self, *, own_key: bool) -> bool:
        """Return whether payments may cost real money.

        Args:
            own_key: Whether a key of the operator signs, not only keys that the suite makes for a run.
        """
        row = network_named(self.caip2)
        if row is not None and row.is_test:
            return False
        # A simulator with the chain id of a main network has another first block. That is safe only for keys without
        # money.
        if not own_key and self.first_block is not None and self.caip2 in _FIRST_BLOCKS:
            return self.first_block == _FIRST_BLOCKS[self.caip2]
        return not self.is_private


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def guard_profile(profile: Profile, *, main_network: bool) -> Profile:
    """Return the profile if payments on its nodes are allowed, as far as the profile itself shows it.

    Args:
        profile: The target's profile.
        main_network: Whether the operator allowed main networks.

    Raises:
        ProfileError: A node elsewhere is of a main network by the profile, or an account of the operator pays without
            a limit.
    """
    for table, chain in tables(profile):
        if is_main(chain.network) and not is_local(chain.node) and not main_network:
            raise ProfileError(
                f"[{table}] claims {chain.network} for a node that is not on this machine: payments there cost "
                "real money. Give --main-network if you mean it, or the network key of a test network"
            )
        if chain.funder is not None and chain.spending_limit is None:
            raise ProfileError(
                f"[{table}] has a funder and no spending_limit: give one, the atomic units of USDC that a whole run "
                'may take, such as spending_limit = "50000000"'
            )
    return profile


def explain_refusal(table: str, chain: Chain, network: NodeNetwork, *, main_network: bool) -> str | None:
    """Return why payments on a node are refused; None if they are allowed.

    Args:
        table: Name of the node's table in the profile.
        chain: The table itself.
        network: The network that the node reports.
        main_network: Whether the operator allowed main networks.
    """
    if not network.is_main(own_key=chain.funder is not None and chain.control is None):
        return None
    if not is_main(chain.network):
        claims = f"[{table}] claims {chain.network}"
        return f"{claims}, and its node is of the main network {network.name}: nothing is paid there"
    # A node with control verbs is a simulator. One that reports a main network is a mistake in the profile, or worse.
    if chain.control is not None:
        return (
            f"[{table}] gives control verbs for a node of the main network {network.name}, where they would give away "
            "real money: nothing is paid there. Give funder and spending_limit instead of control"
        )
    if not main_network:
        return (
            f"[{table}] is a node of the main network {network.name}, as it says itself: payments there cost real "
            "money. Give --main-network if you mean it"
        )
    return None


def require_money(table: str, chain: Chain) -> None:
    """Check that the profile gives a source of money for a node.

    Raises:
        Inconclusive: It gives none.
    """
    if chain.control is None and chain.funder is None:
        raise Inconclusive(f"[{table}] gives neither control nor funder, so no account can pay")


def admit(table: str, chain: Chain, network: NodeNetwork, *, main_network: bool) -> None:
    """Check that payments on a node are allowed.

    Raises:
        Inconclusive: They are not; see `explain_refusal`.
    """
    reason = explain_refusal(table, chain, network, main_network=main_network)
    if reason is not None:
        raise Inconclusive(reason)


def usdc_of(table: str, chain: Chain, network: NodeNetwork) -> Network:
    """Return the network whose USDC an account of the operator may pay in; the profile's own on a private network.

    Raises:
        Inconclusive: The suite does not know the USDC there, or the profile claims another network.
    """
    claimed, row = chain.usdc, network_named(network.caip2)
    if row is None and network.is_private:
        row = claimed
    if row is None:
        raise Inconclusive(
            f"[{table}] is a node of {network.name}, whose USDC the suite does not know: nothing is paid"
        )
    if claimed is not row:
        raise Inconclusive(f"[{table}] claims {chain.network}, and its node serves {network.name}: nothing is paid")
    return row


def tables(profile: Profile) -> Iterator[tuple[str, Chain]]:
    """Yield (name of its table, what it says) of every node."""
    nodes = {"chains": profile.chains, "gateway.chains": profile.gateway.chains, "payer.chains": profile.payer.chains}
    for prefix, chains in nodes.items():
        for lane in LANES:
            chain = chains.of(lane)
            if chain is not None:
                yield f"{prefix}.{lane}", chain
