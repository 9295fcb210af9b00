"""How much `weldproof pay` pays without a question, and how it asks."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from decimal import Decimal

import click

from conformance.checkout.paying import PaymentRefused
from conformance.payers.spending import Wallet
from conformance.report.text import one_line

_UNITS = 10**6
_YES = frozenset({"y", "yes"})


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a command may pay: what it was allowed beforehand, or what somebody at a terminal says yes to.

    Attributes:
        most: Millionths of USDC that are paid without a question.
        wallet: What the command may take of the operator's money: no more than what was agreed.
    """

    most: int
    wallet: Wallet

    async def reached(self, units: int, payee: str, network: str) -> None:
        """Agree on a payment before it is made.

        Args:
            units: Millionths of USDC.
            payee: Who is paid.
            network: Key of the network.

        Raises:
            PaymentRefused: It is more than `most`, and nobody said yes.
        """
        if units > self.most:
            price = f"{in_usdc(units)} USDC on {network} to {one_line(payee, 100)}"
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise PaymentRefused(
                    f"{price} is more than --max {in_usdc(self.most)}, and there is no terminal to ask at. Give "
                    f"--max {in_usdc(units)} if you mean it. Nothing was paid"
                )
            click.echo(f"{price} is more than --max {in_usdc(self.most)}. Pay it? [y/N]: ", err=True, nl=False)
            if (await _line()).strip().lower() not in _YES:
                raise PaymentRefused(f"{price} was not agreed to. Nothing was paid")
        self.wallet.most = units


async def _line() -> str:
    """Return a line that somebody types; Ctrl-C ends the wait for it."""
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), typed.set)
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()


def in_usdc(units: int) -> str:
    """Return millionths of USDC as people write them: `0.05`, `900`."""
    return f"{(Decimal(units) / _UNITS).normalize():f}"
