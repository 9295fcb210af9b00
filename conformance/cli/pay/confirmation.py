"""Consent to a payment: the limits within which `weldproof pay` pays without a question, and its questions."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

import click

from conformance.cli.pay.paid_address import PaidAddress
from conformance.lanes.main_network_guard import tables
from conformance.lanes.spending import Wallet
from conformance.surfaces.gateway.checkout_payment import PaymentRefused
from conformance.target import Profile
from conformance.text.target_text_escaping import one_line
from conformance.text.usdc import in_usdc
from conformance.vocabulary.network import with_worth

# Every other answer means no, including an empty one.
_YES = frozenset({"y", "yes"})


@dataclass(frozen=True, slots=True)
class Agreement:
    """The permission to pay: granted by options beforehand, or by the user at a terminal.

    Attributes:
        most: Largest amount without a question, in millionths of USDC.
        wallet: The permission to take the operator's money, never more than the agreed amount.
        hosts: Permitted hosts outside of the profile, with their ports.
    """

    most: int
    wallet: Wallet
    hosts: tuple[str, ...] = ()

    async def agree_on_host(self, address: PaidAddress, profile: Profile) -> None:
        """Obtain consent to a host, before anything is sent to it.

        Raises:
            PaymentRefused: The host is outside of the profile, was not permitted, and the user did not agree.
        """
        # The operator wrote these hosts into the profile or the command, so no question is needed.
        if address.is_of(profile) or address.host in self.hosts:
            return
        surface_list = ", ".join(f"{name} {one.url}" for name, one in sorted(profile.surfaces.items()))
        host_text = (
            f"{one_line(address.host, 100)} is not a host of the profile ({surface_list or 'it has no surface'})"
        )
        if not is_at_terminal():
            raise PaymentRefused(
                f"{host_text}, and without a terminal no question can be asked. To pay there, give --allow-host "
                f"{one_line(address.host, 100)}. Nothing was sent or paid"
            )
        if not await ask_yes_no(f"{host_text}. Pay there?"):
            raise PaymentRefused(f"{host_text}, and you did not agree to it. Nothing was sent or paid")

    async def agree_on_price(self, units: int, payee: str, network: str) -> None:
        """Obtain consent to a payment before it is made.

        Args:
            units: Millionths of USDC.
            payee: The payee.
            network: Key of the network.

        Raises:
            PaymentRefused: The price exceeds `most`, and the user did not agree.
        """
        if units > self.most:
            price = f"{in_usdc(units)} USDC on {with_worth(network)} to {one_line(payee, 100)}"
            if not is_at_terminal():
                raise PaymentRefused(
                    f"{price} is more than --max {in_usdc(self.most)}, and without a terminal no question can be "
                    f"asked. To pay it, give --max {in_usdc(units)}. Nothing was paid"
                )
            if not await ask_yes_no(f"{price} is more than --max {in_usdc(self.most)}. Pay it?"):
                raise PaymentRefused(f"{price}: you did not agree to it. Nothing was paid")
        # From here on the payer itself refuses to spend more than this price.
        self.wallet.most = units


def check_limits(profile: Profile, units: int, network: str) -> None:
    """Check a price against every spending limit of the profile for its network, of any surface.

    Args:
        profile: The profile.
        units: Millionths of USDC.
        network: Key of the network.

    Raises:
        PaymentRefused: The price exceeds a limit.
    """
    for table, chain in tables(profile):
        if chain.network == network and chain.spending_limit is not None and units > int(chain.spending_limit):
            raise PaymentRefused(
                f"{in_usdc(units)} USDC on {network} is more than [{table}] spending_limit, "
                f"{in_usdc(int(chain.spending_limit))}. Nothing was paid"
            )


def is_at_terminal() -> bool:
    """Return whether a user can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_yes_no(question: str) -> bool:
    """Ask a question and return whether the answer is yes."""
    click.echo(f"{question} [y/N]: ", err=True, nl=False)
    return (await _read_line()).strip().lower() in _YES


async def _read_line() -> str:
    """Return a typed line; Ctrl-C ends the wait."""
    loop, input_ready = asyncio.get_running_loop(), asyncio.Event()
    # A plain `readline` would block the loop, and Ctrl-C would not end the command.
    loop.add_reader(sys.stdin.fileno(), input_ready.set)
    try:
        await input_ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline()
