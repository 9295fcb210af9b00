"""Metrics of a rail for operators: payments by state, lanes that are away, and a clock in doubt."""

from __future__ import annotations

from collections.abc import Sequence

from reference.lanes.registry import descriptor_of
from reference.protocol.networks import NETWORKS
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.settlement.settler import FAILURES_REMEMBERED
from reference.store.database import DatabaseUnavailable
from reference.store.settlements import Settlements
from reference.store.unserved_payments import UnservedPayments, UnservedState
from reference.web.clock import WpClock
from reference.web.http.metrics import Gauge

_PAYMENTS_HELP = "Payments that were not served, by state and network; those that were given back for ever."

_FAILED_SETTLEMENTS_HELP = "Settlements that were mined as failed within the last hour, at the rail's cost."


class RailMeasures:
    """Measures of one worker. Payments are those of the database, the same at every worker of it."""

    def __init__(
        self,
        unserved_payments: UnservedPayments,
        settlements: Settlements,
        lane_health: LaneHealth,
        clock: WpClock,
        lanes: Sequence[str],
    ) -> None:
        self._unserved = unserved_payments
        self._settlements = settlements
        self._lane_health = lane_health
        self._clock = clock
        self._lanes = tuple(lanes)

    async def __call__(self) -> list[Gauge]:
        """Return the gauges as they are now; without payments while the database cannot be asked."""
        away = set(self._lane_health.unavailable_lanes)
        gauges = [
            Gauge(
                "weldproof_rail_lane_away",
                "1 while the node of a lane is away, so that it is not offered.",
                ("network",),
                {(lane,): float(lane in away) for lane in self._lanes},
            ),
            Gauge.single(
                "weldproof_rail_clock_in_doubt",
                "1 while the clock is in doubt, so that nothing is quoted and nothing lapses.",
                float(self._clock.doubt is not None),
            ),
        ]
        try:
            now = self._clock.now()
            counts = await self._unserved.count_by_state(now=now)
            failure_counts = await self._settlements.all_failures(since=now - FAILURES_REMEMBERED)
        # A scrape must not fail when monitoring is needed most: without a database it still reports lanes, clock and
        # the outage.
        except DatabaseUnavailable:
            counts, failure_counts = None, {}
        up = Gauge.single("weldproof_rail_ledger_up", "1 when the database answers.", float(counts is not None))
        if counts is None:
            return [*gauges, up]
        # Every combination is listed, also at 0: an alert on a missing series would never fire.
        values = {(state.value, lane): 0.0 for state in UnservedState for lane in self._lanes}
        values |= {(state.value, network): float(count) for (state, network), count in counts.items()}
        failures = {
            (lane,): float(failure_counts.get(NETWORKS[lane].caip2, 0)) for lane in self._lanes if _settles(lane)
        }
        return [
            *gauges,
            up,
            Gauge("weldproof_rail_payments", _PAYMENTS_HELP, ("state", "network"), values),
            Gauge("weldproof_rail_failed_settlements", _FAILED_SETTLEMENTS_HELP, ("network",), failures),
        ]


def _settles(lane: str) -> bool:
    descriptor = descriptor_of(NETWORKS[lane])
    return descriptor is not None and descriptor.settles
