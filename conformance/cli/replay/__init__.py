"""`weldproof replay`: the options and the help of the command that repeats one exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import add_connection_options
from conformance.cli.program_command import ReplayCommand
from conformance.cli.renamed import option_with_old_name
from conformance.vocabulary.profile_claims import BLOCK_MODES


@click.command("replay", cls=ReplayCommand)
@click.argument("what", metavar="REPORT#N[@RUN]")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile.")
@click.option(
    "--target", "addresses", multiple=True, metavar="NAME=URL", help="Address of a surface, without a profile."
)
@option_with_old_name(
    "--reference", "--own-stack", is_flag=True, help="Use the built-in reference, even if ./weldproof.toml exists."
)
@click.option("--mutant", help="Use the reference as this deliberately broken variant.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the reference.")
@click.option("--chains", metavar="KINDS|FILE", help="Chains of the reference, or a file with [chains.LANE] tables.")
@click.option(
    "--algorand-mode",
    "block_mode",
    type=click.Choice(BLOCK_MODES),
    help="The reference's simulated Algorand as algod in DevMode, or with ordinary rounds.",
)
@click.option("--main-network", is_flag=True, help="Allow payments on main networks, with real money.")
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Repeat up to this number of times, until the result is as recorded. For results that depend on a race or on "
    "chance.",
)
@click.option(
    "--beside",
    is_flag=True,
    help="Also run the checks that ran at the same time. For results that another check caused.",
)
@add_connection_options
@click.option("--json", "as_json", is_flag=True, help="Print both exchanges as JSON.")
@click.pass_context
def command(ctx: click.Context, /, what: str, **options: Any) -> None:
    """Repeat exchange N of a recorded run: its check runs again from the same seed, with a fresh payment.

    If N is a webhook delivery of the target, the check that judged it runs again. A judged exchange is compared by its
    verdict, and any other exchange by its status.

    No target, program or secret is taken from a log, because the log may come from another person. Name the target by
    --config, --target, --reference or --mutant, as in the line that the run printed. ./weldproof.toml needs --config
    too, because it may have come with the log. A payer is named by its command after --, or by --config.

    REPORT is a report folder or its events.ndjson.gz. RUN is a prefix of the run's id; an exchange of another run is
    refused. Exit codes: 0 the verdict is the same (or the status, if no check judged the exchange), 1 it differs, 2
    usage or no target, 3 not reached.
    """
    # `--help` does not wait for this import.
    from conformance.cli.replay.execution import ReplayOptions, replay  # noqa: PLC0415

    replay(ctx, what, ReplayOptions(**options))
