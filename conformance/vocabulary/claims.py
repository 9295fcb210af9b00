"""The names a target profile may claim, apart from the profile: commands offer them without reading one."""

from __future__ import annotations

from typing import Final

from conformance.vocabulary.lanes.registry import FACTS

SURFACES: Final = ("rail", "gateway", "agent", "control_plane", "webhooks", "shared")
LANES: Final = tuple(FACTS)
# A gateway that verifies receipts and has no links, resources or screening: its other rows do not apply.
RECEIPTS_ONLY: Final = "gateway.receipts_only"
OPTIONS: Final = ("rail.a2a", "rail.agent_card", RECEIPTS_ONLY)
