"""`weldproof bench`, or `python -m tools.bench`: what the reference costs, beside floors and peers of the same run."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import click

from conformance.outcome import Exit
from tools.bench import goals
from tools.bench.bench_command import bench
from tools.bench.record import QUICK_RECORDS, RECORD


@click.command("bench")
@click.option("--only", multiple=True, type=click.Choice([*goals.JOBS, "lanes"]), help="Only this job.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Rounds that count.")
@click.option(
    "--seconds", type=click.FloatRange(0.01), default=0.7, show_default=True, help="Work of a server a round."
)
@click.option("--quick", is_flag=True, help="Plain calls only, compared with the figures recorded last.")
@click.option(
    "--record",
    is_flag=True,
    help=f"Write docs/performance.md and {RECORD}; with --quick, this processor's part of {QUICK_RECORDS}.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --quick: the figures to compare with, in place of those recorded on the same kind of processor.",
)
@click.option(
    "--suite", "log", type=click.Path(path_type=Path, exists=True), help="Where a run's seconds went, by check."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Measure the reference beside floors and peers in one run, and hold it against the goals.

    Peers are installed into a cache of the bench's own at first use; one that cannot be is named, and the rest goes on.
    With --suite REPORT alone: where the seconds of that run of the suite went, by check.

    With --quick a job is slower that lost more than 15 % of its ratio to a floor of the same run, each at its best
    round, and still did when it was measured again. It is compared with what the same kind of processor showed, since
    the ratios of others differ by more than that; where none is recorded, it is measured only.

    Exit codes: 0 measured, with --quick also nothing became slower; 1 something did; 2 usage; 3 with --quick, no record
    is of this kind of processor; 4 the bench failed.
    """
    try:
        bench(ctx, **options)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it is no slowdown
        click.echo(traceback.format_exc(), err=True)
        ctx.exit(Exit.SUITE_FAULT)


if __name__ == "__main__":
    command(prog_name="weldproof bench")
