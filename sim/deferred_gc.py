"""What a program imports before all else: collections of garbage wait until it serves.

What modules make while they are imported stays. The collector would look at all of it dozens of times, for a sixth of a
start's whole cost; `sim.serving` sets it going again.
"""

from __future__ import annotations

import gc

gc.set_threshold(1_000_000)
