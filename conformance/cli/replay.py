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
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@renamed("--reference", "--own-stack", is_flag=True, help="The reference, even where a ./weldproof.toml lies.")
@click.option("--mutant", help="Our own stack as this deliberately broken variant.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of our own stack.")
@click.option("--chains", metavar="KINDS|FILE", help="Chains of our own stack, or a file with [chains.LANE] tables.")
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
    verdict, anything else by its status.

    No target, program or secret is taken from a log, which others may have written. The target is named by --config,
    --target, --reference or --mutant, as the line that the run printed does. Without any of them ./weldproof.toml is
    used if it describes the target that the run judged.

    REPORT is a report folder or its events.ndjson.gz, and RUN how the run's id begins: of another run nothing is
    repeated. Exit codes: 0 the verdict, or the status of what nobody judged,
    is the same, 1 it differs, 2 usage, or no target is named, 3 not reached.
    """
    from conformance.cli.replaying import replay  # noqa: PLC0415 - `--help` waits for nothing that it imports

    replay(ctx, **options)
