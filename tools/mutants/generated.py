"""Mutants made by rule: which are run on which stack, the checks that reach each, and the requirements that fail.

Which rows are run for a mutant is decided by what was recorded with `--record`. A survivor that was examined is in
`tools/mutation/judged.toml` with its verdict.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from conformance.engine.check import Check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import SOUND, Verdict, worst
from tools.mutants.choice import Choice
from tools.mutants.choice import Mutant as Chosen
from tools.mutants.results import Result, Results, Unjudged
from tools.mutants.scratch import scratch_copy
from tools.mutation import judged, killed_mutants, reach
from tools.mutation.places import PACKAGES, Mutant, mutants
from tools.mutation.reach import START_CHECK, Reach
from tools.mutation.reach_recording import record as recorded
from tools.mutation.stacks import STACKS
from tools.mutation.stand import RUNNER, Judged, NoStart, Stand, start_stand, write_module

KIND = "generated"
# Most mutants are noticed by checks that take no longer on the reference as it is, which therefore come first.
_QUICK_SECONDS = 1.5
# A mutant may make every call wait: how long checks get for each second that they take on the reference as it is.
_PATIENCE, _LEAST_SECONDS, _MOST_SECONDS = 4.0, 20.0, 150.0
# A server that breaks down shows that the line matters, and nothing about the rule.
_BREAKDOWN = re.compile(r"\b50[0-9]\b")
EVERY = "every"
# What came of a mutant on several stacks: the first of these that any of them found.
_DECISIVE = ("killed", "no-start", "warned", "unsettled", "survived", "unreached")
_CAUGHT_OUTCOMES = frozenset({"killed", "unreached", "no-start"})


@dataclass(slots=True)
class Trial:
    """How mutants are tried on a stack.

    Attributes:
        stack: Its name.
        reach: What reaches them there.
        seed: Seed of the runs.
        whole: Whether every row that reaches a mutant is run, instead of stopping at the first that fails.
        typical: For how many seconds each check runs on the reference as it is, once they were run.
    """

    stack: str
    reach: Reach
    seed: int
    whole: bool = False
    typical: dict[str, float] = field(default_factory=dict)


async def _run_on(mutants: Sequence[Mutant], trial: Trial, results: Results) -> None:
    """Run mutants on a stack, after the same rows were run on the reference as it is.

    Raises:
        Unjudged: The reference itself does not pass.
        NoStart: The stack did not come up.
    """
    reach = trial.reach
    queue = []
    for mutant in mutants:
        if reach.checks(mutant):
            queue.append(mutant)
        else:
            results.add(_result(mutant, trial, "unreached"))
    needed_checks = {check for mutant in queue for check in reach.checks(mutant)}
    while queue:
        async with start_stand(reach.surfaces, reach.lanes) as stand:
            checks_by_id = {check.id: check for check in stand.checks()}
            clean = (
                [*checks_by_id.values()]
                if START_CHECK in needed_checks
                else [checks_by_id[one] for one in sorted(needed_checks) if one in checks_by_id]
            )
            if unknown := [one for one in clean if one.id not in trial.typical]:
                trial.typical.update(await _clean(stand, unknown, trial.seed))
            while queue and stand.fresh:
                mutant = queue.pop(0)
                results.add(
                    await _try_mutant(stand, mutant, _choose_checks(reach, mutant, checks_by_id, trial.typical), trial)
                )


def _choose_checks(
    reach: Reach, mutant: Mutant, checks_by_id: Mapping[str, Check], typical: Mapping[str, float]
) -> list[Check]:
    """Return the checks to run: those that reach it, and with them what is quick where a service does at its start.

    What a service prepares then, such as a document, is read by others than those that reach the line.
    """
    check_ids = reach.checks(mutant)
    checks = [check for name, check in checks_by_id.items() if name in check_ids]
    if START_CHECK not in check_ids:
        return checks
    return [*checks, *(one for one in checks_by_id.values() if one not in checks and _is_quick(one, typical))]


def _is_quick(check: Check, typical: Mapping[str, float]) -> bool:
    return check.exclusive is Exclusive.NOTHING and typical.get(check.id, 0.0) <= _QUICK_SECONDS


async def _clean(stand: Stand, checks: Sequence[Check], seed: int) -> Mapping[str, float]:
    """Return for how many seconds each check runs on the reference as it is, which all of them must pass."""
    judgements = await stand.judge(checks, seed)
    unsound = {row: judgements.reasons.get(row, "") for row, verdict in judgements.rows.items() if verdict not in SOUND}
    if unsound:
        raise Unjudged("; ".join(f"{row}: {reason}" for row, reason in unsound.items()))
    return judgements.checks


async def _try_mutant(stand: Stand, mutant: Mutant, checks: Sequence[Check], trial: Trial) -> Result:
    start_time = time.perf_counter()
    with write_module(mutant.source()) as path:
        try:
            await stand.renew([RUNNER, "replace", mutant.module, str(path)])
        except NoStart as fault:
            return _result(mutant, trial, "no-start", seconds=_since(start_time), unsettled={"": str(fault)[-300:]})
        judgements: list[Judged] = []
        for part_of_checks in _in_parts(checks, trial.typical, whole=trial.whole):
            least_seconds = _LEAST_SECONDS + _PATIENCE * sum(trial.typical.get(one.id, 0.0) for one in part_of_checks)
            seconds = min(_MOST_SECONDS, least_seconds)
            judgements.append(await stand.judge(part_of_checks, trial.seed, whole=trial.whole, seconds=seconds))
            if not trial.whole and Verdict.FAIL in judgements[-1].rows.values():
                break
    return _summarise(mutant, trial, judgements, checks, _since(start_time))


def _in_parts(checks: Sequence[Check], typical: Mapping[str, float], *, whole: bool) -> list[Sequence[Check]]:
    """Return the quick checks and the others; all at once where all of them are wanted."""
    if whole:
        return [checks]
    quick = [one for one in checks if _is_quick(one, typical)]
    return [some for some in (quick, [one for one in checks if one not in quick]) if some]


def _since(start_time: float) -> float:
    return round(time.perf_counter() - start_time, 1)


def _summarise(
    mutant: Mutant, trial: Trial, judgements: Sequence[Judged], checks: Sequence[Check], seconds: float
) -> Result:
    rows: dict[str, Verdict] = {}
    for row in {row for part in judgements for row in part.rows}:
        rows[row] = worst(part.rows[row] for part in judgements if row in part.rows) or Verdict.INCONCLUSIVE
    reasons = {row: reason for part in reversed(judgements) for row, reason in part.reasons.items()}

    def reasons_of(*verdicts: Verdict) -> dict[str, str]:
        return {row: reasons.get(row, "")[:400] for row, one in sorted(rows.items()) if one in verdicts}

    killing_rows, warning_rows = reasons_of(Verdict.FAIL), reasons_of(Verdict.WARN)
    unsettled_rows = reasons_of(Verdict.INCONCLUSIVE, Verdict.ERROR)
    seconds_by_check = {check for part in judgements for check in part.checks}
    ran = {row for check in checks if check.id in seconds_by_check for row in check.rows}
    outcome = (
        "killed"
        if killing_rows
        else "warned"
        if warning_rows
        else "unsettled"
        if unsettled_rows or not ran
        else "survived"
    )
    reasons_seen = [*killing_rows.values(), *warning_rows.values()]
    breakdown = bool(reasons_seen) and all(_BREAKDOWN.search(one) for one in reasons_seen)
    return _result(
        mutant,
        trial,
        outcome,
        killed_by=killing_rows,
        warned_by=warning_rows,
        unsettled=unsettled_rows,
        seconds=seconds,
        rows_run=sorted(ran),
        breakdown=breakdown,
    )


def _result(
    mutant: Mutant,
    trial: Trial,
    outcome: str,
    *,
    rows_run: Sequence[str] = (),
    breakdown: bool = False,
    **members: Any,
) -> Result:
    """Return a result.

    `rows_run` are the rows of the checks that were run. `breakdown` says that those rows saw only server errors.
    """
    facts = {
        "operator": mutant.operator,
        "place": mutant.place,
        "change": mutant.change,
        "rows_run": rows_run,
        "breakdown": breakdown,
    }
    return Result(KIND, mutant.id, outcome, stack=trial.stack, facts=facts, **members)


def choose(choice: Choice, stacks: Sequence[str], *, again: bool) -> list[Chosen[Mutant]]:
    """Return the mutants of a choice; a sample is drawn from those that the stacks reach.

    Args:
        choice: The choice.
        stacks: Names of the stacks on which they will run.
        again: Whether only mutants are meant that were killed on one of the stacks before.

    Raises:
        UsageError: No mutant is left.
    """
    all_mutants = mutants(packages=_packages(choice.patterns))
    matches = choice.match([Chosen(one.id, one.place, one.change, one) for one in all_mutants])
    if again:
        before = {name for stack in stacks for name in killed_mutants.load(stack)}
        matches = [one for one in matches if one.id in before]
        if not matches:
            raise click.UsageError("none of them was killed on these stacks before: run some with --keep")
    if choice.sample is not None:
        reaches = [reach.load(stack) for stack in stacks]
        matches = [one for one in matches if any(one_of.checks(one.data) for one_of in reaches)]
    return choice.draw(matches)


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
    for stack in stacks:
        reached = await recorded(STACKS[stack], seed, click.echo, checks)
        reach.save(stack, reach.load(stack).with_more(reached) if checks else reached)


def tidy() -> None:
    """Remove the entries of mutants that no longer exist from the record of killed mutants."""
    killed_mutants.tidy({one.id for one in mutants()})


def run_tests(mutant_list: Sequence[Mutant], paths: Sequence[str], results: Results) -> None:
    """Run tests with each mutant in a scratch copy, until one fails.

    Raises:
        Unjudged: No test ran.
    """
    with scratch_copy() as scratch:
        for mutant in mutant_list:
            start_time = time.perf_counter()
            with scratch.hold_texts({mutant.file: mutant.source()}):
                failures = scratch.run_tests(paths)
            outcome, wrong = ("killed", ()) if failures else ("survived", (mutant.change, "no test fails"))
            by = {one.node: one.behaviour for one in failures[:1]}
            facts = {"place": mutant.place}
            results.add(Result(KIND, mutant.id, outcome, wrong, by, seconds=_since(start_time), facts=facts))


async def run_rows(
    mutant_list: Sequence[Mutant], stacks: Sequence[str], seed: int, results: Results, *, whole: bool
) -> list[dict[str, Any]]:
    """Run each mutant on one stack after the other until it is caught, and return its decisive result.

    Args:
        mutant_list: The mutants.
        stacks: Names of the stacks.
        seed: Seed of the runs.
        results: Takes each result; a mutant with a result of a stack is not run there again.
        whole: Whether every row that reaches a mutant is run, instead of stopping at the first that fails.

    Raises:
        Unjudged: The reference itself does not pass.
        NoStart: A stack did not come up.
    """
    trials = [Trial(one, reach.load(one), seed, whole=whole) for one in stacks]
    order = {one.id: turns(one, trials) for one in mutant_list}
    for turn in range(len(trials)):
        for trial in trials:
            before = results.by_stack(KIND)
            open_mutants = [
                one for one in mutant_list if (one.id, trial.stack) not in before and not _is_caught(one, before)
            ]
            await _run_on([one for one in open_mutants if order[one.id][turn : turn + 1] == [trial]], trial, results)
    judgements = judged.load()
    return [{**one, "wrong": _wrong(one, judgements)} for one in _decisive(mutant_list, results.by_stack(KIND))]


def keep(stacks: Sequence[str], results: Results) -> None:
    """Add what is killed to the mutants that were killed on each stack."""
    for stack in stacks:
        killed_mutants.keep(stack, [result for result in results.by_stack(KIND).values() if result["stack"] == stack])


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


def _decisive(mutant_list: Sequence[Mutant], results: Mapping[tuple[str, str], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what came of each mutant, by the stack that found most."""
    by_mutant: dict[str, list[dict[str, Any]]] = {}
    for (name, _), result in results.items():
        by_mutant.setdefault(name, []).append(result)
    by_stack = [by_mutant[one.id] for one in mutant_list if one.id in by_mutant]
    return [min(each, key=lambda one: _DECISIVE.index(one["outcome"])) for each in by_stack]


def _wrong(result: Mapping[str, Any], judgements: Mapping[str, judged.Judgement]) -> list[str]:
    """Return why a mutant should have been caught and was not, as far as it has been judged."""
    judgement = judgements.get(result["id"])
    if result["outcome"] in _CAUGHT_OUTCOMES or (judgement is not None and judgement.verdict != "hole"):
        return []
    why = [] if judgement is None else [f"{judgement.verdict}: {judgement.reason}"]
    return [result["place"], result["change"], *why]
