"""Mutants made by rule: which are run on which stack, and which of the survivors are known.

Which rows are run for a mutant is decided by what was recorded with `--record`. A survivor that was examined is in
`tools/mutation/judged.toml` with its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from tools.mutants.choice import Choice
from tools.mutants.generated_trials import KIND, Trial, run
from tools.mutants.results import Result, Results
from tools.mutants.scratch import scratch_copy
from tools.mutation import judged, killed, reach
from tools.mutation.places import PACKAGES, Mutant, mutants
from tools.mutation.recording import recorded
from tools.mutation.stacks import STACKS

EVERY = "every"
# What came of a mutant on several stacks: the first of these that any of them found.
_DECISIVE = ("killed", "no-start", "warned", "unsettled", "survived", "unreached")
_CAUGHT = frozenset({"killed", "unreached", "no-start"})


def choose(choice: Choice, stacks: Sequence[str], *, again: bool) -> list[Mutant]:
    """Return the mutants of a choice; a sample is drawn from those that the stacks reach.

    Args:
        choice: The choice.
        stacks: Names of the stacks on which they will run.
        again: Whether only mutants are meant that were killed on one of the stacks before.

    Raises:
        UsageError: There are none.
    """
    matching = choice.match(mutants(packages=_packages(choice.patterns)))
    if again:
        before = {name for stack in stacks for name in killed.load(stack)}
        matching = [one for one in matching if one.id in before]
        if not matching:
            raise click.UsageError("none of them was killed on these stacks before: run some with --keep")
    if choice.sample is not None:
        known = [reach.load(stack) for stack in stacks]
        matching = [one for one in matching if any(one_of.checks(one) for one_of in known)]
    return choice.draw(matching)


def _packages(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the packages in which something may match: each is read and changed in thousands of places."""
    begins = [re.split(r"[*?\[]", one, maxsplit=1)[0] for one in globs]

    def may_match(package: str) -> bool:
        heads = (f"{package}/", f"reference/{package}/")
        return any(head.startswith(one) or one.startswith(head) for head in heads for one in begins)

    return tuple(one for one in PACKAGES if not globs or may_match(one))


def stacks_of(name: str) -> Sequence[str]:
    """Return the stacks that the name of one, or `every`, means."""
    return [*STACKS] if name == EVERY else [name]


async def record(stacks: Sequence[str], seed: int, checks: Sequence[str]) -> None:
    """Record which checks reach which line on some stacks; with `checks`, only those, and keep what is recorded."""
    for one in stacks:
        found = await recorded(STACKS[one], seed, click.echo, checks)
        reach.save(one, reach.load(one).with_more(found) if checks else found)


def tidy() -> None:
    """Remove the entries of mutants that no longer exist from what was killed."""
    killed.tidy({one.id for one in mutants()})


def run_tests(chosen: Sequence[Mutant], paths: Sequence[str], results: Results) -> None:
    """Run tests with each mutant in a scratch copy, until one fails.

    Raises:
        Unjudged: No test ran.
    """
    with scratch_copy() as scratch:
        for mutant in chosen:
            with scratch.holding({mutant.file: mutant.source()}):
                failures = scratch.failing(paths)
            outcome, wrong = ("killed", ()) if failures else ("survived", (mutant.change, "no test fails"))
            by = {one.node: one.behaviour for one in failures[:1]}
            results.add(Result(KIND, mutant.id, outcome, wrong, killed_by=by, facts={"place": mutant.place}))


async def run_rows(
    chosen: Sequence[Mutant], stacks: Sequence[str], seed: int, results: Results, *, whole: bool
) -> list[dict[str, Any]]:
    """Run each mutant on one stack after the other until it is caught, and return its decisive result.

    Args:
        chosen: The mutants.
        stacks: Names of the stacks.
        seed: Seed of the runs.
        results: Takes each result; a mutant with a result of a stack is not run there again.
        whole: Whether every row that reaches a mutant is run, instead of stopping at the first that fails.

    Raises:
        Unjudged: The reference itself does not pass.
        NoStart: A stack did not come up.
    """
    trials = [Trial(one, reach.load(one), seed, whole=whole) for one in stacks]
    order = {one.id: turns(one, trials) for one in chosen}
    for turn in range(len(trials)):
        for trial in trials:
            before = results.by_stack(KIND)
            wanted = [one for one in chosen if (one.id, trial.stack) not in before and not _is_caught(one, before)]
            await run([one for one in wanted if order[one.id][turn : turn + 1] == [trial]], trial, results)
    known = judged.load()
    return [{**one, "wrong": _wrong(one, known)} for one in _decisive(chosen, results.by_stack(KIND))]


def keep(stacks: Sequence[str], results: Results) -> None:
    """Add what is killed to the mutants that were killed on each stack."""
    for one in stacks:
        killed.keep(one, [result for result in results.by_stack(KIND).values() if result["stack"] == one])


def turns(mutant: Mutant, trials: Sequence[Trial]) -> list[Trial]:
    """Return the stacks on which a mutant is run until it is caught: first the one on which most checks reach it.

    A stack is left out if the checks that reach it there, be it on another lane, are those of the stacks before.
    """
    found: list[Trial] = []
    names: set[str] = set()
    for trial in sorted(trials, key=lambda one: -len(one.reach.checks(mutant))):
        own = {check.partition("[")[0] for check in trial.reach.checks(mutant)}
        if not own <= names or not found:
            found.append(trial)
        names |= own
    return found


def _is_caught(mutant: Mutant, before: Mapping[tuple[str, str], Mapping[str, Any]]) -> bool:
    outcomes = {one["outcome"] for (name, _), one in before.items() if name == mutant.id}
    return not {"killed", "no-start"}.isdisjoint(outcomes)


def _decisive(found: Sequence[Mutant], results: Mapping[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what came of each mutant, by the stack that found most."""
    by_mutant: dict[str, list[dict[str, Any]]] = {}
    for (name, _), result in results.items():
        by_mutant.setdefault(name, []).append(result)
    by_stack = [by_mutant[one.id] for one in found if one.id in by_mutant]
    return [min(each, key=lambda one: _DECISIVE.index(one["outcome"])) for each in by_stack]


def _wrong(one: Mapping[str, Any], known: Mapping[str, judged.Judgement]) -> list[str]:
    """Return why a mutant should have been caught and was not, as far as it has been judged."""
    judgement = known.get(one["id"])
    if one["outcome"] in _CAUGHT or (judgement is not None and judgement.verdict != "hole"):
        return []
    why = [] if judgement is None else [f"{judgement.verdict}: {judgement.reason}"]
    return [one["place"], one["change"], *why]
