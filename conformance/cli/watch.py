"""`weldproof watch`: runs again what failed whenever the target answers anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import connecting
from conformance.vocabulary.claims import LANES


@click.command("watch")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@connecting
@click.option("--lane", "lanes", multiple=True, type=click.Choice(LANES), help="Only this lane.")
@click.option("--level", "levels", multiple=True, type=click.Choice(["MUST", "SHOULD", "MAY"]), help="Only this level.")
@click.option("--whole", is_flag=True, help="Whole runs, in place of quick looks.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random.")
@click.option("--rounds", type=click.IntRange(min=1), help="End after so many rounds, with the exit code of the last.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; any free one without.")
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default=Path("report"), show_default=True
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite, and again what failed whenever the target answers anew.

    The first round is a quick look at all rows that are chosen. When the server was started again, or reloaded, what
    failed is tried again; once nothing of it fails, all rows are. Enter does not wait for the server. A page on this
    machine, whose address is printed, follows each round while it goes; reports are written after each.

    Ctrl-C ends it. Exit codes: 130 ended by Ctrl-C, 2 usage, 3 the page's port is taken; with --rounds those of `run`.
    """
    from conformance.cli.watching import watch  # noqa: PLC0415 - `--help` waits for nothing that it imports

    watch(ctx, **options)
