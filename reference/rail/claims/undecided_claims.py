"""Undecided claims: their payers were asked to try again while the node was away; they are decided later (5.8).

A claim that the chain shows as paid is marked as paid at once, and is served when its proof is presented again. Any
other lapses by the ordinary rule, and the time in which no look met a node does not count.

No claim lapses without a last look at its chain: a transaction may become final after its payer was asked to try again,
and the payer may not do so. So a claim whose window is over is kept until a look has decided it.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.protocol.refusals import RETRYABLE, PaymentRefused
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proofs import Collectors, PresentedProof
from reference.rail.claims.refused_payment_notes import RefusalNotes, is_second_payment
from reference.rail.periodic import LAPSE_SECONDS, LOOK_SECONDS, Interval
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock

# Twenty claims a lane and second (decision 0044): an outage leaves thousands, and the node must answer paid calls as
# well.
_MOST_A_ROUND = 20
_AGAIN_SECONDS = 30


class UndecidedClaims:
    """Decides kept claims, a bounded number for each lane and round."""

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
        self._kept = {key: Interval(LOOK_SECONDS) for key in collectors}
        self._lapsing = {key: Interval(LAPSE_SECONDS) for key in collectors}

    async def tend(self, available_lanes: Collection[str]) -> None:
        """Decide kept claims on the lanes whose nodes are available."""
        for key in available_lanes:
            now = self._clock.now()
            if self._kept[key].is_over(now):
                with suppress(ChainUnavailable):
                    for claim in await self._ledger.list_kept_due(key, now=now, most=_MOST_A_ROUND):
                        await self._decide(claim)
            if self._lapsing[key].is_over(self._clock.lapsed_until()):
                await self._look_at_lapsing(key)

    async def _look_at_lapsing(self, key: str) -> None:
        """Look a last time at claims whose window is over: the money may have arrived since the last presentation.

        A claim that cannot be decided now is kept, so that it does not lapse before the next look.
        """
        before = self._clock.lapsed_until() - self._window
        for claim in await self._ledger.list_lapsing(key, before=before, most=_MOST_A_ROUND):
            await self._ledger.keep(claim, now=self._clock.now())
            with suppress(ChainUnavailable):
                await self._decide(claim)

    async def _decide(self, claim: Redemption) -> None:
        """Look at one claim, unless another call works on it."""
        # First, so that a claim whose look fails does not take the place of the others in the next round.
        await self._ledger.postpone_check(claim, at=self._clock.now() + _AGAIN_SECONDS)
        # A paid call may be working on the claim now; two that judge it at once could both mark it.
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
            # The row is unpaid and yet could not be marked: another claim has this token or this payment.
            await self._drop_if_held(claim)

    async def _let_go(self, claim: Redemption, code: str, now: int) -> None:
        """Let a claim lapse that is not paid now, or drop it if it cannot be paid any more."""
        if code not in RETRYABLE:
            await self._notes.has_received(self._rebuild_proof(claim), code, claim.service_id)
            await self._ledger.drop_unpaid(claim.id)
            return
        since = await self._ledger.kept_since(claim)
        if since is None or since <= claim.expires_at + self._window:
            await self._ledger.let_go(claim, now=now)
        elif code == "tx_not_found":
            await self._ledger.drop_unpaid(claim.id)
        # Else the transaction was on its way when the window ended: the claim is kept until that is final (P-ST-11).

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
