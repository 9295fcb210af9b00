"""Whether a signature's time is that of its delivery."""

from __future__ import annotations

from conformance.engine.check import Case
from conformance.oracles.webhook_signature import stale
from conformance.surfaces import binding_hints
from conformance.surfaces.webhooks.signatures import usable_header
from conformance.webhook_receiver.inbox import Received


def judge_time(case: Case, one: Received) -> None:
    """Judge WH-SIG-06 on one delivery."""
    header = usable_header(case, one)
    tolerance = case.profile.webhook_bindings.tolerance
    t = header.t or 0
    fresh = not stale(t, one.now, tolerance)
    hint = binding_hints.of_time(tolerance)
    case.expect("WH-SIG-06", fresh, f"within {tolerance} s", f"{t - one.now:+.0f} s", exchange=one, hint=hint)
