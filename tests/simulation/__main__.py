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

import json
import logging

import click
import structlog

from tests.simulation.shrinking import command, shrunk
from tests.simulation.world import Outcome, Scenario, run


@click.command()
@click.option("--seed", default=1, show_default=True, help="The first seed.")
@click.option("--operations", default=200, show_default=True, help="Operations in each world.")
@click.option("--worlds", default=1, show_default=True, help="How many worlds, each with the next seed.")
@click.option("--only", default="", help="Numbers of the operations to carry out, with commas; the others do not happen.")
@click.option("--kinds", default="", help="Names of the operations that may be drawn, with commas.")
@click.option("--json", "as_json", is_flag=True, help="Print results as JSON.")
@click.option("--shrink/--no-shrink", default=True, help="Make a failing list of operations shorter.")
@click.option("--trace", is_flag=True, help="Print all that happened.")
def main(seed: int, operations: int, worlds: int, only: str, kinds: str, *, as_json: bool, shrink: bool, trace: bool) -> None:
    """Run worlds."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    failed = False
    for number in range(seed, seed + worlds):
        scenario = Scenario(
            number,
            operations,
            tuple(int(one) for one in only.split(",") if one) or None,
            tuple(one for one in kinds.split(",") if one) or None,
        )
        outcome = run(scenario, lines=trace)
        failed = failed or bool(outcome.violations)
        _tell(outcome, as_json=as_json)
        if shrink and outcome.violations:
            _tell_shrunk(shrunk(outcome, report=lambda line: click.echo(line, err=True)))
    sys.exit(int(failed))


def _tell(outcome: Outcome, *, as_json: bool) -> None:
    for line in outcome.lines:
        click.echo(line)
    told = {
        "seed": outcome.scenario.seed,
        "operations": len(outcome.done),
        "trace": outcome.trace,
        "violations": [str(one) for one in outcome.violations],
        "counts": outcome.counts,
        "virtual_days": round(outcome.virtual_seconds / 86400, 2),
        "cpu_seconds": round(outcome.cpu_seconds, 2),
        "steps": outcome.steps,
    }
    if as_json:
        click.echo(json.dumps(told))
        return
    click.echo(" ".join(f"{name}={value}" for name, value in told.items() if name != "violations"))
    for violation in outcome.violations:
        click.echo(f"  {violation}")


def _tell_shrunk(outcome: Outcome) -> None:
    click.echo(f"shrunk to {len(outcome.done)} operations: {', '.join(f'{n} {kind}' for n, kind in outcome.done)}")
    for violation in outcome.violations:
        click.echo(f"  {violation}")
    click.echo(f"replay: {command(outcome.scenario)} --trace")


if __name__ == "__main__":
    main()
