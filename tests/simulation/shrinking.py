"""Making a failing list of operations shorter: delta debugging, for as long as the same rule is broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.world import Outcome, Scenario, run

_MOST_RUNS = 200


def shrunk(outcome: Outcome, *, report: Callable[[str], None] = lambda _: None) -> Outcome:
    """Return the outcome of the shortest list that was found to break the rule that `outcome` broke first."""
    rule = outcome.violations[0].rule
    remaining_runs = _MOST_RUNS
    best = outcome

    def fails(numbers: Sequence[int]) -> bool:
        nonlocal remaining_runs, best
        if remaining_runs <= 0:
            return False
        remaining_runs -= 1
        count = max(numbers, default=0) + 1
        tried = run(replace(outcome.scenario, count=count, only=tuple(numbers)))
        is_found = any(one.rule == rule for one in tried.violations)
        if is_found:
            best = tried
        report(f"{len(numbers)} operations: {'still' if is_found else 'no more'} {rule}")
        return is_found

    numbers = [number for number, _ in outcome.done if _may_matter(outcome, rule, number)]
    if not fails(numbers):
        numbers = [number for number, _ in outcome.done]
    _minimise(numbers, fails)
    return best


def _may_matter(outcome: Outcome, rule: str, number: int) -> bool:
    """Return whether an operation began before the rule was broken; most that came later can go at once."""
    first = next(one for one in outcome.violations if one.rule == rule)
    actor_number = int(first.actor.partition(":")[0]) if first.actor[:1].isdecimal() else outcome.scenario.count
    began = dict(outcome.began)
    return number == actor_number or began.get(number, 0.0) <= first.at


def _minimise(numbers: list[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    parts = 2
    while len(numbers) >= 2:
        size = max(1, len(numbers) // parts)
        pieces = [numbers[n : n + size] for n in range(0, len(numbers), size)]
        for piece in pieces:
            other_numbers = [number for number in numbers if number not in piece]
            if other_numbers and fails(other_numbers):
                numbers, parts = other_numbers, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(numbers))
    return numbers


def command(scenario: Scenario) -> str:
    """Return the command that runs a scenario."""
    words = [f"python -m tests.simulation --seed {scenario.seed} --operations {scenario.count}"]
    if scenario.kinds is not None:
        words.append(f"--kinds {','.join(scenario.kinds)}")
    if scenario.crowd != 1:
        words.append(f"--crowd {scenario.crowd}")
    if scenario.only is not None:
        words.append(f"--only {','.join(map(str, scenario.only))}")
    return " ".join(words)
