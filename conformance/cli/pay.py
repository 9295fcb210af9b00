"""`weldproof pay`: pay a checkout link, or for one call of the rail, on one lane; print every step."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.connection import connecting
from conformance.vocabulary.claims import LANES

_UNITS: Final = 10**6
_MOST_DIGITS: Final = 18


def _units(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return USDC as millionths of it."""
    del ctx
    try:
        units = Decimal(value) * _UNITS
        if len(value) > _MOST_DIGITS or units < 0 or units != int(units):
            raise InvalidOperation
    except (InvalidOperation, ValueError, OverflowError):
        raise click.BadParameter("give an amount of USDC with at most 6 decimals, such as 2.50", param=param) from None
    return int(units)


@click.command("pay")
@click.argument("url")
@click.option(
    "--lane",
    type=click.Choice(LANES),
    help="Lane to pay on; default: the checkout page's, or the first of the profile.",
)
@click.option("--body", help="Request body as JSON, or @FILE, for a call; default: its published example.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile with the chain nodes.")
@click.option(
    "--receipt",
    "receipt_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Where to keep the receipt (default: in the folder of --keep, else under its hash).",
)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep request, answer and settlement, too: all that `receipt verify` recomputes hashes from.",
)
@click.option(
    "--max",
    "most",
    default="1",
    show_default=True,
    metavar="USDC",
    callback=_units,
    help="Most that is paid without a question. More is asked about at a terminal, and refused without one.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Pay at this host though it is not of the profile. Others are asked about at a terminal, and refused without.",
)
@connecting
@click.option("--main-network", is_flag=True, help="Pay on a main network's node, with real money.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Pay the checkout page at URL and wait for Paid, or pay for one call of the rail at URL and keep its receipt.

    The payer and the chain nodes come from the profile (`weldproof up` writes one). What is asked for, and paid, is URL
    as it stands, its query with it; nothing is sent to a host that is not of the profile before somebody agreed. No
    `spending_limit` of the profile is exceeded, whoever's money it is. Nothing is paid when a checkout
    page contradicts its own QR code, when a challenge is for another request or has less than 120 s left, or in
    another asset than the network's USDC. A `funder` of the profile needs a `spending_limit`, too, and a node that
    serves a main network --main-network, wherever it is. Exit codes: 0 paid or served, 1 refused, 2 usage, 3
    unreachable.
    """
    from conformance.cli.paying import pay  # noqa: PLC0415 - `--help` waits for nothing that it imports

    pay(ctx, **options)
