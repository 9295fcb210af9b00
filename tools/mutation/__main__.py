"""`weldproof selftest --generated`: mutants made by rule, and whether the suite catches them.

As a program: `python -m tools.mutation`. Which rows are run for a mutant is decided by what was recorded with
`--record`; what came of each is kept in a folder, a line of JSON each, and is not tried again. A survivor that was
looked at stands in `tools/mutation/judged.toml` with what it is.

Exit codes: 0 every mutant that was tried is caught, or judged as no fault that could be seen, 1 one is not, 2 usage,
3 a stack did not come up or the reference itself does not pass.
"""

from __future__ import annotations

import asyncio
import fnmatch
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from conformance.cli.run.shards import part_of
from conformance.processes.interrupt import interruptible
from localnet.processes import ChildFault
from tools.mutation import judged, killed, reach
from tools.mutation.places import PACKAGES, Mutant, mutants
from tools.mutation.recording import recorded
from tools.mutation.stacks import STACKS
from tools.mutation.stand import NoStart
from tools.mutation.testing import held_by
from tools.mutation.trying import Result, Results, Trial, Unclean, tried

EXIT_UNCAUGHT, EXIT_USAGE, EXIT_NO_VERDICT, EXIT_INTERRUPTED = 1, 2, 3, 130
EVERY = "every"
# What came of a mutant on several stacks: the first of these that any of them found.
_DECISIVE = ("killed", "no-start", "warned", "unsettled", "survived", "unreached")
_CAUGHT = frozenset({"killed", "unreached", "no-start"})


@click.command("weldproof selftest --generated", help=(__doc__ or "").partition("\n\n")[2])
@click.option("--list", "only_list", is_flag=True, help="Print the mutants' ids and what each changes.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only ids, or FILE:LINE, that match one of these.")
@click.option("--shard", "part", metavar="I/N", help="Only the I-th of N parts.")
@click.option("--sample", type=click.IntRange(1), help="Only so many, drawn by the seed from what the stack reaches.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the sample and of the runs.")
@click.option(
    "--stack",
    type=click.Choice([*sorted(STACKS), EVERY]),
    default="gateway",
    show_default=True,
    help=f"What to run; with {EVERY}, one after the other, each with what it reaches and no other has caught.",
)
@click.option("--whole", is_flag=True, help="Run every row that reaches a mutant, not until the first that fails.")
@click.option("--tests", multiple=True, metavar="PATH", help="Tell which of these tests holds a mutant; run no row.")
@click.option("--again", is_flag=True, help="Only mutants that were killed on this stack before.")
@click.option("--keep", is_flag=True, help="Add what is killed to conformance/recorded/killed.")
@click.option("--tidy", is_flag=True, help="Only remove from conformance/recorded/killed what is no longer a mutant.")
@click.option("--record", is_flag=True, help="Record which checks reach which line, and try nothing.")
@click.option("--check", "checks", multiple=True, help="With --record: only this check, beside what is recorded.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("report-generated"), show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def main(
    only_list: bool,
    only: tuple[str, ...],
    part: str | None,
    sample: int | None,
    seed: int,
    stack: str,
    whole: bool,
    tests: tuple[str, ...],
    again: bool,
    keep: bool,
    tidy: bool,
    record: bool,
    checks: tuple[str, ...],
    folder: Path,
    as_json: bool,
) -> None:
    """Do what the help says."""
    if record:
        sys.exit(_run(_record(stack, seed, checks)))
    if tidy:
        killed.tidy({one.id for one in mutants()})
        return
    found: Sequence[Mutant] = [one for one in mutants(packages=_packages(only)) if not only or _matches(one, only)]
    if again:
        before = {name for one in _stacks(stack) for name in killed.load(one)}
        found = [one for one in found if one.id in before]
        if not found:
            raise click.UsageError(f"none of them was killed on the stack {stack} before: try some with --keep")
    if not found:
        raise click.UsageError(f"no mutant matches {', '.join(only)}")
    if sample is not None:
        known = [reach.load(one) for one in _stacks(stack)]
        reached = [one for one in found if any(one_of.checks(one) for one_of in known)]
        found = random.Random(seed).sample(reached, min(sample, len(reached)))  # noqa: S311 - to be drawn again
    found = _part(found, part)
    if only_list:
        for one in found:
            click.echo(f"{one.id}  {one.file}:{one.line}  {one.before} => {one.after}")
        return
    if tests:
        held = [_told_test(one, tests) for one in found]
        sys.exit(0 if all(held) else EXIT_UNCAUGHT)
    sys.exit(_run(_try(found, stack, seed, folder, whole=whole, keep=keep, as_json=as_json)))


