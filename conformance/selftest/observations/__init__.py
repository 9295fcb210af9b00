"""Which values of each open point a run showed: computed from what was on the wire, never from what was drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.log.events import Event
from conformance.selftest.observations import a2a, agent, gateway, gateway_events, http, hub, rail
from conformance.selftest.observations.wire import Observer, Wire

OBSERVERS: Mapping[str, Observer] = {
    **http.OBSERVERS,
    **rail.OBSERVERS,
    **a2a.OBSERVERS,
    **gateway.OBSERVERS,
    **gateway_events.OBSERVERS,
    **agent.OBSERVERS,
    **hub.OBSERVERS,
}


def observe_run(events: Sequence[Event]) -> dict[str, tuple[str, ...]]:
    """Return the values that a run's log shows of each point, sorted; none of a point that it does not show."""
    wire = Wire(events)
    return {point: tuple(sorted(set(observe(wire)))) for point, observe in OBSERVERS.items()}
