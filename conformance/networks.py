"""Which node is a main network's, where payments cost somebody real money.

Local nodes and simulators bear the ids of main networks, so ids tell nothing by themselves. A node counts as a main
network's when the profile claims a main network for it and its address is not on this machine; then nothing is run
unless the operator said `--main-network`. A node elsewhere that turns out to be a main network's although the profile
claims a test network is never paid on.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from conformance.check import Inconclusive
from conformance.network_names import is_main, network_named
from conformance.target import AlgorandChain, BaseChain, Profile, ProfileError, SolanaChain


def is_here(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def guard(profile: Profile, *, main_network: bool) -> Profile:
    """Return the profile when its nodes may be paid on.

    Args:
        profile: The target's profile.
        main_network: Whether the operator said that main networks may be used.

    Raises:
        ProfileError: A node elsewhere is of a main network by the profile, or pays from the operator's account without
            a limit.
    """
    for table, chain in _elsewhere(profile):
        if is_main(chain.network) and not main_network:
            raise ProfileError(
                f"[{table}] claims {chain.network} for a node that is not on this machine: payments there cost "
                "real money. Give --main-network if you mean it, or the network key of a test network"
            )
        if chain.funder is not None and chain.spending_limit is None:
            raise ProfileError(
                f"[{table}] has a funder for a node that is not on this machine and no spending_limit: "
                'give one, in atomic units of USDC, such as spending_limit = "50000000"'
            )
    return profile


def forbid_main_network(lane: str, network: str, url: str, caip2: str) -> None:
    """Refuse to pay on a node elsewhere that is a main network's although the profile claims a test network.

    Raises:
        Inconclusive: It is one.
    """
    node = network_named(caip2)
    if node is not None and not node.is_test and not is_main(network) and not is_here(url):
        raise Inconclusive(
            f"[chains.{lane}] claims {network}, and its node is of the main network: nothing is paid there"
        )


def _elsewhere(profile: Profile) -> Iterator[tuple[str, AlgorandChain | BaseChain | SolanaChain]]:
    """Yield (name of its table, node) of every node that is not on this machine."""
    for prefix, chains in (("chains", profile.chains), ("gateway.chains", profile.gateway.chains)):
        if chains.algorand is not None and not is_here(chains.algorand.algod):
            yield f"{prefix}.algorand", chains.algorand
        if chains.base is not None and not is_here(chains.base.rpc):
            yield f"{prefix}.base", chains.base
        if chains.solana is not None and not is_here(chains.solana.rpc):
            yield f"{prefix}.solana", chains.solana
