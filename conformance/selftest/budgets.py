"""How long the suite waits in a run against a broken reference: shorter than for a server of somebody else."""

from __future__ import annotations

from typing import Final

from conformance.target import Profile

# Enough generated requests for the rows that judge each exchange.
_FUZZ_SECONDS: Final = 3.0
# What a broken hub or addon never does is waited for so long; a whole one needs a second or two.
_PROPAGATION_SECONDS: Final = 20.0


def with_short_budgets(profile: Profile, *, has_generated_requests: bool = False) -> Profile:
    """Return the profile of a broken reference with short budgets.

    Args:
        profile: The target.
        has_generated_requests: Whether generated requests are what is judged, which then keep their time.
    """
    budgets = profile.budgets if has_generated_requests else profile.budgets.model_copy(update={"fuzz": _FUZZ_SECONDS})
    hub = profile.hub.model_copy(update={"propagation_budget": _PROPAGATION_SECONDS})
    return profile.model_copy(update={"budgets": budgets, "hub": hub})
