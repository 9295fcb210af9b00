"""`weldproof selftest`: the options and the help of the runs against broken references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("selftest")
@click.argument("ids", nargs=-1, metavar="[MUTANT]...")
@click.option("--shard", "part", metavar="I/N", help="Run only part I of N.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the runs.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--list", "only_list", is_flag=True, help="List the mutants and the requirement that must catch each.")
@click.option(
    "--chameleon",
    is_flag=True,
    help="Run against a correct server that varies every open point of the specification by a seed.",
)
@click.option(
    "--seeds", "number", type=click.IntRange(1), help="With --chameleon: number of seeds, starting at 0 or --from."
)
@click.option("--from", "first", type=click.IntRange(0), default=0, help="With --seeds: the first seed.")
@click.option("--rows", multiple=True, metavar="ID", help="With --chameleon: only requirements with this prefix.")
@click.option(
    "--logs",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --chameleon: folder that keeps the event log of each run.",
)
@click.option("--generated", is_flag=True, help="Run the mutants that are generated from the source; needs a checkout.")
@click.option("--only", multiple=True, metavar="GLOB", help="With --generated: only mutants with this id or FILE:LINE.")
@click.option("--sample", type=click.IntRange(1), help="With --generated: number of mutants, chosen by the seed.")
@click.option("--stack", metavar="NAME", help="With --generated: the stack to run, such as `gateway`.")
@click.option(
    "--again", is_flag=True, help="With --generated: only mutants that a requirement of the stack caught before."
)
@click.option(
    "--whole",
    is_flag=True,
    help="With --generated: test every requirement that reaches a mutant, even after a failure.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="With --generated: file with the results; new results are added.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite against each deliberately broken reference, and compare with the committed kill lists exactly.

    With --chameleon, MUTANT is a seed. The suite runs against a correct server that varies every open point by each
    seed, and no requirement may fail. The command prints which values of each open point were sent.

    Exit codes: 0 every list is exact (no requirement failed, every point varied), 1 a list is not exact, 2 usage, 3 a
    server did not start.
    """
    from conformance.cli.selftest.execution import selftest  # noqa: PLC0415 - `--help` waits for nothing that it imports

    selftest(ctx, **options)
