"""Names that a target profile may claim, separate from the profile, so that commands can list them without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.vocabulary.lanes.registry import FACTS

SURFACES: Final = ("rail", "gateway", "agent", "control_plane", "webhooks", "payer", "shared")
LANES: Final = tuple(FACTS)
# When a simulator that knows modes makes blocks: at intervals, on demand (DevMode), or in ordinary rounds.
BLOCK_MODES: Final = ("steady", "dev", "rounds")
# A gateway that verifies receipts and has no links, resources or screening: its other rows do not apply.
RECEIPTS_ONLY: Final = "gateway.receipts_only"
# What the interface leaves open for a gateway and the specification decides: every member of links and resources (3.4,
# 3.8), the calls and the end of a checkout (3.5), and how tenants are administered and their trial is kept (3.9, 3.10).
RECORDS: Final = "gateway.records"
CHECKOUT: Final = "gateway.checkout"
TENANTS: Final = "gateway.tenants"
# The settlement response of a refused payment, which x402 version 2 defines and the interface leaves open (P-ER-01).
PAYMENT_RESPONSE: Final = "rail.payment_response"
# A 402 whose header fields fit into the buffer of a stock proxy (P-CH-02).
SHORT_HEADERS: Final = "rail.short_headers"
# A payer that also pays checkout links (10.6).
PAYER_CHECKOUT: Final = "payer.checkout"
# A payer that also orders and pays over A2A (10.7).
PAYER_A2A: Final = "payer.a2a"
# The option of rows that judge a target only if it claims the specification (`[claims] specification`).
SPECIFICATION: Final = "specification"
# What a target that claims the specification offers on each surface. A2A and the agent card are options of the
# specification itself (5.11), so they are claimed separately.
IMPLIED_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "rail": (PAYMENT_RESPONSE, SHORT_HEADERS),
    "gateway": (RECORDS, CHECKOUT, TENANTS),
}
OPTIONS: Final = (
    *("rail.a2a", "rail.agent_card", PAYMENT_RESPONSE, SHORT_HEADERS),
    *(RECEIPTS_ONLY, RECORDS, CHECKOUT, TENANTS, PAYER_CHECKOUT, PAYER_A2A),
)
