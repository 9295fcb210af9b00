"""`python -m tests.simulation`: run worlds from seeds; a failing one is shrunk and printed as a command."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":
    # The order of sets of texts is part of a run: it is the same in every run from here on.
    os.environ["PYTHONHASHSEED"] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])  # noqa: S606

import tests.simulation.patches  # noqa: F401 - before all of the product

# isort: split

import itertools
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import structlog

from tests.simulation import postgres
from tests.simulation.broken import BROKEN, list_missed
from tests.simulation.campaign import Sums, done_before, side_by_side, sum_log, write_down
from tests.simulation.losses import come_back
from tests.simulation.operations import STANDING_KINDS, WEIGHTS
from tests.simulation.patches import cpu
from tests.simulation.shrinking import command, shrunk
from tests.simulation.world import Outcome, Scenario, run


@click.command()
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--operations", default=200, show_default=True, help="Operations in each world.")
@click.option("--worlds", default=1, show_default=True, help="How many worlds, each with the next seed.")
@click.option(
    "--only", default="", help="Numbers of the operations to carry out, with commas; the others do not happen."
)
@click.option("--kinds", default="", help=f"What may be drawn, with commas: {', '.join(WEIGHTS)}.")
@click.option("--crowd", default=1, show_default=True, help="How many times as often payers come; faults do not.")
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--shrink/--no-shrink", default=True, help="Make a failing list of operations shorter.")
@click.option(
    "--broken", default="", help="Take a rule out of the product and see that it is found, by its name; or all."
)
@click.option("--losses", is_flag=True, help="Try the losses again that worlds have found.")
@click.option("--seconds", default=0.0, help="Go on with further worlds for so many seconds of processor time.")
@click.option(
    "--postgres", default="", help="A PostgreSQL server to use instead of SQLite; such a run is not repeatable."
)
@click.option(
    "--stride", default=1, show_default=True, help="From one seed to the next; so many processes share a run."
)
@click.option("--log", default="", help="A file that gets a line of JSON a world; worlds that are in it are left out.")
@click.option("--jobs", default=1, show_default=True, help="Share the worlds among so many processes.")
@click.option("--trace", is_flag=True, help="Print all that happened.")
def main(**options: Any) -> None:
    """Run worlds, each with rail, gateway, chains and payers, on a virtual clock; exit 1 when a rule is broken."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    if options["broken"]:
        names = tuple(BROKEN) if options["broken"] == "all" else (options["broken"],)
        sys.exit(int(bool(list_missed(names, click.echo))))
    if options["losses"]:
        sys.exit(int(bool(come_back(click.echo))))
    if options["jobs"] > 1:
        sys.exit(int(not _run_shared(options)))
    has_failed, sums = False, Sums()
    for scenario in _scenarios(options):
        with postgres.databases(options["postgres"]) as databases:
            outcome = run(replace(scenario, databases=databases), lines=options["trace"])
        has_failed = has_failed or bool(outcome.violations)
        _tell(outcome, as_json=options["as_json"])
        sums.add(_describe(outcome))
        if options["log"]:
            write_down(_describe(outcome), Path(options["log"]))
            sums = sum_log(Path(options["log"]))
        if sums.worlds > 1:
            click.echo(f"so far: {sums}", err=True)
        if options["shrink"] and not options["postgres"] and outcome.violations:
            _tell_shrunk(shrunk(outcome, report=lambda line: click.echo(line, err=True)))
    sys.exit(int(has_failed))


def _run_shared(options: Mapping[str, Any]) -> bool:
    """Run worlds in several processes, tell what all came to, and return whether every rule held."""
    words = ["--operations", str(options["operations"]), "--crowd", str(options["crowd"])]
    words += ["--seconds", str(options["seconds"])]
    for name in ("only", "kinds", "postgres", "log"):
        words += [f"--{name}", options[name]] if options[name] else []
    words += [f"--{name}" for name in ("trace",) if options[name]]
    words += ["--json"] if options["as_json"] else []
    words += [] if options["shrink"] else ["--no-shrink"]
    has_held = side_by_side(options["jobs"], options["seed"], options["worlds"], words)
    if options["log"]:
        click.echo(f"in all: {sum_log(Path(options['log']))}", err=True)
    return has_held


def _scenarios(options: Mapping[str, Any]) -> Iterator[Scenario]:
    only = tuple(int(one) for one in options["only"].split(",") if one) or None
    kinds = tuple(one for one in options["kinds"].split(",") if one) or STANDING_KINDS
    began, before = cpu(), done_before(Path(options["log"]), options["operations"]) if options["log"] else set()
    for number in itertools.count():
        if number >= options["worlds"] and cpu() - began >= options["seconds"]:
            return
        seed = options["seed"] + number * options["stride"]
        if seed not in before:
            yield Scenario(seed, options["operations"], only, kinds, crowd=options["crowd"])


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    for line in outcome.lines:
        click.echo(line)
    members = _describe(outcome)
    if as_json:
        click.echo(json.dumps(members))
        return
    click.echo(" ".join(f"{name}={value}" for name, value in members.items() if name != "violations"))
    for violation in outcome.violations:
        click.echo(f"  {violation}")


def _describe(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.scenario.seed,
        "operations": len(outcome.done),
        "requests": outcome.requests,
        "transfers": outcome.transfers,
        "commits": outcome.commits,
        "trace": outcome.trace,
        "violations": [str(one) for one in outcome.violations],
        "counts": outcome.counts,
        "virtual_days": round(outcome.virtual_seconds / 86400, 2),
        "cpu_seconds": round(outcome.cpu_seconds, 2),
        "steps": outcome.steps,
    }


def _tell_shrunk(outcome: Outcome) -> None:
    click.echo(f"shrunk to {len(outcome.done)} operations: {', '.join(f'{n} {kind}' for n, kind in outcome.done)}")
    for violation in outcome.violations:
        click.echo(f"  {violation}")
    click.echo(f"replay: {command(outcome.scenario)} --trace")


if __name__ == "__main__":
    main()
