"""What each check took in a recorded whole run against our own stack, to weigh checks against each other.

`typical_seconds.json` is written by `python -m conformance.engine.catalogue EVENTS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import orjson


@cache
def typical_seconds() -> Mapping[str, float]:
    """Return what each check took in the recorded run."""
    seconds: Mapping[str, float] = orjson.loads(
        files("conformance.ledger").joinpath("typical_seconds.json").read_bytes()
    )
    return seconds
