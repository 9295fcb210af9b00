"""Runs of generated mutants on one stack: the checks that reach each mutant, and the requirements that fail."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Check
from conformance.engine.exclusive import Exclusive
from conformance.outcome import SOUND, Verdict, worst
from tools.mutants.results import Result, Results, Unjudged
from tools.mutation.places import Mutant
from tools.mutation.reach import STARTING, Reach
from tools.mutation.stand import RUNNER, Judged, NoStart, Stand, standing, written

KIND = "generated"
# Most mutants are noticed by checks that take no longer on the reference as it is, which therefore come first.
_QUICK_SECONDS = 1.5
# A mutant may make every call wait: how long checks get for each second that they take on the reference as it is.
_PATIENCE, _LEAST_SECONDS, _MOST_SECONDS = 4.0, 20.0, 150.0
# A server that breaks down shows that the line matters, and nothing about the rule.
_BREAKDOWN = re.compile(r"\b50[0-9]\b")


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


async def run(mutants: Sequence[Mutant], trial: Trial, results: Results) -> None:
    """Run mutants on a stack, after the same rows were run on the reference as it is.

    Raises:
        Unjudged: The reference itself does not pass.
        NoStart: The stack did not come up.
    """
    reach = trial.reach
    waiting = []
    for mutant in mutants:
        if reach.checks(mutant):
            waiting.append(mutant)
        else:
            results.add(_result(mutant, trial, "unreached"))
    needed = {check for mutant in waiting for check in reach.checks(mutant)}
    while waiting:
        async with standing(reach.surfaces, reach.lanes) as stand:
            known = {check.id: check for check in stand.checks()}
            clean = [*known.values()] if STARTING in needed else [known[one] for one in sorted(needed) if one in known]
            if unknown := [one for one in clean if one.id not in trial.typical]:
                trial.typical.update(await _clean(stand, unknown, trial.seed))
            while waiting and stand.fresh:
                mutant = waiting.pop(0)
                results.add(await _tried(stand, mutant, _chosen(reach, mutant, known, trial.typical), trial))


def _chosen(reach: Reach, mutant: Mutant, known: Mapping[str, Check], typical: Mapping[str, float]) -> list[Check]:
    """Return the checks to run: those that reach it, and with them what is quick where a service does at its start.

    What a service prepares then, such as a document, is read by others than those that reach the line.
    """
    wanted = reach.checks(mutant)
    found = [check for name, check in known.items() if name in wanted]
    if STARTING not in wanted:
        return found
    return [*found, *(one for one in known.values() if one not in found and _is_quick(one, typical))]


def _is_quick(check: Check, typical: Mapping[str, float]) -> bool:
    return check.exclusive is Exclusive.NOTHING and typical.get(check.id, 0.0) <= _QUICK_SECONDS


async def _clean(stand: Stand, checks: Sequence[Check], seed: int) -> Mapping[str, float]:
    """Return for how many seconds each check runs on the reference as it is, which all of them must pass."""
    judged = await stand.judge(checks, seed)
    unsound = {row: judged.reasons.get(row, "") for row, verdict in judged.rows.items() if verdict not in SOUND}
    if unsound:
        raise Unjudged("; ".join(f"{row}: {reason}" for row, reason in unsound.items()))
    return judged.checks


async def _tried(stand: Stand, mutant: Mutant, checks: Sequence[Check], trial: Trial) -> Result:
    started = time.perf_counter()
    with written(mutant.source()) as path:
        try:
            await stand.renew([RUNNER, "replace", mutant.module, str(path)])
        except NoStart as fault:
            return _result(mutant, trial, "no-start", seconds=_since(started), unsettled={"": str(fault)[-300:]})
        found: list[Judged] = []
        for some in _in_parts(checks, trial.typical, whole=trial.whole):
            wanted = _LEAST_SECONDS + _PATIENCE * sum(trial.typical.get(one.id, 0.0) for one in some)
            seconds = min(_MOST_SECONDS, wanted)
            found.append(await stand.judge(some, trial.seed, whole=trial.whole, seconds=seconds))
            if not trial.whole and Verdict.FAIL in found[-1].rows.values():
                break
    return _judged(mutant, trial, found, checks, _since(started))


def _in_parts(checks: Sequence[Check], typical: Mapping[str, float], *, whole: bool) -> list[Sequence[Check]]:
    """Return the quick checks and the others; all at once where all of them are wanted."""
    if whole:
        return [checks]
    quick = [one for one in checks if _is_quick(one, typical)]
    return [some for some in (quick, [one for one in checks if one not in quick]) if some]


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 1)


def _judged(mutant: Mutant, trial: Trial, found: Sequence[Judged], checks: Sequence[Check], seconds: float) -> Result:
    rows: dict[str, Verdict] = {}
    for row in {row for part in found for row in part.rows}:
        rows[row] = worst(part.rows[row] for part in found if row in part.rows) or Verdict.INCONCLUSIVE
    reasons = {row: reason for part in reversed(found) for row, reason in part.reasons.items()}

    def those(*verdicts: Verdict) -> dict[str, str]:
        return {row: reasons.get(row, "")[:400] for row, one in sorted(rows.items()) if one in verdicts}

    killed, warned = those(Verdict.FAIL), those(Verdict.WARN)
    unsettled = those(Verdict.INCONCLUSIVE, Verdict.ERROR)
    lasted = {check for part in found for check in part.checks}
    ran = {row for check in checks if check.id in lasted for row in check.rows}
    outcome = "killed" if killed else "warned" if warned else "unsettled" if unsettled or not ran else "survived"
    seen = [*killed.values(), *warned.values()]
    breakdown = bool(seen) and all(_BREAKDOWN.search(one) for one in seen)
    return _result(
        mutant,
        trial,
        outcome,
        killed_by=killed,
        warned_by=warned,
        unsettled=unsettled,
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
    **found: Any,
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
    return Result(KIND, mutant.id, outcome, stack=trial.stack, facts=facts, **found)
