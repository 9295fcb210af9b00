"""`weldproof selftest`: the suite against every broken reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("selftest")
@click.argument("ids", nargs=-1, metavar="[MUTANT]...")
@click.option("--shard", "part", metavar="I/N", help="Only the I-th of N parts.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the runs.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--list", "only_list", is_flag=True, help="List the mutants and what must catch each.")
@click.option("--chameleon", is_flag=True, help="Against the correct server that takes every open point from a seed.")
@click.option("--seeds", "number", type=click.IntRange(1), help="With --chameleon: so many seeds, from 0 or --from.")
@click.option("--from", "first", type=click.IntRange(0), default=0, help="With --seeds: the first of them.")
@click.option("--rows", multiple=True, metavar="ID", help="With --chameleon: only rows that start so.")
@click.option(
    "--logs", type=click.Path(path_type=Path, file_okay=False), help="With --chameleon: keep each run's event log here."
)
@click.option("--generated", is_flag=True, help="The mutants that are made by rule; needs a checkout.")
@click.option("--only", multiple=True, metavar="GLOB", help="With --generated: only ids, or FILE:LINE, like this.")
@click.option("--sample", type=click.IntRange(1), help="With --generated: so many, drawn by the seed.")
@click.option("--stack", metavar="NAME", help="With --generated: the stack to run, such as `gateway`.")
@click.option("--again", is_flag=True, help="With --generated: only those that a row of the stack has failed before.")
@click.option("--whole", is_flag=True, help="With --generated: every row that reaches a mutant, not until one fails.")
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), help="With --generated: what was found, and is kept."
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite against each deliberately broken reference and compare with the committed kill lists, exactly.

    With --chameleon, MUTANT is a seed: run it against a correct server in the look of each seed, where nothing may
    fail, and tell which values of each open point were seen on the wire.

    Exit codes: 0 every list is exact (no row failed, every point was seen to vary), 1 one is not, 2 usage, 3 a stack
    did not come up.
    """
    from conformance.cli.selftesting import selftest  # noqa: PLC0415 - `--help` waits for nothing that it imports

    selftest(ctx, **options)
