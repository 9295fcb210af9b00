"""`weldproof pay`: the options and the help of the command that pays for a checkout link or a call of the rail."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final

import click

from conformance.cli.connection import add_connection_options
from conformance.vocabulary.profile_claims import LANES

_UNITS: Final = 10**6
# Characters of an amount; a longer one cannot be a reasonable price.
_MOST_DIGITS: Final = 18


def _units(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return an amount of USDC in millionths."""
    del ctx
    try:
        units = Decimal(value) * _UNITS
        # Decimal accepts texts such as 1e1000000, whose integer would fill the memory.
        if len(value) > _MOST_DIGITS or units < 0 or units != int(units):
            raise InvalidOperation
    except (InvalidOperation, ValueError, OverflowError):
        raise click.BadParameter("give an amount of USDC with at most 6 decimals, such as 2.50", param=param) from None
    return int(units)


def _seconds(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Return a finite number of seconds, 0 or more."""
    del ctx
    if not (math.isfinite(value) and value >= 0):
        raise click.BadParameter("give a number of seconds, 0 or more", param=param)
    return value


@click.command("pay")
@click.argument("url", required=False)
@click.option(
    "--resume",
    "resume_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Continue the payment in a file that an earlier run wrote. Nothing is paid twice.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Make a second payment although an earlier payment of the same request has no answer yet.",
)
@click.option(
    "--wait",
    "seconds",
    type=float,
    default=300,
    show_default=True,
    metavar="SECONDS",
    callback=_seconds,
    help="Longest time in which the same proof is presented again, each time after the seconds in Retry-After.",
)
@click.option("--a2a", "is_a2a", is_flag=True, help="Order and pay the operation at URL over A2A.")
@click.option(
    "--lane",
    type=click.Choice(LANES),
    help="Lane to pay on; default: the checkout page's, or the first of the profile.",
)
@click.option("--body", help="Request body of a call as JSON, or @FILE. Default: the published example.")
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Target profile with the chain nodes.")
@click.option(
    "--receipt",
    "receipt_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to keep the receipt in (default: in the folder of --keep, else a file named by its hash).",
)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Also keep request, answer and settlement, from which `receipt verify` recomputes the hashes.",
)
@click.option(
    "--max",
    "most",
    default="1",
    show_default=True,
    metavar="USDC",
    callback=_units,
    help="Largest amount that is paid without a question. A larger amount needs your consent at a terminal.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Pay at this host although it is not in the profile. Any other host needs your consent at a terminal.",
)
@add_connection_options
@click.option("--main-network", is_flag=True, help="Allow a payment on a main network, with real money.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Pay the checkout page at URL and wait for Paid, or pay for one call of the rail at URL and keep its receipt.

    The payer and the chain nodes come from the profile (`weldproof up` writes one). URL is requested and paid
    unchanged, including its query. A host outside the profile needs your consent before a request is sent. No payment
    exceeds a `spending_limit` of the profile. The command refuses to pay if a checkout page contradicts its QR code. It
    also refuses a challenge for another request, with less than 120 s left, or in another asset than the network's
    USDC. A `funder` of the profile needs a `spending_limit`. A node that serves a main network needs --main-network.

    The signed payment is stored before it is sent, in $XDG_DATA_HOME/weldproof/payments or under ~/.local/share. So it
    survives a crash, a closed connection and an answer such as 503. The same proof is then presented again for --wait
    seconds. After that the command prints the line `weldproof pay --resume FILE` that continues. A second run for the
    same request continues the open payment and does not pay again, except with --again.

    Exit codes: 0 paid and answered, 1 refused and nothing paid, 2 usage and nothing paid, 3 unreachable and nothing
    paid, 5 paid (or perhaps paid) and no answer yet (resume), 6 paid and finally refused (ask the operator), 130
    interrupted and nothing signed.
    """
    from conformance.cli.pay.execution import pay  # noqa: PLC0415 - `--help` waits for nothing that it imports

    pay(ctx, **options)
