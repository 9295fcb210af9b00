"""Which network each node of a drafted profile serves, as the node says itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from conformance.http.client import Names
from conformance.lanes.payers import served_by
from conformance.outcome import Inconclusive
from conformance.target import Budgets, ProfileError
from conformance.target.chains import TABLES
from conformance.vocabulary.networks import network_named

_SECONDS: Final = 10.0


def with_networks(
    tables: Mapping[str, Mapping[str, Any]], offered: Mapping[str, str]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the chain tables with the key of the network that each node serves, and what is to be told about it.

    A node of a chain of its own, as simulated ones are, says nothing by itself: there the target's own word counts.

    Args:
        tables: Tables of `[chains]` by lane.
        offered: Network keys that the target offers, by lane.
    """
    asked = asyncio.run(_all(tables)) if tables else {}
    named, notes = dict[str, dict[str, Any]](), list[str]()
    for lane, table in tables.items():
        served = asked[lane]
        theirs = offered.get(lane)
        if isinstance(served, str) and served.startswith(f"{lane}_"):
            if theirs not in {None, served}:
                notes.append(f"the node of [chains.{lane}] serves {served}, and the target offers {theirs}")
        elif isinstance(served, Inconclusive):
            notes.append(f"the node of [chains.{lane}] did not report its network: {served}")
        known = served if isinstance(served, str) and served.startswith(f"{lane}_") else theirs
        named[lane] = {"network": known or f"{lane}_mainnet", **table}
    return named, notes


async def _all(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str | Inconclusive | None]:
    answers = await asyncio.gather(*(_served(lane, table) for lane, table in tables.items()))
    return dict(zip(tables, answers, strict=True))


async def _served(lane: str, table: Mapping[str, Any]) -> str | Inconclusive | None:
    """Return the key of the network, None where the node names none that is known, or why it was not told."""
    try:
        chain = TABLES[lane].model_validate(dict(table))
        told = await served_by(chain, Budgets(request=_SECONDS, confirmation=_SECONDS), Names())
    except Inconclusive as reason:
        return reason
    except (ProfileError, ValidationError) as fault:
        return Inconclusive(str(fault))
    known = network_named(told.caip2)
    return None if known is None else known.key
