"""Claims whose payer was told to come again while the node was away: they are decided when it is back (5.8).

What the chain shows to be paid is marked as paid at once, and is served whenever its proof comes again. What it does
not show lapses by the ordinary rule, and the time in which no look met a node does not count.

No claim lapses without a last look at its chain: a transaction may have become final after its payer was told to come
again, and its payer may not come. So a claim whose window is over is kept until a look has decided it.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.protocol.refusals import RETRYABLE, PaymentRefused
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proof import Collectors, PresentedProof
from reference.rail.claims.refusal_notes import RefusalNotes, is_second_payment
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock

_MOST_A_ROUND = 20
_AGAIN_SECONDS = 30


class UndecidedClaims:
    """Looks at kept claims, so many a lane and round."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        collectors: Collectors,
        ledger: Redemptions,
        notes: RefusalNotes,
        *,
        worker: str,
    ) -> None:
        self._window = settings.rail_settle_window + settings.skew_seconds
        self._clock = clock
        self._collectors = collectors
        self._ledger = ledger
        self._notes = notes
        self._worker = worker
        self._watch = LeaseWatch(settings.rail_lease_seconds)

    async def tend(self, available_lanes: Collection[str]) -> None:
        """Decide what can be decided on the lanes whose nodes are here."""
        for key in available_lanes:
            with suppress(ChainUnavailable):
                for claim in await self._ledger.list_kept_due(key, now=self._clock.now(), most=_MOST_A_ROUND):
                    await self._decide(claim)
            await self._look_at_lapsing(key)

    async def _look_at_lapsing(self, key: str) -> None:
        """Look a last time at claims whose window is over: their money may have arrived since their payer was here.

        What cannot be decided now is kept, so that it does not lapse before it is looked at again.
        """
        before = self._clock.lapsed_until() - self._window
        for claim in await self._ledger.list_lapsing(key, before=before, most=_MOST_A_ROUND):
            await self._ledger.keep(claim, now=self._clock.now())
            with suppress(ChainUnavailable):
                await self._decide(claim)

    async def _decide(self, claim: Redemption) -> None:
        """Look at one claim, unless another call works on it."""
        # First, so that one whose look fails does not keep the others from their turn.
        await self._ledger.postpone_check(claim, at=self._clock.now() + _AGAIN_SECONDS)
        if not (self._watch.has_run_out(claim) and await self._ledger.take_lease(claim, worker=self._worker)):
            return
        try:
            await self._look(claim)
        finally:
            await self._ledger.release(claim.id, worker=self._worker)

    async def _look(self, claim: Redemption) -> None:
        collector = self._collectors[claim.network]
        payment, code = None, "tx_not_found"
        try:
            payment = await collector.look(claim)
        except PaymentRefused as refusal:
            code = refusal.code
        now = self._clock.now()
        if payment is None:
            await self._let_go(claim, code, now)
        elif await self._ledger.mark_paid(claim, payment, worker=self._worker, now=now) is None:
            await self._drop_if_held(claim)  # another claim has this token or this payment

    async def _let_go(self, claim: Redemption, code: str, now: int) -> None:
        """Let a claim lapse that pays nothing now, or drop it where it cannot pay any more."""
        if code not in RETRYABLE:
            await self._notes.has_received(self._rebuild_proof(claim), code, claim.service_id)
            await self._ledger.drop_unpaid(claim.id)
            return
        since = await self._ledger.kept_since(claim)
        if since is None or since <= claim.expires_at + self._window:
            await self._ledger.let_go(claim, now=now)
        elif code == "tx_not_found":
            await self._ledger.drop_unpaid(claim.id)
        # Else it was on its way when its window was over: it is looked at again until it is final.

    async def _drop_if_held(self, claim: Redemption) -> None:
        row = await self._ledger.get(claim.id)
        if row is not None and row.lease == self._worker:
            proof = self._rebuild_proof(claim)
            rows = await self._ledger.find_involved(claim.token, claim.payment_key)
            if is_second_payment(rows, proof):
                await self._notes.has_received(proof, "payment_already_spent", claim.service_id)
            await self._ledger.drop_unpaid(claim.id)

    def _rebuild_proof(self, claim: Redemption) -> PresentedProof:
        return self._collectors[claim.network].rebuild_proof(claim)
