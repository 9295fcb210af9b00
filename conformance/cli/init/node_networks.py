"""The network of each chain node of a drafted profile, as the node reports it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from conformance.http.client import Names
from conformance.lanes.payers import read_network
from conformance.outcome import Inconclusive
from conformance.target import Budgets, ProfileError
from conformance.target.chains import TABLES
from conformance.vocabulary.networks import network_named

# Longest time for a node's answer.
_SECONDS: Final = 10.0


def with_networks(
    tables: Mapping[str, Mapping[str, Any]], offered_networks: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the chain tables with the key of the network that each node serves, and notes for the user.

    Args:
        tables: Tables of `[chains]` by lane.
        offered_networks: Network keys that the target offers, by lane.
    """
    answers = asyncio.run(_ask_all(tables)) if tables else {}
    completed, notes = dict[str, dict[str, Any]](), list[str]()
    for lane, table in tables.items():
        node_network = answers[lane]
        offered_network = offered_networks.get(lane)
        if isinstance(node_network, str) and node_network.startswith(f"{lane}_"):
            if offered_network not in {None, node_network}:
                notes.append(
                    f"the node of [chains.{lane}] serves {node_network}, and the target offers {offered_network}"
                )
        elif isinstance(node_network, Inconclusive):
            notes.append(f"the node of [chains.{lane}] did not report its network: {node_network}")
        # A private chain, such as a simulated one, has an id that names no known network. Then the
        # network that the target offers is taken.
        network = (
            node_network if isinstance(node_network, str) and node_network.startswith(f"{lane}_") else offered_network
        )
        completed[lane] = {"network": network or f"{lane}_mainnet", **table}
    return completed, notes


async def _ask_all(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str | Inconclusive | None]:
    answers = await asyncio.gather(*(_ask_network(lane, table) for lane, table in tables.items()))
    return dict(zip(tables, answers, strict=True))


async def _ask_network(lane: str, table: Mapping[str, Any]) -> str | Inconclusive | None:
    """Return the key of the network, None for an unknown network, or the reason why the node did not report it."""
    try:
        chain = TABLES[lane].model_validate(dict(table))
        answer = await read_network(chain, Budgets(request=_SECONDS, confirmation=_SECONDS), Names())
    except Inconclusive as reason:
        return reason
    except (ProfileError, ValidationError) as fault:
        return Inconclusive(str(fault))
    network = network_named(answer.caip2)
    return None if network is None else network.key
