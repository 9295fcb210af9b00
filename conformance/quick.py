"""What `weldproof run --quick` makes of a check: data that stands beside the check, and is shown by `explain`.

A quick look tries each check on one lane only, where it runs on every claimed lane. Beyond that a check says for itself
what becomes of it: it is tried whole, on a sample of what it tries otherwise, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

# Seconds for requests generated from one OpenAPI document.
FUZZ_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Quick:
    """What becomes of a check.

    Attributes:
        way: `whole`, `sample` or `left out`.
        words: What is sampled ("vectors, one for each reason of refusal"), or why it is left out; empty when whole.
    """

    way: Literal["whole", "sample", "left out"]
    words: str = ""


WHOLE: Final = Quick("whole")


def sample(what: str) -> Quick:
    """Return that a check tries a part of `what`, by `Case.sample`."""
    return Quick("sample", what)


def left_out(reason: str) -> Quick:
    """Return that a check is not tried, and why."""
    return Quick("left out", reason)
