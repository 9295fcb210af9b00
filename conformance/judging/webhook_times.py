"""Whether a webhook signature's time is that of its delivery."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import is_stale
from conformance.surfaces import binding_hints
from conformance.surfaces.webhooks.signatures import header_of, usable_header
from conformance.webhook_receiver.inbox import Received

# Seconds. A delivery that was signed before the test clock was moved may arrive so long after it.
_UNDER_WAY_SECONDS = 10.0


def judge_time(case: Case, one: Received) -> None:
    """Judge WH-SIG-06 on one delivery.

    The time may be from before the last move of the target's test clock, if the delivery may have been on its way then.
    It is a breach if it is the time of an earlier attempt, or lies before any time that the clock can have shown.
    """
    header = usable_header(case, one)
    tolerance = case.profile.webhook_bindings.tolerance
    t = header.t or 0
    fresh = not is_stale(t, one.now, tolerance)
    # The test clock only moves forward, so no honest time is earlier than the arrival by the real clock.
    told_before = one.arrival.at - _UNDER_WAY_SECONDS - tolerance <= t < one.now
    if not fresh and told_before and one.since_move < _UNDER_WAY_SECONDS and not _is_kept(case, one, t):
        return
    hint = binding_hints.of_time(tolerance)
    case.expect("WH-SIG-06", fresh, f"within {tolerance} s", f"{t - one.now:+.0f} s", exchange=one, hint=hint)


def _is_kept(case: Case, one: Received, t: int) -> bool:
    """Return whether an earlier attempt of the same event at the same destination has the same time."""
    earlier = (other for other in case.session.inbox.deliveries if other.n < one.n and other.place == one.place)
    headers = (header_of(case, other) for other in earlier if other.id == one.id)
    return any(header is not None and header.t == t for header in headers)
