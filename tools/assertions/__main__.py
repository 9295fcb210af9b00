"""Negate each place where a check judges, and see that the clean reference turns red.

First every check is run as it is, to see which comes by which place. Then places are negated, as many in a run as no
check comes by two of: each row that such a place judges must fail or warn. A place that no check comes by stands in
`tools/assertions/unreached_reasons.toml` with the reason.

Exit codes: 0 every place turned its rows red, or stands there with its reason, 1 one did not, 3 no stack came up.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence

import click
import orjson

from conformance.cli.run.shards import parse_shard
from conformance.outcome import SOUND
from conformance.processes.interrupt import make_interruptible
from conformance.processes.own_stack import StackFault
from tools.assertions import unreached_reasons
from tools.assertions.judging import Judged, judge_checks
from tools.assertions.places import Place, places
from tools.assertions.rounds import rounds

EXIT_GREEN, EXIT_NO_VERDICT, EXIT_INTERRUPTED = 1, 3, 130


@click.command("assertions", help=(__doc__ or ""))
@click.argument("rows", nargs=-1, metavar="[ROW]...")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the runs.")
@click.option("--shard", "part", metavar="I/N", default="1/1", help="Only the rounds I, I + N, I + 2N and so on.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def main(rows: tuple[str, ...], seed: int, part: str, as_json: bool) -> None:
    """Do what the help says."""
    try:
        sys.exit(asyncio.run(make_interruptible(_negate_all(" ".join(rows), seed, parse_shard(part), as_json=as_json))))
    except StackFault as fault:
        click.echo(f"assertions: {fault}", err=True)
        sys.exit(EXIT_NO_VERDICT)
    except asyncio.CancelledError:
        sys.exit(EXIT_INTERRUPTED)


async def _negate_all(rows: str, seed: int, part: tuple[int, int], *, as_json: bool) -> int:
    every = places()
    plain = await judge_checks(every, seed, rows=rows)
    unsound = [f"{row}: {verdict.value}" for row, verdict in plain.verdicts.items() if verdict not in SOUND]
    if unsound and not rows:
        click.echo(f"the reference as it is: {', '.join(unsound)}", err=True)
        return EXIT_NO_VERDICT
    series = rounds(plain.checks)[part[0] - 1 :: part[1]]
    faults: dict[str, str] = {}
    for number, negated_places in enumerate(series, start=1):
        checks = {check for place in negated_places for check in plain.checks[place]}
        judgements = await judge_checks(every, seed, negated_places=negated_places, only=checks, rows=rows)
        faults |= dict(_faults(negated_places, judgements))
        if not as_json:
            click.echo(f"round {number} of {len(series)}: {len(negated_places)} places, {len(checks)} checks")
    if not rows:
        faults |= dict(_unknown(every, plain))
    count = sum(len(negated_places) for negated_places in series)
    if as_json:
        summary = {"places": len(every), "reached": len(plain.checks), "negated": count, "faults": faults}
        click.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2))
    else:
        for place, fault in faults.items():
            click.echo(f"{place}  {every[place].file}:{every[place].first}  {every[place].condition}\n    {fault}")
        click.echo(f"{len(every)} places, {len(plain.checks)} reached, {count} negated, {len(faults)} faults")
    return EXIT_GREEN if faults else 0


def _faults(negated_places: Sequence[str], judgements: Judged) -> Iterator[tuple[str, str]]:
    for place in negated_places:
        if place not in judgements.rows:
            yield place, "reached in the first run, and not when it was to be negated"
        elif green := judgements.green(place):
            yield place, f"negated, and still sound: {', '.join(sorted(green))}"


def _unknown(every: Mapping[str, Place], plain: Judged) -> Iterator[tuple[str, str]]:
    """Yield unreached places without a recorded reason, and places with a reason that a check does reach."""
    reasons = unreached_reasons.load()
    for place in every:
        if place not in plain.checks and place not in reasons:
            yield place, "no check comes by"
        if place in plain.checks and place in reasons:
            yield place, f"a check comes by; unreached_reasons.toml says: {reasons[place]}"


if __name__ == "__main__":
    main()
