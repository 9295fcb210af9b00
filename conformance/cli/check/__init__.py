"""`weldproof check`: the options and the help of the first look at a server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import add_connection_options


@click.command("check")
@click.argument("url", metavar="URL")
@click.option("--method", type=click.Choice(["GET", "POST"]), default="GET", help="HTTP method of the paid call.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=2, max=600),
    default=10.0,
    show_default=True,
    help="Longest duration of the test.",
)
@click.option("--pay", is_flag=True, help="Then run the suite with the profile that names the payer.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="Profile for --pay.  [./weldproof.toml]"
)
@add_connection_options
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random choices.")
@click.option("--json", "as_json", is_flag=True, help="Print only JSON on standard output.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Test the server at URL for ten seconds. It needs no profile, pays nothing and creates nothing.

    URL is the address of a rail, gateway, agent or control plane, or of any resource that is sold over x402. The 402 of
    other servers is judged by the rules of x402 version 2 and its clients. The command prints the kind of the server,
    the results, and which requirements a payment would add. The result is not a verdict; `weldproof run` gives one.

    Exit codes: 0 no failure, 1 a failure, 2 usage, 3 nothing could be judged, 4 fault in the suite, 130 interrupted.
    """
    started = time.monotonic()
    from conformance.cli.check.execution import check  # noqa: PLC0415 - `--help` waits for nothing that it imports

    check(ctx, started, **options)
