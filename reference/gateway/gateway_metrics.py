"""Metrics of a gateway: unmatched payments, the outbox, networks, the clock, the database, and calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reference.gateway.network_recency import NetworkRecency
from reference.store.database import Database, DatabaseUnavailable
from reference.store.deliveries import Deliveries
from reference.store.link_payments import UNMATCHED_STATES, Payments
from reference.web.clock import WpClock
from reference.web.http.metric_families import Gauge, Metric, describe_capacity, describe_lag

_STATES = (*(state.value for state in UNMATCHED_STATES), "refunded")
_PAYMENTS = "Payments that counted for no link, by why they did not; those that were given back are `refunded`."


class GatewayMetrics:
    """Metrics of one worker. Payments are those of all tenants in the database."""

    def __init__(
        self,
        payments: Payments,
        clock: WpClock,
        networks: Iterable[str],
        *,
        database: Database,
        deliveries: Deliveries,
        recency: NetworkRecency,
        calls: Callable[[], Iterable[Metric]],
    ) -> None:
        """Take the sources. Networks that are added later are measured, too."""
        self._payments = payments
        self._clock = clock
        self._networks = networks
        self._database = database
        self._deliveries = deliveries
        self._recency = recency
        self._calls = calls

    async def __call__(self) -> list[Metric]:
        """Return the present values, without those of the database while it is unavailable."""
        metrics = [
            *self._calls(),
            describe_capacity(self._database.count_connections()),
            describe_lag(self._recency.lags()),
            Gauge.single(
                "weldproof_gateway_clock_in_doubt",
                "1 while the clock is in doubt, so that no link is made and none ends.",
                float(self._clock.doubt is not None),
            ),
        ]
        try:
            counts = await self._payments.count_unmatched()
            deliveries, overdue_seconds = await self._deliveries.measure(now_ms=self._clock.now_ms())
        except DatabaseUnavailable:
            return [*metrics, _store_up(0.0)]
        # Every series exists from the beginning with 0. An alert on an increase would miss the first payment otherwise.
        values = {(state, network): 0.0 for state in _STATES for network in self._networks}
        values |= {key: float(count) for key, count in counts.items()}
        depths = {(state.value,): float(count) for state, count in deliveries.items()}
        return [
            *metrics,
            _store_up(1.0),
            Gauge("weldproof_gateway_payments", _PAYMENTS, ("state", "network"), values),
            Gauge(
                "weldproof_gateway_outbox_deliveries", "Deliveries of webhooks that are not ended.", ("state",), depths
            ),
            Gauge.single(
                "weldproof_gateway_outbox_overdue_seconds",
                "By how many seconds the delivery that waits longest is overdue.",
                overdue_seconds,
            ),
        ]


def _store_up(value: float) -> Gauge:
    return Gauge.single("weldproof_gateway_store_up", "1 when the database answers.", value)
