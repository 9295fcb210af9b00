"""Deferred garbage collection: programs import this module first, and collections wait until they serve."""

from __future__ import annotations

import gc

# Objects made by imports stay until the end. The collector would examine them dozens of times, a sixth of the cost of a
# start. `reference.web.servers.serving` restores the thresholds.
gc.set_threshold(1_000_000)
