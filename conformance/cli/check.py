"""`weldproof check`: a first look at a server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import connecting


@click.command("check")
@click.argument("url", metavar="URL")
@click.option(
    "--method", type=click.Choice(["GET", "POST"]), default="GET", help="How URL is called, where it is sold."
)
@click.option(
    "--seconds", type=click.FloatRange(min=2, max=600), default=10.0, show_default=True, help="How long it may take."
)
@click.option("--pay", is_flag=True, help="Then run the suite with the profile that says who pays.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="With --pay: that profile.  [./weldproof.toml]"
)
@connecting
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Look at the server at URL: no profile, no payment, nothing created, ten seconds.

    URL is the address of a rail, gateway, agent or control plane, or of anything that is sold by x402: a stock server
    is held to what x402 version 2 and its clients demand of a 402. Says what the server seems to be, what of it holds,
    and what paying would add. It is no verdict: that takes `weldproof run`.

    Exit codes: 0 nothing that was tried fails, 1 something fails, 2 usage, 3 nothing could be judged, 4 fault in the
    suite, 130 interrupted.
    """
    started = time.monotonic()
    from conformance.cli.checking import check  # noqa: PLC0415 - `--help` waits for nothing that it imports

    check(ctx, started, **options)
