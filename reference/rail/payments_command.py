"""`weldproof-rail payments`: the operator's commands for payments that were not served."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import click

from reference.protocol.money import amount_pretty
from reference.protocol.networks import NETWORKS
from reference.protocol.time_text import utc_text
from reference.rail.keys import build_signer, open_signing_keys
from reference.rail.runtime import locate_ledger
from reference.rail.settings import RailSettings
from reference.rail.settlement.unserved_payments import ListedPayment, PaymentOperations
from reference.rail.signed_answers import Signer
from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database
from reference.store.redemptions import Redemptions
from reference.store.unserved_payments import UnservedPayments
from reference.store.used_key_ids import UsedKeyIds
from reference.web.clock import WpClock
from reference.web.operator_commands import add_list_options, show_payments
from reference.web.operator_commands import run_act as carried_out
from reference.web.settings import Misconfigured, read_settings

_COLUMNS = "{:<20} {:<20} {:<17} {:<19} {:<19} {}"
_HEAD = _COLUMNS.format("ID", "SINCE", "STATE", "LANE", "SERVICE", "AMOUNT")
_Result = TypeVar("_Result")


@click.group(invoke_without_command=True)
@add_list_options
@click.pass_context
def payments(ctx: click.Context, *, as_json: bool, refunded: bool, most: int) -> None:
    """List payments that were not served, with the reason and what will happen.

    Reads the database of the rail's settings; workers may run or not. Ends with 0 whether or not there are payments,
    and with 2 if settings or database cannot be used.
    """
    if ctx.invoked_subcommand is not None:
        return
    # One more than shown: the surplus says that there are more.
    entries = _run_operation(lambda desk: desk.list_payments(is_refunded=refunded, most=most + 1))
    show_payments(entries, most, as_json=as_json, members=ListedPayment.members, lines=_format_lines)


@payments.command()
@click.argument("row_id", metavar="ID", type=int)
def serve(row_id: int) -> None:
    """Serve a paid payment now, and print its answer.

    The answer is stored. The same proof gets it when it is presented again, and its 24 hours begin only then. If a
    worker holds the payment, the command waits until its lease ends. Ends with 1, and changes nothing, if the payment
    cannot be served.
    """
    answer = _run_operation(lambda desk: desk.serve(row_id))
    click.echo(answer.decode())


@payments.command("refunded")
@click.argument("payment_id", metavar="ID")
@click.option("--transaction", required=True, metavar="TX", help="The transaction that gave the money back.")
def mark_refunded(payment_id: str, transaction: str) -> None:
    """Mark a payment that was not served as given back.

    ID is as listed: a number, or the transaction of a payment in state moved_unclaimed or paid_refused.

    Sends no money: give it back first. From then on its proof is refused with payment_refunded, also by a worker that
    is making its answer now. Ends with 1, and changes nothing, if it is not paid or was served.
    """
    if payment_id.isdecimal():
        _run_operation(lambda desk: desk.refund(int(payment_id), transaction))
    else:
        _run_operation(lambda desk: desk.refund_unclaimed(payment_id, transaction))
    click.echo(f"{payment_id} is marked as given back; it is never served.")


def _run_operation(act: Callable[[PaymentOperations], Awaitable[_Result]]) -> _Result:
    """Return the result of an operation, or end the program with one line that gives the reason."""
    settings = read_settings(RailSettings)

    async def run_act() -> _Result:
        async with open_payment_operations(settings) as desk:
            return await act(desk)

    return carried_out(run_act, away=DatabaseUnavailable, setting="WP_RAIL_DB")


@asynccontextmanager
async def open_payment_operations(settings: RailSettings) -> AsyncIterator[PaymentOperations]:
    """Open the operator's operations over a rail's ledger, and close them on leaving.

    Raises:
        Misconfigured: The settings name no ledger.
        DatabaseUnavailable: The ledger cannot be asked.
    """
    # Opening would create an empty ledger: an operator with wrong settings would read that nothing is unserved.
    if not settings.rail_db and not (settings.rail_data_dir / "rail.sqlite3").exists():
        raise Misconfigured(f"WP_RAIL_DATA_DIR: {settings.rail_data_dir} holds no ledger; give the rail's own settings")
    database, clock = open_database(locate_ledger(settings)), WpClock(settings.clock_offset_file)

    # Keys are opened only to serve a payment, so that listing works where the signing key is not readable.
    async def signer() -> Signer:
        return build_signer(settings, clock, await open_signing_keys(settings, UsedKeyIds(database), clock))

    try:
        ledger = Redemptions(database)
        await ledger.prepare()
        yield PaymentOperations(settings, clock, ledger, UnservedPayments(database), signer, worker=str(uuid.uuid4()))
    finally:
        await database.close()


def _format_lines(entries: Sequence[ListedPayment]) -> list[str]:
    lines = [_HEAD]
    for entry in entries:
        payment = entry.payment
        network = NETWORKS.get(payment.network)
        amount = (
            amount_pretty(int(payment.amount), network.asset_label)
            if network and payment.amount
            else payment.amount or "-"
        )
        lines.append(
            _COLUMNS.format(
                payment.name or "-",
                utc_text(payment.since),
                payment.state.value,
                payment.network,
                payment.service_id or "-",
                amount,
            ).rstrip()
        )
        facts = [("transaction", payment.tx_id), ("payer", payment.payer), ("given back by", payment.refund_tx_id)]
        lines += [f"    {name}: {value}" for name, value in (*facts, ("why", entry.why), ("next", entry.next)) if value]
    return lines
