"""The names a target profile may claim, apart from the profile: commands offer them without reading one."""

from __future__ import annotations

from typing import Final

SURFACES: Final = ("rail", "gateway", "agent", "control_plane", "webhooks", "shared")
LANES: Final = ("algorand", "base", "solana")
# A gateway that verifies receipts and has no links, resources or screening: its other rows do not apply.
RECEIPTS_ONLY: Final = "gateway.receipts_only"
OPTIONS: Final = ("rail.a2a", "rail.agent_card", RECEIPTS_ONLY)
