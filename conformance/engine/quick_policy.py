"""How `weldproof run --quick` tries a check: data in the check's decorator, which `explain` prints.

A quick run tries a check of every lane on one lane, drawn from the seed. A check also declares whether it is tried
whole, on a sample, as one of several similar checks, or not at all.
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
    """How a quick run tries a check.

    Attributes:
        way: `whole`, `sample`, `one of several` or `left out`.
        words: What is sampled, the subject that several checks share, or why the check is left out; empty when whole.
    """

    way: Literal["whole", "sample", "one of several", "left out"]
    words: str = ""


WHOLE: Final = Quick("whole")


def sample(subject: str) -> Quick:
    """Return the policy of a check that tries a part of `subject`, by `Case.sample`."""
    return Quick("sample", subject)


def one_of_several(subject: str) -> Quick:
    """Return the policy that tries one of all checks of `subject`, drawn from the seed."""
    return Quick("one of several", subject)


def left_out(reason: str) -> Quick:
    """Return the policy of a check that is not tried, with the reason."""
    return Quick("left out", reason)


OWN_PROCESSES: Final = left_out("starts separate programs, which takes seconds")
COMPANION: Final = left_out("needs a service that our own stack starts for it alone")
WAITS: Final = left_out("waits for what takes seconds to come, or to stay away")
# The policy of a check that declares none. A check that disturbs others waits until they have ended, and a quick run
# has no time for a second phase.
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
