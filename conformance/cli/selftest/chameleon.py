"""`weldproof selftest --chameleon`: the suite against correct servers that differ in everything that is open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.cli.json_output import print_json
from conformance.cli.run.shards import part_of
from conformance.cli.suggestion import prefixes, unknown
from conformance.cli.usage import UsageFault
from conformance.ledger import Requirement, load
from conformance.outcome import Exit
from conformance.processes.interrupt import interruptible, new_loop
from conformance.processes.own_stack import StackFault
from conformance.selftest.chameleon import ENOUGH, Sighting, Trial, sightings, trial

_USUAL = 8


def against_chameleon(seeds: Sequence[int], beginnings: Sequence[str], logs: Path | None, *, as_json: bool) -> Exit:
    """Run the suite against the look of each seed, print what came of it, and return the exit code.

    Args:
        seeds: The seeds.
        beginnings: Prefixes of the rows to judge; empty means all.
        logs: Folder for the event log of each run.
        as_json: Whether to print the result as JSON.

    Raises:
        UsageFault: No row has one of the prefixes.
    """
    rows = _rows(beginnings)
    trials: list[Trial] = []
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(interruptible(_all(seeds, rows, trials, logs=logs, quiet=as_json)))
    except StackFault as fault:
        click.echo(f"weldproof selftest: {fault}", err=True)
        return Exit.NO_VERDICT
    except asyncio.CancelledError:
        return Exit.INTERRUPTED
    found = sightings(trials)
    whole = rows is None and len(trials) >= ENOUGH
    alike = [one.point for one in found if not one.varied] if whole else []
    if as_json:
        result = {
            "trials": [one.as_json() for one in trials],
            "points": {one.point: one.as_json() for one in found},
            "not_varied": alike,
        }
        print_json(result)
    else:
        _print(trials, found, alike)
    return Exit.FAILED if alike or any(one.differences for one in trials) else Exit.PASSED


def chosen_seeds(ids: Sequence[str], part: str | None, *, first: int, number: int | None) -> list[int]:
    """Return the seeds to run.

    Args:
        ids: Seeds that were named.
        part: `I/N`: only the I-th of N parts of the seeds.
        first: The first seed where none is named.
        number: How many there are then; None means 8.

    Raises:
        UsageFault: A seed is not a number, or the part is malformed.
    """
    wrong = [one for one in ids if not (one.isascii() and one.isdecimal())]
    if wrong:
        raise UsageFault(f"{', '.join(wrong)}: a seed must be a number")
    seeds = [int(one) for one in ids] or list(range(first, first + (number or _USUAL)))
    if part is None:
        return seeds
    place, of = part_of(part)
    return seeds[place - 1 :: of]


def _rows(beginnings: Sequence[str]) -> tuple[Requirement, ...] | None:
    try:
        return tuple(load().select(list(beginnings))) if beginnings else None
    except LookupError as prefix:
        raise UsageFault(unknown(str(prefix), prefixes(load()), "requirement")) from prefix


async def _all(
    seeds: Sequence[int],
    rows: Sequence[Requirement] | None,
    trials: list[Trial],
    *,
    logs: Path | None,
    quiet: bool,
) -> None:
    for seed in seeds:
        one = await trial(seed, rows, logs=logs)
        trials.append(one)
        if not quiet:
            word = click.style("sound", fg="green") if not one.differences else click.style("NOT SOUND", fg="red")
            click.echo(f"seed {seed:<6} {one.lane:9} {word}  {one.rows} rows, {one.seconds} s")
            for line in one.differences:
                click.echo(f"    {line}")


def _print(trials: Sequence[Trial], found: Sequence[Sighting], alike: Sequence[str]) -> None:
    click.echo(f"\n{'point':30} values seen on the wire")
    for one in found:
        click.echo(f"{one.point:30} {' | '.join(one.values) or '-'}")
    sound = sum(not one.differences for one in trials)
    varied = sum(one.varied for one in found)
    click.echo(f"\n{sound} of {len(trials)} seeds are sound; {varied} of {len(found)} points were seen to vary")
    if alike:
        click.echo(f"not seen to vary: {', '.join(alike)}")
