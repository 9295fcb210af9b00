"""The chain nodes of a profile: one table for each lane, with its payer and spending limit."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from pydantic import create_model

from conformance.target.chain import Chain
from conformance.target.tables import Table
from conformance.vocabulary.lanes.registry import FACTS

T = TypeVar("T", bound=Table)
TABLES: Final[Mapping[str, type[Chain]]] = {
    lane: import_module(f"conformance.target.lanes.{lane}").TABLE for lane in FACTS
}


def _with_a_key_a_lane(kind: type[T]) -> type[T]:
    """Return a model with an additional key for each lane: the lane's table, or None."""
    # The keys are generated, so that a new lane needs no change here.
    keys: dict[str, Any] = {lane: (table | None, None) for lane, table in TABLES.items()}
    meanings = "".join(f"    {lane}: The {FACTS[lane].main.name} node.\n" for lane in TABLES)
    docstring = f"{kind.__doc__}\n\nAttributes:\n{meanings}"
    return create_model(kind.__name__, __base__=kind, __module__=kind.__module__, __doc__=docstring, **keys)


@_with_a_key_a_lane
class Chains(Table):
    """The chain nodes, one table a lane."""

    def of(self, lane: str) -> Chain | None:
        """Return the table of a lane, or None."""
        table: Chain | None = getattr(self, lane, None)
        return table
