"""What a check disturbs while it runs."""

from __future__ import annotations

from enum import StrEnum


class Exclusive(StrEnum):
    """What a check disturbs, which decides when it runs and together with which other checks."""

    NOTHING = "nothing"
    """It runs together with any other check that disturbs nothing."""
    CLOCK = "clock"
    """It moves the clock, so it runs only together with others that wait for the same moment."""
    CHAIN = "chain"
    """It disturbs its lane's chain, so it runs only together with checks of other lanes."""
    SURFACE = "surface"
    """It disturbs its surface, so it runs only together with checks of other surfaces."""
    LIMITS = "limits"
    """It exhausts a rate limit, so it runs alone, unless the profile names a separate service for that."""
    RESTART = "restart"
    """It restarts a service, so it runs alone, before the clock is moved, which real nodes do not follow."""
    CHAIN_AND_CLOCK = "chain and clock"
    """It disturbs a chain and moves the clock meanwhile, so it runs alone, after all others."""
