"""`weldproof init`: the options and the help of the command that writes a first profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.cli.connection import add_connection_options
from conformance.vocabulary.lanes.registry import FACTS


def _add_node_options(function: Any) -> Any:
    """Add the options for the lanes' nodes and payers."""
    for option in reversed([option for lane in FACTS.values() for option in lane.options]):
        kind = click.Path(path_type=Path, dir_okay=False) if option.kind == "file" else None
        function = click.option(option.flag, type=kind, help=option.help)(function)
    return function


@click.command("init")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=Path("weldproof.toml"))
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option(
    "--pace",
    type=click.FloatRange(min=0),
    help="Requests per second that the target accepts without a rate limit; 0 means no limit. Default: 10, or 0 for a "
    "target on this machine that limits no request.",
)
@click.option(
    "--wait-for-expiry",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Longest time that the suite may wait for a challenge to expire. Without it the affected requirements stay "
    "undecided.",
)
@click.option(
    "--clock",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the seconds that the server and its chains add to their clocks (`clock_file` of `weldproof up`).",
)
@add_connection_options
@_add_node_options
@click.option(
    "--spending-limit",
    metavar="UNITS",
    help="With a paying account: the atomic units of USDC that a whole run may spend, such as 5000000 for 5 USDC.",
)
@click.option(
    "--tenant",
    "tenants",
    multiple=True,
    metavar="ID=VARIABLE",
    help="Tenant of a gateway, and the environment variable that contains its API key. Give it twice for two tenants.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Probe the servers at URL… and write a target profile that describes them.

    With --tenant a gateway is also called as that tenant. This creates a resource and a payment link on each network.

    Exit codes: 0 written, 2 usage, 3 no surface answered.
    """
    from conformance.cli.init.execution import initialise  # noqa: PLC0415 - `--help` waits for nothing that it imports

    initialise(ctx, **options)
