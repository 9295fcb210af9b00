"""Housekeeping of the ledger between calls: deletion of outdated rows, and rechecks of payments (P-ST-07)."""

from __future__ import annotations

from contextlib import suppress

from reference.lanes.lane import ChainUnavailable
from reference.lanes.newest_block import refuse_behind
from reference.protocol.observed_transaction import TxStatus
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.claims.presented_proofs import Collectors
from reference.rail.periodic import CLEAN_SECONDS, LOOK_SECONDS, Interval
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import Signer
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.refused_payments import LISTED_SECONDS, RefusedPayments
from reference.store.shared_values import SharedFacts
from reference.web.clock import WpClock


class Housekeeping:
    """Tends one rail's ledger each time that it is called, and cleans it once a minute."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        collectors: Collectors,
        ledger: Redemptions,
        signer: Signer,
        lane_health: LaneHealth,
        refused_payments: RefusedPayments,
        turns: SharedFacts,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._collectors = collectors
        self._ledger = ledger
        self._signer = signer
        self._lane_health = lane_health
        self._refused_payments = refused_payments
        self._turns = turns
        self._cleaning = Interval(CLEAN_SECONDS)
        self._rechecks = Interval(LOOK_SECONDS)

    async def tend(self) -> None:
        """Delete outdated rows, and check payments again that were served some minutes ago (P-ST-07)."""
        # In doubt over the time this is 0, so that a wrong clock deletes nothing by age (P-ST-04, decision 0043).
        now = self._clock.lapsed_until()
        # One of the workers cleans in each interval. In doubt none does, as nothing has certainly expired.
        is_due = self._cleaning.is_over(now) and now
        if is_due and await self._turns.take_turn("clean-up", now=now, seconds=CLEAN_SECONDS):
            await self._clean(now)
        for key, collector in self._collectors.items():
            # A lane whose node is away must not hold up the other lanes; the next round asks again.
            with suppress(ChainUnavailable):
                self._lane_health.refuse_unchecked(key)
                await collector.tend()
        if self._rechecks.is_over(now):
            rows = await self._ledger.due_for_recheck(now)
            # Only one worker asks the chains in each interval. A second one would get the same answers.
            is_ours = rows and await self._turns.take_turn("rechecks", now=now, seconds=LOOK_SECONDS)
            for row in rows if is_ours else ():
                with suppress(ChainUnavailable):
                    await self._recheck(row)

    async def _clean(self, now: int) -> None:
        least = now - self._settings.skew_seconds
        # Claims lapse after a last look (`UndecidedClaims`). Here only those are deleted whose lane no worker has any
        # more. LISTED_SECONDS more keep them in the operator's list for a while.
        await self._ledger.forget(
            unpaid_before=least - self._settings.rail_settle_window - LISTED_SECONDS,
            answers_before=least - self._settings.rail_store_seconds,
        )
        await self._refused_payments.forget(now=now)

    async def _recheck(self, row: Redemption) -> None:
        collector = self._collectors.get(row.network)
        if collector is None:
            return
        self._lane_health.refuse_unchecked(row.network)
        transaction = await collector.lane.observe(row.tx_id)
        if transaction.status is TxStatus.ABSENT:
            # A node that lags does not know recent transactions. Without this check it would have a good payment
            # attested as reversed (P-ST-07).
            await refuse_behind(collector.lane, self._settings.rail_node_behind_seconds)
        # Only ABSENT and FAILED say that a reorganisation removed the payment. PENDING may still be mined again.
        is_gone = transaction.status in {TxStatus.ABSENT, TxStatus.FAILED}
        attestation = self._signer.make_attestation(row, "REVERSED") if is_gone else None
        await self._ledger.record_recheck(row.id, attestation=attestation)
