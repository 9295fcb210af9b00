"""`weldproof watch`: the options and the help of the repeated runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import add_connection_options
from conformance.vocabulary.profile_claims import LANES


@click.command("watch")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@add_connection_options
@click.option("--lane", "lanes", multiple=True, type=click.Choice(LANES), help="Only requirements of this lane.")
@click.option(
    "--level",
    "levels",
    multiple=True,
    type=click.Choice(["MUST", "SHOULD", "MAY"]),
    help="Only requirements of this level.",
)
@click.option("--whole", is_flag=True, help="Make whole runs instead of quick ones.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random choices.")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    help="End after this number of rounds, with the exit code of the last round.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; 0 chooses a free port.")
@click.option(
    "--report-dir", type=click.Path(path_type=Path, file_okay=False), default=Path("report"), show_default=True
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run the suite, then run failed checks again each time the target restarts.

    The first round is a quick run of all selected requirements. After a restart or reload of the server, the failed
    requirements are tested again. When none of them fails, all requirements are tested again. Enter starts a round at
    once. The command prints the address of a local page that shows each round live. It writes the reports after each
    round.

    Ctrl-C ends it. Exit codes: 130 ended by Ctrl-C, 2 usage, 3 the page's port is taken; with --rounds those of `run`.
    """
    # `--help` does not wait for this import.
    from conformance.cli.watch.rounds import WatchOptions, watch  # noqa: PLC0415

    watch(ctx, WatchOptions(**options))
