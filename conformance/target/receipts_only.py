"""Which rows apply to a gateway that verifies receipts and does nothing else."""

from __future__ import annotations

from typing import Final

from conformance.ledger import Requirement
from conformance.target import Profile
from conformance.vocabulary.profile_claims import RECEIPTS_ONLY

_GATEWAY: Final = "gateway"
# What holds of the one operation that it has, and of every answer; limits of tenants and of creations are not its own.
_APPLY: Final = ("GW-RCPT", "GW-ERR")
_APPLY_TOO: Final = frozenset({"GW-HTTP-03", "GW-HTTP-06", "GW-HTTP-07", "GW-HTTP-08", "GW-HTTP-10", "X-DIFF-02"})


def left_out(row: Requirement, profile: Profile) -> str | None:
    """Return why a row does not apply where the profile claims that the gateway verifies receipts only, else None."""
    if RECEIPTS_ONLY not in profile.claims.options or _GATEWAY not in {row.surface, *row.surfaces}:
        return None
    if row.id in _APPLY_TOO or row.id.rpartition("-")[0] in _APPLY:
        return None
    return f"the profile claims the option {RECEIPTS_ONLY}, so that there is nothing of this"
