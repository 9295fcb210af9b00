"""`weldproof-gateway payments`: lists unmatched payments, and marks those that an operator gave back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import click

from reference.gateway.runtime import database_dsn
from reference.gateway.settings import GatewaySettings
from reference.gateway.unmatched_payments import UnmatchedPayments, amount_text, build_unmatched_members
from reference.protocol.time_text import utc_text
from reference.store.database import DatabaseUnavailable
from reference.store.database_url import open_database
from reference.store.link_payments import Payments, UnmatchedPayment
from reference.store.links import Links
from reference.web.clock import WpClock
from reference.web.errors import Refused, Unprocessable
from reference.web.operator_commands import NotDone, add_list_options, run_act, show_payments
from reference.web.settings import Misconfigured, read_settings

_COLUMNS = "{:<36} {:<20} {:<11} {:<17} {:<19} {}"
_HEAD = _COLUMNS.format("ID", "SEEN", "STATE", "REASON", "NETWORK", "AMOUNT")
_Result = TypeVar("_Result")


@click.group(invoke_without_command=True)
@add_list_options
@click.pass_context
def payments(ctx: click.Context, *, as_json: bool, refunded: bool, most: int) -> None:
    """List money that counted for no link, of every tenant, with the reason.

    Payments that came too late or moved too little, what was paid above an amount, other assets and unclear memos.

    Reads the database of the gateway's settings, beside its workers or without any. Ends with 0 whether or not there
    are any, and with 2 when settings or database cannot be used.
    """
    if ctx.invoked_subcommand is not None:
        return
    entries = _run_on_payments(lambda unmatched: unmatched.of_all(is_refunded=refunded, most=most + 1))
    show_payments(entries, most, as_json=as_json, members=_members, lines=_lines)


@payments.command("refunded")
@click.argument("payment_id", metavar="ID")
@click.option("--transaction", required=True, metavar="TX", help="The transaction that gave the money back.")
def mark_refunded(payment_id: str, transaction: str) -> None:
    """Mark a payment that counted for no link as given back.

    Sends nothing: give the money back first. Nothing is paid by its transfer from then on. Ends with 1, and changes
    nothing, where it was given back before or has paid something.
    """
    _run_on_payments(lambda unmatched: _refund(unmatched, payment_id, transaction))
    click.echo(f"{payment_id} is marked as given back; nothing is paid by it any more.")


async def _refund(unmatched_payments: UnmatchedPayments, payment_id: str, transaction: str) -> None:
    try:
        await unmatched_payments.refund(payment_id, transaction)
    except Unprocessable as fault:
        raise NotDone("; ".join(str(one["msg"]) for one in fault.detail)) from fault
    except Refused as refusal:
        absence = "there is no payment of that id that counted for no link"
        raise NotDone(absence if refusal.status == 404 else refusal.message) from refusal


def _run_on_payments(act: Callable[[UnmatchedPayments], Awaitable[_Result]]) -> _Result:
    settings = read_settings(GatewaySettings)

    async def act_on_payments() -> _Result:
        async with _open_payments(settings) as ledger:
            return await act(ledger)

    return run_act(act_on_payments, away=DatabaseUnavailable, setting="WP_GATEWAY_DB")


@asynccontextmanager
async def _open_payments(settings: GatewaySettings) -> AsyncIterator[UnmatchedPayments]:
    folder = settings.gateway_data_dir
    # Opening SQLite would create an empty database in a wrong folder, and the command would report that all is well.
    if not settings.gateway_db and not (folder / "gateway.sqlite3").exists():
        raise Misconfigured(f"WP_GATEWAY_DATA_DIR: {folder} holds no database; give the gateway's own settings")
    database = open_database(database_dsn(settings))
    try:
        # An older database may lack tables of this version. The command creates them as a worker would at its start.
        await Links(database, settings.word).prepare()
        yield UnmatchedPayments(WpClock(settings.clock_offset_file), Payments(database))
    finally:
        await database.close()


def _members(entry: UnmatchedPayment) -> dict[str, Any]:
    return {"tenant_id": entry.payment.tenant_id, **build_unmatched_members(entry)}


def _lines(entries: Sequence[UnmatchedPayment]) -> list[str]:
    lines = [_HEAD]
    for entry in entries:
        members = build_unmatched_members(entry)
        place = (members["payment_id"], members["seen_at"], entry.state.value, members["reason"], members["network"])
        lines.append(_COLUMNS.format(*place, amount_text(members)))
        refunded_at = "" if entry.refunded_at is None else f", {utc_text(entry.refunded_at)}"
        given_back = entry.refund_tx_id and f"{entry.refund_tx_id}{refunded_at}"
        facts = (
            ("tenant", entry.payment.tenant_id),
            ("link", f"{entry.link.id} ({entry.link.label!r})"),
            ("transaction", entry.payment.tx_id),
            ("payer", entry.payment.payer),
            ("given back by", given_back),
        )
        lines += [f"    {name}: {value}" for name, value in facts if value]
    return lines
