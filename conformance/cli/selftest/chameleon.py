"""`weldproof selftest --chameleon`: runs the suite against correct servers that vary every open point."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from conformance.cli.json_output import print_json
from conformance.cli.run.shards import parse_shard
from conformance.cli.suggestion import describe_unknown, prefixes
from conformance.cli.usage import UsageFault
from conformance.ledger import Requirement, load
from conformance.outcome import Exit
from conformance.processes.interrupt import make_interruptible, make_loop
from conformance.processes.own_stack import StackFault
from conformance.selftest.chameleon import ENOUGH, Sighting, Trial, collect_sightings, run_trial

# Enough seeds for a first impression; a full run needs more.
_DEFAULT_SEED_COUNT = 8


def against_chameleon(seeds: Sequence[int], prefixes_given: Sequence[str], logs: Path | None, *, as_json: bool) -> Exit:
    """Run the suite against the variant of each seed, print the results, and return the exit code.

    Args:
        seeds: The seeds.
        prefixes_given: Prefixes of the rows to judge; empty means all.
        logs: Folder for the event log of each run.
        as_json: Whether to print the result as JSON.

    Raises:
        UsageFault: No row has one of the prefixes.
    """
    rows = _rows(prefixes_given)
    trials: list[Trial] = []
    try:
        with asyncio.Runner(loop_factory=make_loop) as runner:
            runner.run(make_interruptible(_run_all(seeds, rows, trials, logs=logs, quiet=as_json)))
    except StackFault as fault:
        click.echo(f"weldproof selftest: {fault}", err=True)
        return Exit.NO_VERDICT
    except asyncio.CancelledError:
        return Exit.INTERRUPTED
    point_sightings = collect_sightings(trials)
    # With few seeds or rows, a point may keep its value by chance; only a full run shows that it is
    # stuck.
    is_complete = rows is None and len(trials) >= ENOUGH
    constant_points = [one.point for one in point_sightings if not one.has_varied] if is_complete else []
    if as_json:
        result = {
            "trials": [one.as_json() for one in trials],
            "points": {one.point: one.as_json() for one in point_sightings},
            "not_varied": constant_points,
        }
        print_json(result)
    else:
        _print(trials, point_sightings, constant_points)
    return Exit.FAILED if constant_points or any(one.differences for one in trials) else Exit.PASSED


def choose_seeds(ids: Sequence[str], part: str | None, *, first: int, number: int | None) -> list[int]:
    """Return the seeds to run.

    Args:
        ids: Seeds that were named.
        part: `I/N`: only the I-th of N parts of the seeds.
        first: The first seed if none is named.
        number: Number of seeds if none is named; None means 8.

    Raises:
        UsageFault: A seed is not a number, or the part is malformed.
    """
    wrong = [one for one in ids if not (one.isascii() and one.isdecimal())]
    if wrong:
        raise UsageFault(f"{', '.join(wrong)}: a seed must be a number")
    seeds = [int(one) for one in ids] or list(range(first, first + (number or _DEFAULT_SEED_COUNT)))
    if part is None:
        return seeds
    place, of = parse_shard(part)
    return seeds[place - 1 :: of]


def _rows(prefixes_given: Sequence[str]) -> tuple[Requirement, ...] | None:
    try:
        return tuple(load().select(list(prefixes_given))) if prefixes_given else None
    except LookupError as prefix:
        raise UsageFault(describe_unknown(str(prefix), prefixes(load()), "requirement")) from prefix


async def _run_all(
    seeds: Sequence[int],
    rows: Sequence[Requirement] | None,
    trials: list[Trial],
    *,
    logs: Path | None,
    quiet: bool,
) -> None:
    for seed in seeds:
        finished_trial = await run_trial(seed, rows, logs=logs)
        trials.append(finished_trial)
        if not quiet:
            word = (
                click.style("sound", fg="green")
                if not finished_trial.differences
                else click.style("NOT SOUND", fg="red")
            )
            click.echo(
                f"seed {seed:<6} {finished_trial.lane:9} {word}  {finished_trial.rows} rows, {finished_trial.seconds} s"
            )
            for line in finished_trial.differences:
                click.echo(f"    {line}")


def _print(trials: Sequence[Trial], point_sightings: Sequence[Sighting], constant_points: Sequence[str]) -> None:
    click.echo(f"\n{'point':30} values seen on the wire")
    for sighting in point_sightings:
        click.echo(f"{sighting.point:30} {' | '.join(sighting.values) or '-'}")
    sound_count = sum(not sighting.differences for sighting in trials)
    varied_count = sum(sighting.has_varied for sighting in point_sightings)
    click.echo(
        f"\n{sound_count} of {len(trials)} seeds are sound; {varied_count} of {len(point_sightings)} points were seen "
        "to vary"
    )
    if constant_points:
        click.echo(f"not seen to vary: {', '.join(constant_points)}")
