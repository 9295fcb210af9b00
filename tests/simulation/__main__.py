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
from tests.simulation.broken import BROKEN, missed
from tests.simulation.campaign import Sums, done_before, side_by_side, summed, write_down
from tests.simulation.losses import come_back
from tests.simulation.operations import STANDING, WEIGHTS
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
def main(**given: Any) -> None:
    """Run worlds, each with rail, gateway, chains and payers, on a virtual clock; exit 1 when a rule is broken."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    if given["broken"]:
        names = tuple(BROKEN) if given["broken"] == "all" else (given["broken"],)
        sys.exit(int(bool(missed(names, click.echo))))
    if given["losses"]:
        sys.exit(int(bool(come_back(click.echo))))
    if given["jobs"] > 1:
        sys.exit(int(not _shared(given)))
    failed, sums = False, Sums()
    for scenario in _scenarios(given):
        with postgres.databases(given["postgres"]) as databases:
            outcome = run(replace(scenario, databases=databases), lines=given["trace"])
        failed = failed or bool(outcome.violations)
        _tell(outcome, as_json=given["as_json"])
        sums.add(_told(outcome))
        if given["log"]:
            write_down(_told(outcome), Path(given["log"]))
            sums = summed(Path(given["log"]))
        if sums.worlds > 1:
            click.echo(f"so far: {sums}", err=True)
        if given["shrink"] and not given["postgres"] and outcome.violations:
            _tell_shrunk(shrunk(outcome, report=lambda line: click.echo(line, err=True)))
    sys.exit(int(failed))


def _shared(given: Mapping[str, Any]) -> bool:
    """Run worlds in several processes, tell what all came to, and return whether every rule held."""
    words = ["--operations", str(given["operations"]), "--crowd", str(given["crowd"])]
    words += ["--seconds", str(given["seconds"])]
    for name in ("only", "kinds", "postgres", "log"):
        words += [f"--{name}", given[name]] if given[name] else []
    words += [f"--{name}" for name in ("trace",) if given[name]]
    words += ["--json"] if given["as_json"] else []
    words += [] if given["shrink"] else ["--no-shrink"]
    held = side_by_side(given["jobs"], given["seed"], given["worlds"], words)
    if given["log"]:
        click.echo(f"in all: {summed(Path(given['log']))}", err=True)
    return held


def _scenarios(given: Mapping[str, Any]) -> Iterator[Scenario]:
    only = tuple(int(one) for one in given["only"].split(",") if one) or None
    kinds = tuple(one for one in given["kinds"].split(",") if one) or STANDING
    began, before = cpu(), done_before(Path(given["log"]), given["operations"]) if given["log"] else set()
    for number in itertools.count():
        if number >= given["worlds"] and cpu() - began >= given["seconds"]:
            return
        seed = given["seed"] + number * given["stride"]
        if seed not in before:
            yield Scenario(seed, given["operations"], only, kinds, crowd=given["crowd"])


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    for line in outcome.lines:
        click.echo(line)
    told = _told(outcome)
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(" ".join(f"{name}={value}" for name, value in told.items() if name != "violations"))
    for violation in outcome.violations:
        click.echo(f"  {violation}")


def _told(outcome: Outcome) -> dict[str, Any]:
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
