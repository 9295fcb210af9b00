"""Eviction of unpaid claims: strangers must neither fill the ledger nor evict the payer's claim (P-ST-08)."""

from __future__ import annotations

from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.protocol import redemption
from reference.protocol.challenge import Token
from reference.rail.claims.presented_proofs import Collector
from reference.store.redemptions import Redemptions


async def make_room(ledger: Redemptions, collector: Collector, token: Token, *, is_away: bool) -> None:
    """Make room on a token: the oldest unpaid claim is evicted whose transaction the node does not know.

    While the node is away it cannot say which those are. Then the oldest claim is evicted for which nothing was sent.
    Its payer may present again, because an absence prolongs the lifetime of the token (P-ST-01).
    """
    claims = await ledger.unpaid_claims(token.text)
    if len(claims) < redemption.UNPAID_CLAIMS_PER_TOKEN:
        return
    # A token can be public on its chain, so any client can claim on it. A claim that names a real transaction costs
    # money to fake, so it is never evicted for an invented one.
    for claim in claims:
        # A settlement was sent for this claim: the rail itself may have moved the money.
        if is_away and claim.held_until is not None:
            continue
        with suppress(ChainUnavailable):
            if is_away or not await collector.is_known(claim):
                await ledger.drop_unpaid(claim.id)
                return
