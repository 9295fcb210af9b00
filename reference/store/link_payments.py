"""Payments of links: each transfer counts once, and late or unmatched payments are listed (P-CK-08, P-CK-10)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import and_, bindparam, delete, exists, func, insert, or_, select, update

from reference.protocol.money import atomic_units
from reference.protocol.networks import NETWORKS
from reference.protocol.observed_transaction import Transfer
from reference.store import used_transfers
from reference.store.checkout_tables import (
    cursors,
    link_ends,
    links,
    payment_assets,
    payments,
    refunds,
    shown_payments,
    surpluses,
)
from reference.store.database import Change, Database, DuplicateKey, Row
from reference.store.links import Link
from reference.store.payment_text_search import ALL_PAYMENTS, PaymentSearch, contains_text, in_days
from reference.store.used_transfers import UsedBy


class PaymentState(StrEnum):
    """The effect of a payment: it paid its link, or the reason why it did not.

    A surplus is the part of a payment above its link's amount. The row of the payment has the state `paid`, and a row
    of the table of surpluses lists it.
    """

    PAID = "paid"
    LATE = "late"
    SHORT = "short"
    SURPLUS = "surplus"
    OTHER_ASSET = "other_asset"
    AMBIGUOUS = "ambiguous"


UNMATCHED_STATES = tuple(state for state in PaymentState if state is not PaymentState.PAID)


@dataclass(frozen=True, slots=True)
class Payment:
    """One transfer bound to one link.

    Attributes:
        id: UUID, the ledger id.
        link_id: The link.
        tenant_id: Its tenant.
        network: Network key.
        tx_id: Transaction, canonical.
        ordinal: Place of the transfer in it.
        state: Its effect.
        value: Atomic units that moved.
        payer: The payer's address.
        block_time: Unix seconds of its block.
        seen_at: Unix seconds of when the gateway recorded it.
        reversed_at: Unix seconds of when the gateway saw that the chain had undone it, or None.
    """

    id: str
    link_id: str
    tenant_id: str
    network: str
    tx_id: str
    ordinal: int
    state: PaymentState
    value: int
    payer: str
    block_time: int
    seen_at: int
    reversed_at: int | None = None

    @classmethod
    def of(
        cls,
        payment_id: str,
        link: Link,
        tx_id: str,
        transfer: Transfer,
        state: PaymentState,
        *,
        block_time: int,
        now: int,
    ) -> Payment:
        """Return the payment of a link by a transfer."""
        return cls(
            id=payment_id,
            link_id=link.id,
            tenant_id=link.tenant_id,
            network=link.network,
            tx_id=tx_id,
            ordinal=transfer.ordinal,
            state=state,
            value=transfer.value,
            payer=transfer.sender,
            block_time=block_time,
            seen_at=now,
        )


@dataclass(frozen=True, slots=True)
class UnmatchedPayment:
    """Money that counted for no link: a payment that paid none, or the part of one above its link's amount.

    Attributes:
        state: Why it is listed.
        payment: The payment.
        link: The link.
        link_state: The state of the link.
        asset_id: The asset that moved, if it is not the link's.
        refund_tx_id: The transaction that gave it back, if a refund was recorded.
        refunded_at: Unix seconds of when the refund was recorded.
    """

    state: PaymentState
    payment: Payment
    link: Link
    link_state: str
    asset_id: str | None = None
    refund_tx_id: str | None = None
    refunded_at: int | None = None

    @property
    def surplus(self) -> int | None:
        """Atomic units that were paid above the link's amount, or None if the state is another one."""
        if self.state is not PaymentState.SURPLUS:
            return None
        return self.payment.value - atomic_units(self.link.amount_microunits, NETWORKS[self.link.network].decimals)


