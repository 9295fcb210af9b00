"""Discovered names of an agent, and the keys that must still be bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from conformance.target import AgentBindings

# The name of the part that reads validity, as a key of `unbound`.
VALIDITY: Final = "validity"
# Key of the discovery's messages. It is the same in every run, whichever check comes first.
PROBING_SEED = bytes(range(32))


@dataclass(frozen=True, slots=True)
class AgentDiscovery:
    """The discovered names of an agent.

    Attributes:
        bindings: Its names, bound or discovered.
        unbound: Why a part cannot be judged, with the key of the profile to bind. The parts are `VALIDITY`, and explain
            and sign by their paths.
    """

    bindings: AgentBindings
    unbound: Mapping[str, str] = field(default_factory=dict)
