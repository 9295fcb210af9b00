"""Payments as a CSV file (RFC 4180, UTF-8) for spreadsheets and accounting.

Labels come from a shop's orders, and so from its customers. A spreadsheet runs a cell that begins with one of the
characters `= + - @` as a formula. The file puts an apostrophe before such a text, which makes it plain text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final

from reference.gateway.received_payments import Receipts
from reference.gateway.tenant_administration import TenantAdministration
from reference.gateway.unmatched_payments import build_unmatched_members
from reference.protocol.money import MICRO_DIGITS
from reference.protocol.networks import NETWORKS
from reference.protocol.service_word import ServiceWord
from reference.protocol.time_text import utc_text
from reference.store.link_payments import Payment, UnmatchedPayment
from reference.store.links import Link
from reference.store.payment_text_search import PaymentSearch
from reference.store.received_payments import ReceivedPayment

# The file is built in memory. A larger selection is refused with the advice to choose fewer days.
MOST_ROWS: Final = 10_000
COLUMNS: Final = (
    "payment_id",
    "link_id",
    "label",
    "state",
    "reason",
    "confirmed_at",
    "seen_at",
    "network",
    "amount_usdc",
    "amount_microunits",
    "asked_usdc",
    "asked_microunits",
    "asset_id",
    "asset_units",
    "payer",
    "paid_to",
    "tx_id",
    "memo",
    "undone_at",
    "given_back_by",
    "given_back_at",
)
_PART_ROWS = 1000
# Where a cell begins: at its start, and behind a semicolon, which separates cells where a comma is the decimal mark.
# Spreadsheets also run the full-width forms, and skip white space before the sign.
_FORMULA = re.compile(r"(?:^|(?<=;))(?=\s*[=+\-@＝＋－＠]|[\t\r\n])")  # noqa: RUF001 - these forms are meant


class TooManyPayments(Exception):
    """More payments are selected than a file may have."""


class PaymentExport:
    """Builds files of a tenant's payments."""

    def __init__(self, word: ServiceWord, tenancy: TenantAdministration, receipts: Receipts) -> None:
        self._word = word
        self._tenancy = tenancy
        self._receipts = receipts

    async def csv(self, tenant_id: str, search: PaymentSearch) -> bytes:
        """Return the payments of a tenant that a search selects: first those that paid links, then the others.

        Raises:
            TooManyPayments: There are more than `MOST_ROWS`.
        """
        rows: list[Sequence[str]] = []
        after: str | None = None
        while True:
            entries, after = await self._receipts.load_part(tenant_id, after, search, most=_PART_ROWS)
            # The rows are read in parts, and other calls are served in between. A large export does not stop the
            # checkout.
            rows += [self._received_row(one) for one in entries]
            if len(rows) > MOST_ROWS:
                raise TooManyPayments
            if after is None:
                break
        room = MOST_ROWS + 1 - len(rows)
        rows += [self._unmatched_row(one) for one in await self._tenancy.select_unmatched(tenant_id, search, most=room)]
        if len(rows) > MOST_ROWS:
            raise TooManyPayments
        return csv_file(COLUMNS, rows)

    def _received_row(self, entry: ReceivedPayment) -> Sequence[str]:
        payment, link = entry.payment, entry.link
        asset_id = NETWORKS[payment.network].asset_id
        return (
            *self._begin(payment, link, "paid", ""),
            *_amounts(payment.network, payment.value, link, asset_id),
            *self._end(payment, link),
            *("", ""),
        )

    def _unmatched_row(self, entry: UnmatchedPayment) -> Sequence[str]:
        # The row of a surplus has the part above the link's amount. The whole is in the row of the paid payment, so the
        # sum of the column is what arrived.
        units = entry.payment.value if entry.surplus is None else entry.surplus
        members = build_unmatched_members(entry)
        return (
            *self._begin(entry.payment, entry.link, entry.state, str(members["reason"])),
            *_amounts(entry.payment.network, units, entry.link, str(members["asset_id"])),
            *self._end(entry.payment, entry.link),
            *(entry.refund_tx_id or "", _time(entry.refunded_at)),
        )

    def _begin(self, payment: Payment, link: Link, state: str, reason: str) -> Sequence[str]:
        times = (_time(payment.block_time), _time(payment.seen_at))
        return (payment.id, link.id, link.label, state, reason, *times, payment.network)

    def _end(self, payment: Payment, link: Link) -> Sequence[str]:
        memo = self._word.memo(link.token)
        return (payment.payer, link.pay_to, payment.tx_id, memo, _time(payment.reversed_at))


def csv_file(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return a CSV file with a header, in which no cell is a formula."""
    out = StringIO()
    # RFC 4180 demands CRLF at the end of lines.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    return out.getvalue().encode()


def plain_cell(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula; other texts are unchanged."""
    # An apostrophe makes a spreadsheet show the text instead of running it.
    return _FORMULA.sub("'", text)


def _amounts(network_key: str, value: int, link: Link, asset_id: str) -> Sequence[str]:
    """Return what moved and what was asked for, exactly; of another asset, only its units are known."""
    network = NETWORKS[network_key]
    moved_columns = ("", "")
    # The decimals of a foreign asset are unknown, so its amount is given in units only.
    if asset_id == network.asset_id:
        moved_columns = (_decimal(value, network.decimals, 2), _decimal(value, network.decimals - MICRO_DIGITS, 0))
    price_columns = (_decimal(link.amount_microunits, MICRO_DIGITS, 2), str(link.amount_microunits))
    return (*moved_columns, *price_columns, asset_id, str(value))


def _decimal(value: int, places: int, least: int) -> str:
    """Return `value / 10**places` to the last digit, with at least some digits behind the point."""
    whole, fraction = divmod(value, 10**places)
    digits = (f"{fraction:0{places}d}" if places else "").rstrip("0").ljust(least, "0")
    return f"{whole}.{digits}" if digits else str(whole)


def _time(unix: int | None) -> str:
    return "" if unix is None else utc_text(unix)
