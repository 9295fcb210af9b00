"""What asking an agent told of its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from conformance.target import AgentBindings

VALIDITY: Final = "validity"
# For asking before the first check: the same in every run, whichever check is first.
PROBING_SEED = bytes(range(32))


@dataclass(frozen=True, slots=True)
class AgentDiscovery:
    """What asking told of an agent.

    Attributes:
        bindings: Its names, bound or found.
        unbound: Why something cannot be judged, with the key of the profile to bind: of `VALIDITY`, of explain and of
            sign (by their paths).
    """

    bindings: AgentBindings
    unbound: Mapping[str, str] = field(default_factory=dict)
