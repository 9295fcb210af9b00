"""Paths of the agent's nine operations, by the interface's table."""

from __future__ import annotations

from typing import Final

VERIFY: Final = "/verify/rfc9421"
EXPLAIN: Final = "/verify/rfc9421/explain"
SIGN: Final = "/verify/rfc9421/sign"
A2A: Final = "/a2a"
CARD: Final = "/.well-known/agent-card.json"
LEGACY_CARD: Final = "/.well-known/agent.json"
HEALTH: Final = "/health"
LANDING_PAGE: Final = "/"
# Method and path of each. Checks about every operation, such as wrong methods, go over this list.
OPERATIONS: Final = (
    *(("GET", path) for path in (CARD, LEGACY_CARD, HEALTH)),
    *(("POST", path) for path in (VERIFY, EXPLAIN, SIGN)),
    ("GET", A2A),
    ("POST", A2A),
    ("GET", LANDING_PAGE),
)
