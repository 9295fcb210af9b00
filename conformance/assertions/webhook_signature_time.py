"""Whether a webhook signature's time is that of its delivery."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import is_stale
from conformance.surfaces import binding_hints
from conformance.surfaces.webhooks.signatures import header_of, usable_header
from conformance.webhook_receiver.inbox import Received

# Seconds. A delivery that was signed before the test clock was moved may arrive so long after it.
_UNDER_WAY_SECONDS = 10.0


def judge_time(case: Case, delivery: Received) -> None:
    """Judge WH-SIG-06 on one delivery.

    The time may be from before the last move of the target's test clock, if the delivery may have been on its way then.
    It is a breach if it is the time of an earlier attempt, or lies before any time that the clock can have shown.
    """
    header = usable_header(case, delivery)
    tolerance = case.profile.webhook_bindings.tolerance
    t = header.t or 0
    is_fresh = not is_stale(t, delivery.now, tolerance)
    # The test clock only moves forward, so no honest time is earlier than the arrival by the real clock.
    may_be_earlier = delivery.arrival.at - _UNDER_WAY_SECONDS - tolerance <= t < delivery.now
    if (
        not is_fresh
        and may_be_earlier
        and delivery.since_move < _UNDER_WAY_SECONDS
        and not _repeats_earlier_time(case, delivery, t)
    ):
        return
    hint = binding_hints.of_time(tolerance)
    case.expect(
        "WH-SIG-06", is_fresh, f"within {tolerance} s", f"{t - delivery.now:+.0f} s", exchange=delivery, hint=hint
    )


def _repeats_earlier_time(case: Case, delivery: Received, t: int) -> bool:
    """Return whether an earlier attempt of the same event at the same destination has the same time."""
    earlier_attempts = (
        other for other in case.session.inbox.deliveries if other.n < delivery.n and other.place == delivery.place
    )
    headers = (header_of(case, other) for other in earlier_attempts if other.id == delivery.id)
    return any(header is not None and header.t == t for header in headers)
