"""Observers: the values of each open point that a run showed, computed from the recorded exchanges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.log.events import Event
from conformance.selftest.observations import a2a, agent, gateway, gateway_events, http, hub, rail
from conformance.selftest.observations.observed_exchanges import Observer, Wire

# Never from the values that the chameleon drew: an observer that read them would report a point as seen although no
# answer of the run contained it.
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
    """Return the sorted values of each point that a run's log shows; empty for a point that it does not show."""
    wire = Wire(events)
    return {point: tuple(sorted(set(observe(wire)))) for point, observe in OBSERVERS.items()}