_ROW = payments.c
_NAMES = tuple(Payment.__slots__)
_SELECT = select(*(_ROW[name] for name in _NAMES))
_IS_PAID = _ROW.state == PaymentState.PAID.value
_INSERT = insert(payments).values({name: bindparam(name) for name in (*_NAMES, "recheck_at")})
# A payment may be listed as late or short and still pay its link afterwards: a reorganisation moves it into another
# block, or joins it with more. The row of the list is deleted by the transaction that ends the link.
_UNLIST = delete(payments).where(
    _ROW.network == bindparam("on_network"),
    _ROW.tx_id == bindparam("in_transaction"),
    _ROW.ordinal == bindparam("at_ordinal"),
    _ROW.link_id == bindparam("of_link"),
    ~_IS_PAID,
)
_SHOW = insert(shown_payments).values(link_id=bindparam("link_id"), tx_id=bindparam("tx_id"))
_SHOWN_TRANSACTIONS = select(shown_payments.c.tx_id).where(shown_payments.c.link_id == bindparam("link_id"))
_OF_TRANSACTION = _SELECT.where(_ROW.network == bindparam("network"), _ROW.tx_id == bindparam("tx_id"), _IS_PAID)
_EACH_OF_TRANSACTION = _SELECT.where(_ROW.network == bindparam("network"), _ROW.tx_id == bindparam("tx_id"))
_OF_LINK = _SELECT.where(_ROW.link_id == bindparam("link_id"), _IS_PAID)
_other_payment = payments.alias()
_used_transfer = used_transfers.used_transfers.c
# A late transfer that has meanwhile paid another link or a call cannot be refunded.
_PAID_ANOTHER = or_(
    exists().where(
        _other_payment.c.network == _ROW.network,
        _other_payment.c.tx_id == _ROW.tx_id,
        _other_payment.c.ordinal == _ROW.ordinal,
        _other_payment.c.state == PaymentState.PAID.value,
        _other_payment.c.id != _ROW.id,
    ),
    exists().where(
        _used_transfer.network == _ROW.network,
        _used_transfer.tx_id == _ROW.tx_id,
        _used_transfer.ordinal == _ROW.ordinal,
        _used_transfer.used_by == UsedBy.CALL.value,
    ),
)
_OF_TENANT = (
    _SELECT.where(_ROW.tenant_id == bindparam("tenant_id"), _ROW.state == bindparam("state"), ~_PAID_ANOTHER)
    .order_by(_ROW.seen_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_LINK = tuple(Link.__slots__)
_COLUMNS = (
    *(_ROW[name] for name in _NAMES),
    *(links.c[name] for name in _LINK),
    func.coalesce(link_ends.c.state, "active"),
    payment_assets.c.asset_id,
    refunds.c.tx_id,
    refunds.c.refunded_at,
)
_WITH_LINKS = (
    payments.join(links, links.c.id == _ROW.link_id)
    .outerjoin(link_ends, link_ends.c.link_id == links.c.id)
    .outerjoin(payment_assets, payment_assets.c.payment_id == _ROW.id)
    .outerjoin(refunds, refunds.c.payment_id == _ROW.id)
)
_EACH_UNPAID = (
    select(*_COLUMNS)
    .select_from(_WITH_LINKS)
    .where(_ROW.state == bindparam("state"), ~_PAID_ANOTHER)
    .order_by(_ROW.seen_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_EACH_SURPLUS = (
    select(*_COLUMNS)
    .select_from(_WITH_LINKS.join(surpluses, surpluses.c.payment_id == _ROW.id))
    .order_by(surpluses.c.seen_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_CONTAINS = contains_text(_ROW, func.coalesce(refunds.c.tx_id, ""))
_UNPAID = _EACH_UNPAID.where(_ROW.tenant_id == bindparam("tenant_id"), in_days(_ROW))
_SURPLUS = _EACH_SURPLUS.where(surpluses.c.tenant_id == bindparam("tenant_id"), in_days(_ROW))
# By whether the search has a text. A search without one needs no comparison of columns.
_UNPAID_WITH = {False: _UNPAID, True: _UNPAID.where(_CONTAINS)}
_SURPLUS_WITH = {False: _SURPLUS, True: _SURPLUS.where(_CONTAINS)}
_IS_REFUNDED = {True: refunds.c.tx_id.isnot(None), False: refunds.c.tx_id.is_(None)}
_UNPAID_OF_ALL = {given: _EACH_UNPAID.where(holds) for given, holds in _IS_REFUNDED.items()}
_SURPLUS_OF_ALL = {given: _EACH_SURPLUS.where(holds) for given, holds in _IS_REFUNDED.items()}
_HAS_SURPLUS = exists().where(surpluses.c.payment_id == _ROW.id).correlate(payments)
_GET_UNMATCHED = _SELECT.where(
    _ROW.id == bindparam("payment_id"), or_(and_(~_IS_PAID, ~_PAID_ANOTHER), and_(_IS_PAID, _HAS_SURPLUS))
)
_SURPLUS_NAMES = ("payment_id", "tenant_id", "network", "seen_at")
_NOTE_SURPLUS = insert(surpluses).values({name: bindparam(name) for name in _SURPLUS_NAMES})
_NOTE_ASSET = insert(payment_assets).values(payment_id=bindparam("payment_id"), asset_id=bindparam("asset_id"))
_COUNT_MISDIRECTED = select(func.count()).where(
    _ROW.link_id == bindparam("link_id"),
    or_(_ROW.state == PaymentState.OTHER_ASSET.value, _ROW.state == PaymentState.AMBIGUOUS.value),
)
_NOTE_REFUND = insert(refunds).values({name: bindparam(name) for name in ("payment_id", "tx_id", "refunded_at")})
_is_refunded = exists().where(refunds.c.payment_id == _ROW.id).correlate(payments)
_unmatched_rows = (
    select(_ROW.state, _ROW.network, _is_refunded.label("refunded")).where(~_IS_PAID, ~_PAID_ANOTHER).subquery()
)
_COUNTS = select(*_unmatched_rows.c, func.count()).group_by(*_unmatched_rows.c)
_has_refund = exists().where(refunds.c.payment_id == surpluses.c.payment_id).correlate(surpluses)
_each_surplus = select(surpluses.c.network, _has_refund.label("refunded")).subquery()
_SURPLUS_COUNTS = select(*_each_surplus.c, func.count()).group_by(*_each_surplus.c)
_DUE = (
    _SELECT.where(_ROW.network == bindparam("network"), _ROW.recheck_at <= bindparam("now"))
    .order_by(_ROW.recheck_at)
    .limit(bindparam("most"))
)
# A chain can undo a block that was final by its rule, so a payment is looked up again at growing distances (3.5).
_RECORD_RECHECK = (
    update(payments)
    .where(_ROW.id == bindparam("payment_id"))
    .values(reversed_at=bindparam("undone_at"), recheck_at=bindparam("next_look"))
)
_CURSORS = select(cursors.c.network, cursors.c.address, cursors.c.position)
_IS_CURSOR = (cursors.c.network == bindparam("on_network"), cursors.c.address == bindparam("of_address"))
_FORGET = delete(cursors).where(*_IS_CURSOR)
_KEEP = insert(cursors).values(
    network=bindparam("network"), address=bindparam("address"), position=bindparam("position")
)


class Payments:
    """Statements over payments, and over how far the chains were searched for them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def build_insert(self, payment: Payment, *, recheck_at: int | None) -> Change:
        """Return the change that adds a payment. A transfer that has paid already is refused as `DuplicateKey`.

        Args:
            payment: The payment.
            recheck_at: Unix seconds at which to check whether the chain has undone it; None for never.
        """
        members: Mapping[str, object] = {name: getattr(payment, name) for name in _NAMES}
        columns = {"state": payment.state.value, "value": str(payment.value), "recheck_at": recheck_at}
        return Change(_INSERT, {**members, **columns})

    def build_surplus(self, payment: Payment) -> Change:
        """Return the change that lists the part of a payment above its link's amount."""
        place = {"payment_id": payment.id, "tenant_id": payment.tenant_id, "network": payment.network}
        return Change(_NOTE_SURPLUS, {**place, "seen_at": payment.seen_at})

    def build_unlist(self, payment: Payment) -> Change:
        """Return the change that takes a payment off the lists of unmatched payments, if it is on one."""
        place = {"on_network": payment.network, "in_transaction": payment.tx_id, "at_ordinal": payment.ordinal}
        return Change(_UNLIST, {**place, "of_link": payment.link_id})

    def build_use(self, payment: Payment) -> Change:
        """Return the change that marks the transfer of a payment as used.

        A transfer that has bought anything is refused as `DuplicateKey`.
        """
        place = (payment.network, payment.tx_id, payment.ordinal)
        return used_transfers.build_use(*place, UsedBy.LINK, payment.link_id, now=payment.seen_at)

    async def unavailable_to_links(self, network: str, tx_id: str) -> Sequence[int]:
        """Return the places of the transfers of a transaction that no link may take.

        They have bought calls of a rail on this database, or were refunded.
        """
        return await used_transfers.unavailable_to_links(self._database, network, tx_id)

    async def note(self, payment: Payment, *, asset: str | None = None) -> bool:
        """Add a payment that counts for no link, or return False if it is listed already.

        Args:
            payment: The payment.
            asset: The asset that it moved, if that is not the link's.
        """
        asset_change = () if asset is None else (Change(_NOTE_ASSET, {"payment_id": payment.id, "asset_id": asset}),)
        try:
            await self._database.change_all(self.build_insert(payment, recheck_at=None), *asset_change)
        except DuplicateKey:
            return False
        return True

    async def count_misdirected(self, link_id: str) -> int:
        """Return how many payments of another asset or with an ambiguous memo are listed for a link."""
        return int((await self._database.rows(_COUNT_MISDIRECTED, link_id=link_id))[0][0])

    async def show(self, link_id: str, tx_id: str) -> None:
        """Record that a payment of a link was presented before it was final."""
        with contextlib.suppress(DuplicateKey):
            await self._database.change_all(Change(_SHOW, {"link_id": link_id, "tx_id": tx_id}))

    async def list_shown(self, link_id: str) -> Sequence[str]:
        """Return the transactions of a link that were presented before they were final."""
        return [str(row[0]) for row in await self._database.rows(_SHOWN_TRANSACTIONS, link_id=link_id)]

    async def of_transaction(self, network: str, tx_id: str, *, of_all_states: bool = False) -> Sequence[Payment]:
        """Return the payments of a transaction: those that paid links, or also those that paid none."""
        query = _EACH_OF_TRANSACTION if of_all_states else _OF_TRANSACTION
        return _read_payments(await self._database.rows(query, network=network, tx_id=tx_id))

    async def of_link(self, link_id: str) -> Payment | None:
        """Return the payment that paid a link."""
        return next(iter(_read_payments(await self._database.rows(_OF_LINK, link_id=link_id))), None)

    async def of_tenant(self, tenant_id: str, state: str, *, most: int = 500) -> Sequence[Payment]:
        """Return a tenant's payments of a state, `paid` or `late`, newest first (P-CK-10)."""
        return _read_payments(await self._database.rows(_OF_TENANT, tenant_id=tenant_id, state=state, most=most))

    async def list_unmatched(
        self, tenant_id: str, state: PaymentState, *, most: int = 500, search: PaymentSearch = ALL_PAYMENTS
    ) -> Sequence[UnmatchedPayment]:
        """Return a tenant's unmatched payments of a state in `UNMATCHED_STATES`, newest first (P-CK-10)."""
        values = {"tenant_id": tenant_id, "most": most, **search.values}
        if state is PaymentState.SURPLUS:
            return _read_unmatched(state, await self._database.rows(_SURPLUS_WITH[bool(search.text)], **values))
        return _read_unmatched(state, await self._database.rows(_UNPAID_WITH[bool(search.text)], **values, state=state))

    async def list_unmatched_of_all(
        self, state: PaymentState, *, is_refunded: bool, most: int
    ) -> Sequence[UnmatchedPayment]:
        """Return the unmatched payments of all tenants, refunded or not, newest first."""
        if state is PaymentState.SURPLUS:
            return _read_unmatched(state, await self._database.rows(_SURPLUS_OF_ALL[is_refunded], most=most))
        return _read_unmatched(state, await self._database.rows(_UNPAID_OF_ALL[is_refunded], state=state, most=most))

    async def find_unmatched(self, payment_id: str, *, tenant_id: str | None = None) -> Payment | None:
        """Return a payment that counted for no link or has a surplus, of one tenant or of any."""
        candidates = _read_payments(await self._database.rows(_GET_UNMATCHED, payment_id=payment_id))
        return next((one for one in candidates if tenant_id in {None, one.tenant_id}), None)

    async def record_refund(self, payment: Payment, tx_id: str, *, now: int) -> bool:
        """Record that a payment was refunded, and mark its transfer as used, so that it cannot pay anything else.

        Returns:
            Whether it was recorded. False if it was before, or if the transfer has paid something meanwhile.
        """
        place = (payment.network, payment.tx_id, payment.ordinal)
        is_paid = payment.state is PaymentState.PAID
        # A payment that paid its link is refunded in its surplus only, and its transfer is used already. In all other
        # cases the row of the used transfer decides between this refund and a link or call that takes the transfer now
        # (0048).
        use = () if is_paid else (used_transfers.build_use(*place, UsedBy.REFUND, payment.id, now=now),)
        refund = Change(_NOTE_REFUND, {"payment_id": payment.id, "tx_id": tx_id, "refunded_at": now})
        try:
            await self._database.change_all(*use, refund)
        except DuplicateKey:
            return False
        return True

    async def count_unmatched(self) -> Mapping[tuple[str, str], int]:
        """Return the number of unmatched payments by state (`UNMATCHED_STATES`, or `refunded`) and network."""
        counts: dict[tuple[str, str], int] = {}
        surplus = [(PaymentState.SURPLUS, *row) for row in await self._database.rows(_SURPLUS_COUNTS)]
        for state, network, is_refunded, count in [*await self._database.rows(_COUNTS), *surplus]:
            key = "refunded" if is_refunded else str(state), str(network)
            counts[key] = counts.get(key, 0) + int(count)
        return counts

    async def due(self, network: str, *, now: int, most: int = 100) -> Sequence[Payment]:
        """Return the payments that are due for another check of their chain."""
        return _read_payments(await self._database.rows(_DUE, network=network, now=now, most=most))

    async def record_recheck(self, payment: Payment, *, reversed_at: int | None, recheck_at: int | None) -> None:
        """Record the result of a check of the chain, and the time of the next one."""
        await self._database.change(_RECORD_RECHECK, payment_id=payment.id, undone_at=reversed_at, next_look=recheck_at)

    async def positions(self) -> Mapping[tuple[str, str], int]:
        """Return how far each (network, address) was searched."""
        return {(row[0], row[1]): int(row[2]) for row in await self._database.rows(_CURSORS)}

    async def keep_positions(
        self, positions: Mapping[tuple[str, str], int], *, unwatched: Iterable[tuple[str, str]]
    ) -> None:
        """Store how far addresses were searched, and delete the positions of `unwatched` addresses."""
        # All workers change the addresses in one order. Otherwise PostgreSQL could let two of them wait for each other.
        changes = [
            Change(_FORGET, {"on_network": network, "of_address": address})
            for network, address in sorted({*positions, *unwatched})
        ]
        changes += [
            Change(_KEEP, {"network": network, "address": address, "position": position})
            for (network, address), position in sorted(positions.items())
        ]
        try:
            if changes:
                await self._database.change_all(*changes)
        except DuplicateKey:
            return


def _read_unmatched(state: PaymentState, rows: Sequence[Row]) -> Sequence[UnmatchedPayment]:
    end = len(_NAMES) + len(_LINK)
    pairs = zip(_read_payments([row[: len(_NAMES)] for row in rows]), rows, strict=True)
    return [UnmatchedPayment(state, payment, Link(*row[len(_NAMES) : end]), *row[end:]) for payment, row in pairs]


def read_payment(row: Row) -> Payment:
    """Return the payment of a row that has the columns of its members, in their order."""
    columns = dict(zip(_NAMES, row, strict=True))
    return Payment(**{**columns, "state": PaymentState(columns["state"]), "value": int(columns["value"])})


def _read_payments(rows: Sequence[Row]) -> Sequence[Payment]:
    return [read_payment(row) for row in rows]
