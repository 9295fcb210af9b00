"""`weldproof replay`: one recorded exchange again, from its seed, with a fresh payment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import connecting
from conformance.cli.renamed import renamed


@click.command("replay")
@click.argument("what", metavar="REPORT#N[@RUN]")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@renamed("--reference", "--own-stack", is_flag=True, help="The reference, even where a ./weldproof.toml lies.")
@click.option("--mutant", help="Our own stack as this deliberately broken variant; default: as recorded.")
@click.option("--main-network", is_flag=True, help="Pay on main networks' nodes, with real money.")
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Up to so many times, until it comes out as recorded: for what hangs on a race or on chance.",
)
@click.option(
    "--beside", is_flag=True, help="With the checks that ran beside it: for what the calls of another provoked."
)
@connecting
@click.option("--json", "as_json", is_flag=True, help="Print both exchanges as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Repeat exchange N of a recorded run: its check runs again from the same seed, with a fresh payment.

    Where N is a delivery that the target made, the check that judged it runs again. What was judged is compared by its
    verdict, anything else by its status. The target is that of the run, unless --config names another.

    REPORT is a report folder or its events.ndjson.gz, and RUN how the run's id begins: of another run nothing is
    repeated. Exit codes: 0 the verdict, or the status of what nobody judged,
    is the same, 1 it differs, 3 not reached.
    """
    from conformance.cli.replaying import replay  # noqa: PLC0415 - `--help` waits for nothing that it imports

    replay(ctx, **options)
