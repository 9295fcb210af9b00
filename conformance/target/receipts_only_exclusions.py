"""The option `gateway.receipts_only`: rows that do not apply to a gateway which only verifies receipts."""

from __future__ import annotations

from typing import Final

from conformance.ledger import Requirement
from conformance.target import Profile
from conformance.vocabulary.profile_claims import RECEIPTS_ONLY

_GATEWAY: Final = "gateway"
# Rows about receipt verification and about every answer. Such a gateway has no limits of tenants or creations.
_APPLY: Final = ("GW-RCPT", "GW-ERR")
_APPLY_TOO: Final = frozenset({"GW-HTTP-03", "GW-HTTP-06", "GW-HTTP-07", "GW-HTTP-08", "GW-HTTP-10", "X-DIFF-02"})


def left_out(row: Requirement, profile: Profile) -> str | None:
    """Return why a row does not apply to a gateway that only verifies receipts; None if it applies."""
    if not profile.claims.includes(RECEIPTS_ONLY) or _GATEWAY not in {row.surface, *row.surfaces}:
        return None
    if row.id in _APPLY_TOO or row.id.rpartition("-")[0] in _APPLY:
        return None
    return f"the profile claims the option {RECEIPTS_ONLY}, so the gateway has no such part"