def _told_test(mutant: Mutant, paths: Sequence[str]) -> bool:
    """Print which test fails with a mutant, and return whether one does."""
    test = held_by(mutant, paths)
    click.echo(f"{mutant.id}  {test or 'held by none of them'}")
    return test is not None


def _packages(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the packages in which something may match: each is read and changed in thousands of places."""
    begins = [re.split(r"[*?\[]", one, maxsplit=1)[0] for one in globs]

    def may_match(package: str) -> bool:
        heads = (f"{package}/", f"reference/{package}/")
        return any(head.startswith(one) or one.startswith(head) for head in heads for one in begins)

    return tuple(one for one in PACKAGES if not globs or may_match(one))


def _matches(mutant: Mutant, globs: Sequence[str]) -> bool:
    place = f"{mutant.file}:{mutant.line}"
    return any(fnmatch.fnmatchcase(text, one) for one in globs for text in (mutant.id, place))


def _part(found: Sequence[Mutant], part: str | None) -> Sequence[Mutant]:
    if part is None:
        return found
    number, of = part_of(part)
    return found[number - 1 :: of]


def _run(work: Any) -> int:
    try:
        return int(asyncio.run(interruptible(work)) or 0)
    except (NoStart, ChildFault, Unclean) as fault:
        click.echo(f"weldproof selftest --generated: {fault}", err=True)
        return EXIT_NO_VERDICT
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED


async def _record(stack: str, seed: int, checks: Sequence[str]) -> int:
    for one in _stacks(stack):
        found = await recorded(STACKS[one], seed, click.echo, checks)
        reach.save(one, reach.load(one).with_more(found) if checks else found)
    return 0


def _stacks(name: str) -> Sequence[str]:
    return [*STACKS] if name == EVERY else [name]


async def _try(
    found: Sequence[Mutant], stack: str, seed: int, folder: Path, *, whole: bool, keep: bool, as_json: bool
) -> int:
    results = Results(folder)

    def add(result: Result) -> None:
        results.add(result)
        if not as_json:
            click.echo(result.line)

    trials = [Trial(one, reach.load(one), seed, whole=whole) for one in _stacks(stack)]
    order = {one.id: turns(one, trials) for one in found}
    for turn in range(len(trials)):
        for trial in trials:
            before = results.read()
            wanted = [one for one in found if (one.id, trial.stack) not in before and not _is_caught(one, before)]
            await tried([one for one in wanted if order[one.id][turn : turn + 1] == [trial]], trial, add=add)
    told = _decisive(found, results.read())
    if keep:
        for one in _stacks(stack):
            killed.keep(one, [result for result in results.read().values() if result["stack"] == one])
    if as_json:
        click.echo(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    else:
        _conclude(told)
    known = judged.load()
    return EXIT_UNCAUGHT if any(_is_open(one, known) for one in told) else 0


def turns(mutant: Mutant, trials: Sequence[Trial]) -> list[Trial]:
    """Return the stacks on which a mutant is tried until it is caught: the one first on which most checks reach it.

    A stack on which the same checks reach it as on those before, be it on another lane, is left out.
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
    told = [by_mutant[one.id] for one in found if one.id in by_mutant]
    return [min(each, key=lambda one: _DECISIVE.index(one["outcome"])) for each in told]


def _is_open(one: dict[str, Any], known: Mapping[str, judged.Judgement]) -> bool:
    """Return whether a mutant should have been caught and was not, as far as it has been judged."""
    return one["outcome"] not in _CAUGHT and (one["id"] not in known or known[one["id"]].verdict == "hole")


def _conclude(told: Sequence[dict[str, Any]]) -> None:
    known = judged.load()
    for one in told:
        if one["outcome"] in {"survived", "warned", "unsettled"}:
            judgement = known.get(one["id"])
            why = f"\n    {judgement.verdict}: {judgement.reason}" if judgement is not None else ""
            click.echo(f"{one['outcome']}: {one['id']}  {one['place']}\n    {one['change']}{why}")
    counts = Counter(one["outcome"] for one in told)
    cost = sum(one["seconds"] for one in told)
    words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    click.echo(f"{len(told)} mutants: {words}; {cost:.0f} s, {cost / max(1, len(told)):.1f} s each")


if __name__ == "__main__":
    main()
