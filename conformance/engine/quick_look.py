"""Which checks a quick look tries, which it leaves out and why, and on which lane: drawn from the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.engine.check import Check


@dataclass(frozen=True, slots=True)
class QuickLook:
    """What a quick look makes of the checks of a run.

    Attributes:
        tried: The checks that run.
        left_out: Check to the reason why it does not.
        lanes: Check that runs on one lane to the number of lanes that a whole run tries it on.
    """

    tried: tuple[Check, ...]
    left_out: Mapping[Check, str] = field(default_factory=dict)
    lanes: Mapping[Check, int] = field(default_factory=dict)


def quick_look(checks: Iterable[Check], seed: int) -> QuickLook:
    """Return what a quick look makes of `checks`, which are expanded by lane."""
    by_name: dict[str, list[Check]] = {}
    for one in checks:
        by_name.setdefault(one.id.partition("[")[0], []).append(one)
    alike: dict[str, list[str]] = {}
    for name, bound in by_name.items():
        if bound[0].quick.way == "one of several":
            alike.setdefault(bound[0].quick.words, []).append(name)
    chosen = {what: _drawn(seed, what).choice(sorted(names)) for what, names in alike.items()}
    tried: list[Check] = []
    left_out: dict[Check, str] = {}
    lanes: dict[Check, int] = {}
    for name, bound in by_name.items():
        quick = bound[0].quick
        if quick.way == "left out":
            left_out |= dict.fromkeys(bound, quick.words)
        elif quick.way == "one of several" and chosen[quick.words] != name:
            left_out |= dict.fromkeys(bound, f"of {quick.words} {chosen[quick.words]} is tried")
        else:
            one = _drawn(seed, name).choice(sorted(bound, key=lambda one: one.id))
            tried.append(one)
            if len(bound) > 1:
                lanes[one] = len(bound)
    return QuickLook(tuple(tried), left_out, lanes)


def _drawn(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed}:{name}")  # noqa: S311 - a choice that can be repeated, not a secret
