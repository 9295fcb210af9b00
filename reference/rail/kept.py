"""Claims whose payer was told to come again while the node was away: they are decided when it is back (5.8).

What the chain shows to be paid is marked as paid at once, and is served whenever its proof comes again. What it does
not show lapses by the ordinary rule, and the time in which no look met a node does not count.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.protocol.refusals import RETRYABLE, PaymentRefused
from reference.rail.collecting import Collectors
from reference.rail.leases import LeaseWatch
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock

_MOST_A_ROUND = 20
_AGAIN_SECONDS = 30


class KeptClaims:
    """Looks at kept claims, so many a lane and round."""

    def __init__(
        self, settings: RailSettings, clock: WpClock, collectors: Collectors, ledger: Redemptions, *, worker: str
    ) -> None:
        self._clock = clock
        self._collectors = collectors
        self._ledger = ledger
        self._worker = worker
        self._watch = LeaseWatch(settings.rail_lease_seconds)

    async def tend(self, here: Collection[str]) -> None:
        """Decide what can be decided on the lanes whose nodes are here."""
        for key in here:
            with suppress(ChainUnavailable):
                for claim in await self._ledger.kept_on(key, now=self._clock.now(), most=_MOST_A_ROUND):
                    await self._decide(claim)

    async def _decide(self, claim: Redemption) -> None:
        """Look at one claim, unless somebody works on it."""
        # First, so that one whose look fails does not keep the others from their turn.
        await self._ledger.look_later(claim, at=self._clock.now() + _AGAIN_SECONDS)
        if not (self._watch.has_run_out(claim) and await self._ledger.take_lease(claim, worker=self._worker)):
            return
        try:
            await self._look(claim)
        finally:
            await self._ledger.release(claim.id, worker=self._worker)

    async def _look(self, claim: Redemption) -> None:
        try:
            payment = await self._collectors[claim.network].look(claim)
        except PaymentRefused as refusal:
            if refusal.code not in RETRYABLE:
                await self._ledger.drop_unpaid(claim.id)
                return
            payment = None
        now = self._clock.now()
        if payment is None:
            await self._ledger.let_go(claim, now=now)
        elif await self._ledger.mark_paid(claim, payment, worker=self._worker, now=now) is None:
            await self._drop_if_held(claim)  # another claim has this token or this payment

    async def _drop_if_held(self, claim: Redemption) -> None:
        there = await self._ledger.get(claim.id)
        if there is not None and there.lease == self._worker:
            await self._ledger.drop_unpaid(claim.id)
