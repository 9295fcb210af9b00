"""When the chain makes blocks, and which time they bear.

A node is run in three ways, and each hides faults that the others show:

steady  A block each interval, with everything that was submitted before. Block times follow the clock. No real network
        does this: payments land sooner than on one, and the clock can be moved freely. It is the default, for speed.
dev     algod's DevMode, as AlgoKit's network has it: a block for each submitted group and none besides. A block's time
        is at most 25 s after that of the one before, so that the clock of an idle node falls behind.
rounds  Ordinary consensus: a block each interval, while the next one is agreed on already. What is submitted after
        round r lands in round r + 2, and can be asked for in the pool until then.
"""

from __future__ import annotations

from enum import StrEnum

# Consensus parameter MaxTimestampIncrement: "maximum time between timestamps on successive blocks".
LONGEST_STEP_SECONDS = 25


class Mode(StrEnum):
    """One way to run the node."""

    STEADY = "steady"
    DEV = "dev"
    ROUNDS = "rounds"

    @property
    def rounds_to_land(self) -> int:
        """How many rounds after the newest one a submitted group lands."""
        return 2 if self is Mode.ROUNDS else 1
