"""Metrics of a gateway: unmatched payments, and a clock in doubt."""

from __future__ import annotations

from collections.abc import Iterable

from reference.store.database import DatabaseUnavailable
from reference.store.payments import UNMATCHED_STATES, Payments
from reference.web.clock import WpClock
from reference.web.http.metrics import Gauge

_STATES = (*(state.value for state in UNMATCHED_STATES), "refunded")
_PAYMENTS = "Payments that counted for no link, by why they did not; those that were given back are `refunded`."


class GatewayMetrics:
    """Metrics of one worker. Payments are those of all tenants in the database."""

    def __init__(self, payments: Payments, clock: WpClock, networks: Iterable[str]) -> None:
        """Take the sources. Networks that are added later are measured, too."""
        self._payments = payments
        self._clock = clock
        self._networks = networks

    async def __call__(self) -> list[Gauge]:
        """Return the present values, without those of payments while the database is unavailable."""
        doubt = Gauge.single(
            "weldproof_gateway_clock_in_doubt",
            "1 while the clock is in doubt, so that no link is made and none ends.",
            float(self._clock.doubt is not None),
        )
        try:
            counts = await self._payments.count_unmatched()
        except DatabaseUnavailable:
            return [doubt, _store_up(0.0)]
        # Every series exists from the beginning with 0. An alert on an increase would miss the first payment otherwise.
        values = {(state, network): 0.0 for state in _STATES for network in self._networks}
        values |= {key: float(count) for key, count in counts.items()}
        return [doubt, _store_up(1.0), Gauge("weldproof_gateway_payments", _PAYMENTS, ("state", "network"), values)]


def _store_up(value: float) -> Gauge:
    return Gauge.single("weldproof_gateway_store_up", "1 when the database answers.", value)
