"""Time budgets of a run against a broken reference, shorter than those for an operator's server."""

from __future__ import annotations

from typing import Final

from conformance.target import Profile

# Seconds of generated requests: enough for the rows that judge each exchange.
_FUZZ_SECONDS: Final = 3.0
# Seconds to wait for something that a broken hub or addon never does; an intact one needs a second or two.
_PROPAGATION_SECONDS: Final = 20.0


def with_short_budgets(profile: Profile, *, has_generated_requests: bool = False) -> Profile:
    """Return the profile of a broken reference with short budgets.

    Args:
        profile: The target.
        has_generated_requests: Whether generated requests are what is judged, which then keep their time.
    """
    # The selftest runs hundreds of mutants, so it cannot wait as long for each as for an operator's server.
    budgets = profile.budgets if has_generated_requests else profile.budgets.model_copy(update={"fuzz": _FUZZ_SECONDS})
    hub = profile.hub.model_copy(update={"propagation_budget": _PROPAGATION_SECONDS})
    return profile.model_copy(update={"budgets": budgets, "hub": hub})
