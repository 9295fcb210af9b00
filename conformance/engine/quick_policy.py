"""What `weldproof run --quick` makes of a check: data that stands beside the check, and is shown by `explain`.

A quick look tries a check that runs on every claimed lane on one of them, drawn from the seed. Beyond that a check says
for itself what becomes of it: it is tried whole, on a sample of what it tries otherwise, as one of several that are
alike, or not at all. What disturbs the others, and so waits until they are done, is left out unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from conformance.engine.exclusive import Exclusive

# Seconds for requests generated from one OpenAPI document.
FUZZ_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Quick:
    """What becomes of a check.

    Attributes:
        way: `whole`, `sample`, `one of several` or `left out`.
        words: What is sampled, the name of what several checks try alike, or why it is left out; empty when whole.
    """

    way: Literal["whole", "sample", "one of several", "left out"]
    words: str = ""


WHOLE: Final = Quick("whole")


def sample(subject: str) -> Quick:
    """Return that a check tries a part of `subject`, by `Case.sample`."""
    return Quick("sample", subject)


def one_of_several(subject: str) -> Quick:
    """Return that of all checks that try `subject` one is tried, drawn from the seed."""
    return Quick("one of several", subject)


def left_out(reason: str) -> Quick:
    """Return that a check is not tried, and why."""
    return Quick("left out", reason)


OWN_PROCESSES: Final = left_out("starts programs of its own, which takes seconds")
COMPANION: Final = left_out("needs a service that our own stack starts for it alone")
WAITS: Final = left_out("waits for what takes seconds to come, or to stay away")
# What becomes of a check that says nothing, by what it disturbs.
BY_COMPANY: Final[Mapping[Exclusive, Quick]] = {
    Exclusive.NOTHING: WHOLE,
    Exclusive.CLOCK: left_out("moves the clock, so it would run alone after all others"),
    Exclusive.CHAIN: left_out("disturbs its chain, so it would run after all others"),
    Exclusive.SURFACE: left_out("disturbs its surface, so it would run after all others"),
    Exclusive.RESTART: left_out("starts the service again, so it would run alone after all others"),
    Exclusive.CHAIN_AND_CLOCK: left_out(
        "moves the clock while a chain is away, so it would run alone after all others"
    ),
    Exclusive.LIMITS: left_out("sends more calls than a limit lets through"),
}
