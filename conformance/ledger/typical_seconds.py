"""Seconds that each check took in a recorded whole run against the reference, to weigh checks against each other.

`make record` writes the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import orjson

FILE: Final = "recorded/typical_seconds.json"


@cache
def typical_seconds() -> Mapping[str, float]:
    """Return the seconds of each check in the recorded run, by the id of the check."""
    seconds: Mapping[str, float] = orjson.loads(files("conformance").joinpath(FILE).read_bytes())
    return seconds
