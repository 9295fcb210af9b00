"""How many unpaid claims a token has: a stranger's must not fill the ledger, nor push the owner's out (P-ST-08)."""

from __future__ import annotations

from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.protocol import redemption
from reference.protocol.challenge import Token
from reference.rail.claims.presented_proof import Collector
from reference.store.redemptions import Redemptions


async def make_room(ledger: Redemptions, collector: Collector, token: Token, *, is_away: bool) -> None:
    """Make room on a token: the oldest unpaid claim whose transaction the node does not know goes.

    While the node is away it cannot say which those are. So the oldest goes for which nothing was sent, and who is
    pushed out may come again: a lifetime that met an absence is longer by it.
    """
    claims = await ledger.unpaid_claims(token.text)
    if len(claims) < redemption.UNPAID_CLAIMS_PER_TOKEN:
        return
    for claim in claims:
        if is_away and claim.held_until is not None:
            continue
        with suppress(ChainUnavailable):
            if is_away or not await collector.is_known(claim):
                await ledger.drop_unpaid(claim.id)
                return
