"""Whether a webhook signature's time is that of its delivery."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import is_stale
from conformance.surfaces import binding_hints
from conformance.surfaces.webhooks.paid_links import PaidLink
from conformance.surfaces.webhooks.signature_verification import header_of, usable_header
from conformance.webhook_receiver.inbox import Received

_CLOCK_STEP_SECONDS = 1


def judge_time(case: Case, sale: PaidLink, delivery: Received) -> None:
    """Judge WH-SIG-06 on one delivery of a sale.

    A delivery that was signed before the test clock was moved, and arrives after that, has a time that no verdict can
    rest on. Only the order of events shows this, since a slow machine delays a delivery by any number of seconds. It is
    a breach in any case if the time is before the payment, or is not later than that of an earlier attempt.
    """
    t, tolerance = usable_header(case, delivery).t or 0, case.profile.webhook_bindings.tolerance
    is_fresh = not is_stale(t, delivery.now, tolerance)
    if not is_fresh and not repeats_earlier_time(case, delivery) and _may_be_from_before_move(sale, delivery, t):
        return
    hint = binding_hints.of_time(tolerance)
    case.expect(
        "WH-SIG-06", is_fresh, f"within {tolerance} s", f"{t - delivery.now:+.0f} s", exchange=delivery, hint=hint
    )


def is_stale_copy(case: Case, delivery: Received) -> bool:
    """Return whether a delivery has the time of an earlier attempt, and is therefore refused as a replay."""
    t = usable_header(case, delivery).t or 0
    return is_stale(t, delivery.now, case.profile.webhook_bindings.tolerance) and repeats_earlier_time(case, delivery)


def repeats_earlier_time(case: Case, delivery: Received) -> bool:
    """Return whether an earlier attempt of the event at the same destination has the same time, or a later one."""
    t = usable_header(case, delivery).t or 0
    earlier_attempts = (
        other for other in case.session.inbox.deliveries if other.n < delivery.n and other.place == delivery.place
    )
    headers = (header_of(case, other) for other in earlier_attempts if other.id == delivery.id)
    return any(header is not None and header.t is not None and header.t >= t for header in headers)


def _may_be_from_before_move(sale: PaidLink, delivery: Received, t: int) -> bool:
    """Return whether the test clock was moved after the payment, and the time is from between the payment and now."""
    clock_offset = delivery.now - delivery.arrival.at
    return clock_offset - sale.clock_offset > _CLOCK_STEP_SECONDS and (
        sale.paid_at - _CLOCK_STEP_SECONDS <= t < delivery.now
    )
