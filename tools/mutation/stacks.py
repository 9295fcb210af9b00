"""The stacks on which mutants are tried: one surface each, and a lane where it is paid on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class StackKind:
    """What a stack runs.

    Attributes:
        surfaces: Surfaces whose rows are run, as the ledger names them; webhooks come with the gateway.
        lanes: Lanes that are offered.
    """

    surfaces: tuple[str, ...]
    lanes: tuple[str, ...] = ()


# What runs longer comes later: a mutant that several reach is tried on one after the other until a row fails.
STACKS: Final = {
    "agent": StackKind(("agent",), ("algorand",)),
    "rail": StackKind(("rail",), ("algorand",)),
    "gateway": StackKind(("gateway", "webhooks"), ("algorand",)),
    "rail-base": StackKind(("rail",), ("base",)),
    "rail-solana": StackKind(("rail",), ("solana",)),
    "gateway-base": StackKind(("gateway", "webhooks"), ("base",)),
    "gateway-solana": StackKind(("gateway", "webhooks"), ("solana",)),
    "control_plane": StackKind(("control_plane",)),
}
