"""Selection of the checks of a quick run, and of the lane of each, drawn from the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.engine.check import Check


@dataclass(frozen=True, slots=True)
class QuickSelection:
    """The checks that a quick run tries, and those that it leaves out.

    Attributes:
        checks: The checks that run.
        left_out: The reason for each check that does not run.
        lanes: For a check that runs on one lane only, the number of lanes on which a whole run tries it.
    """

    checks: tuple[Check, ...]
    left_out: Mapping[Check, str] = field(default_factory=dict)
    lanes: Mapping[Check, int] = field(default_factory=dict)


def select_quick_checks(checks: Iterable[Check], seed: int) -> QuickSelection:
    """Select from `checks`, which are expanded by lane."""
    by_name: dict[str, list[Check]] = {}
    for check in checks:
        by_name.setdefault(check.id.partition("[")[0], []).append(check)
    # Checks that try the same thing in different places name their company in the decorator. One of each company is
    # drawn.
    alike: dict[str, list[str]] = {}
    for name, variants in by_name.items():
        if variants[0].quick.way == "one of several":
            alike.setdefault(variants[0].quick.words, []).append(name)
    choices = {what: _make_random(seed, what).choice(sorted(names)) for what, names in alike.items()}
    selection: list[Check] = []
    left_out: dict[Check, str] = {}
    lanes: dict[Check, int] = {}
    for name, variants in by_name.items():
        quick = variants[0].quick
        if quick.way == "left out":
            left_out |= dict.fromkeys(variants, quick.words)
        elif quick.way == "one of several" and choices[quick.words] != name:
            left_out |= dict.fromkeys(variants, f"of {quick.words} {choices[quick.words]} is tried")
        else:
            # Sorted by id, so that the choice depends on the seed and not on the order in which checks were
            # registered.
            check = _make_random(seed, name).choice(sorted(variants, key=lambda check: check.id))
            selection.append(check)
            if len(variants) > 1:
                lanes[check] = len(variants)
    return QuickSelection(tuple(selection), left_out, lanes)


def _make_random(seed: int, name: str) -> random.Random:
    # One generator for each name: a check that is added or removed does not change what the seed draws for others.
    return random.Random(f"{seed}:{name}")  # noqa: S311 - a choice that can be repeated, not a secret
