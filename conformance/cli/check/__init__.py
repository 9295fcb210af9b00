"""`weldproof check`: the options and the help of the first look at a server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from conformance.cli.check.options import CheckOptions
from conformance.cli.connection import add_connection_options
from conformance.cli.program_command import PAYER_ROWS, CheckCommand
from conformance.vocabulary.profile_claims import LANES


@click.command("check", cls=CheckCommand)
@click.argument("url", metavar="URL|PAYER")
@click.option("--method", type=click.Choice(["GET", "POST"]), default="GET", help="HTTP method of the paid call.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=2, max=600),
    help="Longest duration of the test.  [default: 10; 30 of a payer's checks]",
)
@click.option("--pay", is_flag=True, help="Then run the suite with the profile that names the payer.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Profile for --pay, or of a payer.  [./weldproof.toml]",
)
@click.option("--lane", type=click.Choice(LANES), help="The lane on which a payer pays.  [default: base]")
@click.option("--stock", is_flag=True, help="The payer is a stock client of x402 version 2, which knows no weld.")
@add_connection_options
@click.option("--seed", type=int, help="Seed of the random choices.  [default: 1]")
@click.option("--json", "as_json", is_flag=True, help="Print only JSON on standard output.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Test the server at URL for ten seconds. It needs no profile, pays nothing and creates nothing.

    URL is the address of a rail, gateway, agent or control plane, or of any resource that is sold over x402. The 402 of
    other servers is judged by the rules of x402 version 2 and its clients. The command prints the kind of the server,
    the results, and which requirements a payment would add. The result is not a verdict; `weldproof run` gives one.

    PAYER tests a client that pays, which is a command: weldproof check PAYER -- python pay.py. The suite plays the rail
    on a simulated chain for thirty seconds, and looks for the six faults that lose most money. No real money is spent.

    Exit codes: 0 no failure, 1 a failure, 2 usage, 3 nothing could be judged, or a fault of a payer could not,
    4 fault in the suite, 130 interrupted.
    """
    started = time.monotonic()
    # Neither `--help` nor a look at a server waits for what these modules import.
    given = CheckOptions(**options)
    if given.url.strip().upper() == PAYER_ROWS:
        from conformance.cli.check.payer import check_payer  # noqa: PLC0415

        check_payer(ctx, given)
    from conformance.cli.check.execution import check  # noqa: PLC0415

    check(ctx, started, given)
