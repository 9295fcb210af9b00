"""Metrics of a rail for operators: payments by state, lanes and their nodes, the clock, the database, and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reference.lanes.registry import descriptor_of
from reference.protocol.networks import NETWORKS
from reference.protocol.redemption import State
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.settlement.settler import FAILURES_REMEMBERED
from reference.store.database import Database, DatabaseUnavailable
from reference.store.redemptions import Redemptions
from reference.store.settlements import Settlements
from reference.store.unserved_payments import UnservedPayments, UnservedState
from reference.web.clock import WpClock
from reference.web.http.metric_families import CounterMetric, Gauge, Metric, describe_capacity, describe_lag

_PAYMENTS_HELP = "Payments that were not served, by state and network; those that were given back for ever."

_FAILED_SETTLEMENTS_HELP = "Settlements that were mined as failed within the last hour, at the rail's cost."

_REDEMPTIONS_HELP = "Redemptions that entered a state by the work of this worker."
_ENTERED = (State.UNPAID, State.PAID, State.SPENT)


class RailMeasures:
    """Measures of one worker. Payments are those of the database, the same at every worker of it."""

    def __init__(
        self,
        unserved_payments: UnservedPayments,
        settlements: Settlements,
        lane_health: LaneHealth,
        clock: WpClock,
        lanes: Sequence[str],
        *,
        database: Database,
        ledger: Redemptions,
        calls: Callable[[], Iterable[Metric]],
    ) -> None:
        self._unserved = unserved_payments
        self._settlements = settlements
        self._lane_health = lane_health
        self._clock = clock
        self._lanes = tuple(lanes)
        self._database = database
        self._ledger = ledger
        self._calls = calls

    async def __call__(self) -> list[Metric]:
        """Return the metrics as they are now; without payments while the database cannot be asked."""
        away = set(self._lane_health.unavailable_lanes)
        # Every combination is listed, also at 0: an alert on a missing series would never fire.
        moves = {(state.value, lane): 0.0 for state in _ENTERED for lane in self._lanes}
        moves |= {(state.value, lane): float(count) for (state, lane), count in self._ledger.moves.items()}
        gauges: list[Metric] = [
            *self._calls(),
            describe_capacity(self._database.count_connections()),
            describe_lag(self._lane_health.lags()),
            CounterMetric("weldproof_rail_redemptions", _REDEMPTIONS_HELP, ("state", "network"), moves),
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
