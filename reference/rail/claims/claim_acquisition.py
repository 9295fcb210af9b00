"""Finding or making the claim of a proof, under the lease of this worker: step 13 of specification 5.7 (P-ST-06).

A token has at most a few unpaid claims, and a claim is worked on by one worker at a time. A claim without a holder, or
one whose holder does not renew its lease, is taken over.
"""

from __future__ import annotations

import time

from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.claim_eviction import make_room
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proofs import POLL_SECONDS, Collectors, PresentedProof, in_progress
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import NewClaim, Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock
from reference.web.process.shutdown import SHUTDOWN


class ClaimFinder:
    """Finds, makes and takes over the claims of one worker."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        collectors: Collectors,
        ledger: Redemptions,
        eligibility: Eligibility,
        *,
        worker: str,
        lane_health: LaneHealth | None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._collectors = collectors
        self._ledger = ledger
        self._eligibility = eligibility
        self._worker = worker
        self._lane_health = lane_health
        self._order = time.time_ns()
        self._watch = LeaseWatch(settings.rail_lease_seconds)

    async def find_or_make(
        self, proof: PresentedProof, call: Call, claim: Redemption | None, *, is_crowded: bool = True
    ) -> Redemption:
        """Return the claim row under this worker's lease: a new one, or one whose worker is gone (P-ST-06)."""
        if claim is None:
            # The first query has shown whether the token has so many claims; otherwise a second query would be wasted
            # on each call.
            if is_crowded:
                away = self._lane_health is not None and proof.terms.network not in self._lane_health.available_lanes
                await make_room(self._ledger, self._collectors[proof.terms.network], proof.token, is_away=away)
            # Claims are evicted in this order (P-ST-08). The clock alone would give two claims of one moment the same
            # place.
            self._order = max(self._order + 1, time.time_ns())
            now = self._clock.now()
            new = NewClaim(
                token=proof.token.text,
                payment_key=proof.payment_key,
                request_hash=call.request_hash,
                service_id=call.service.id,
                network=proof.terms.network,
                tx_id=proof.tx_id,
                amount=proof.terms.amount,
                pay_to=proof.terms.pay_to,
                expires_at=max(proof.token.unix + self._settings.challenge_ttl, now),
            )
            # The rail follows a settlement without its payer, and then needs the request to answer it.
            request = None if proof.authorization is None else call.canonical_body
            # The insert decides between callers with the same proof, here and in other workers: one gets the row, the
            # others join it (P-ST-05).
            row = await self._ledger.claim(new, worker=self._worker, now=now, order=self._order, request=request)
            if row is not None:
                return row
            rows = await self._ledger.find_involved(proof.token.text, proof.payment_key)
            self._eligibility.refuse_foreign(rows, proof, call)
            claim = find_claim(rows, proof)
        return await self._take_over(proof, call, claim)

    async def _take_over(self, proof: PresentedProof, call: Call, claim: Redemption | None) -> Redemption:
        """Wait for another worker's answer; take the row when its lease is free or has run out."""
        # P-ST-05: identical proofs wait ten seconds for the worker that has the row, by monotonic time as every wait
        # inside a call.
        ends = time.monotonic() + self._settings.rail_join_wait
        while claim is not None and not claim.is_over:
            if self._watch.has_run_out(claim) and await self._ledger.take_lease(claim, worker=self._worker):
                row = await self._ledger.get(claim.id)
                if row is not None:
                    return row
            if time.monotonic() > ends or SHUTDOWN.is_signalled:
                raise in_progress()
            await SHUTDOWN.pause(POLL_SECONDS)
            claim = await self._ledger.get(claim.id)
        if claim is None:
            return await self.find_or_make(proof, call, None)
        return claim


def find_claim(rows: list[Redemption], proof: PresentedProof) -> Redemption | None:
    """Return the claim among some rows that was made with a proof, or None."""
    key = (proof.token.text, proof.payment_key)
    return next((row for row in rows if (row.token, row.payment_key) == key), None)
