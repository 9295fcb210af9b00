"""What paid payment links: each transfer once, late payments, what a reorganisation undid (P-CK-08, P-CK-10)."""

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
from reference.store.payment_search import ALL_PAYMENTS, PaymentSearch, contains_text, in_days
from reference.store.used_transfers import UsedBy


class PaymentState(StrEnum):
    """What a payment did: it paid its link, or why it did not.

    A surplus is the part of a paid payment that is above its link's amount: its row says `paid`, and a row of the table
    of surpluses lists it.
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
        state: What it did.
        value: Atomic units that moved.
        payer: The payer's address.
        block_time: Unix seconds of its block.
        seen_at: Unix seconds of when we took note of it.
        reversed_at: Unix seconds of when the chain was seen to have undone it, or None.
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
    """Money that counted for nothing: a payment that paid no link, or what another paid above its link's amount.

    Attributes:
        state: Why it is listed.
        payment: The payment.
        link: The link.
        link_state: How the link has ended, or `active` when it has no end.
        asset_id: The asset that moved, if it is not the link's.
        refund_tx_id: The transaction that gave it back, as far as that was noted.
        refunded_at: Unix seconds of when it was.
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
        """Atomic units that were paid above the link's amount, of a surplus."""
        if self.state is not PaymentState.SURPLUS:
            return None
        return self.payment.value - atomic_units(self.link.amount_microunits, NETWORKS[self.link.network].decimals)


_ROW = payments.c
_NAMES = tuple(Payment.__slots__)
_SELECT = select(*(_ROW[name] for name in _NAMES))
_IS_PAID = _ROW.state == PaymentState.PAID.value
_INSERT = insert(payments).values({name: bindparam(name) for name in (*_NAMES, "recheck_at")})
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
# By whether they contain a text.
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
        """Return the change that notes a payment; a transfer that has paid already is refused as `DuplicateKey`.

        Args:
            payment: The payment.
            recheck_at: When to look whether the chain has undone it, in unix seconds; None for never.
        """
        members: Mapping[str, object] = {name: getattr(payment, name) for name in _NAMES}
        columns = {"state": payment.state.value, "value": str(payment.value), "recheck_at": recheck_at}
        return Change(_INSERT, {**members, **columns})

    def build_surplus(self, payment: Payment) -> Change:
        """Return the change that lists what a payment moved above its link's amount."""
        place = {"payment_id": payment.id, "tenant_id": payment.tenant_id, "network": payment.network}
        return Change(_NOTE_SURPLUS, {**place, "seen_at": payment.seen_at})

    def build_unlist(self, payment: Payment) -> Change:
        """Return the change that takes a payment off the lists of those that count for nothing, where it may be."""
        place = {"on_network": payment.network, "in_transaction": payment.tx_id, "at_ordinal": payment.ordinal}
        return Change(_UNLIST, {**place, "of_link": payment.link_id})

    def build_use(self, payment: Payment) -> Change:
        """Return the change that uses the transfer of a payment; one that has bought anything is refused as `DuplicateKey`."""
        place = (payment.network, payment.tx_id, payment.ordinal)
        return used_transfers.build_use(*place, UsedBy.LINK, payment.link_id, now=payment.seen_at)

    async def unavailable_to_links(self, network: str, tx_id: str) -> Sequence[int]:
        """Return the places of the transfers of a transaction that no link may take.

        They have bought calls of a rail on this database, or were refunded.
        """
        return await used_transfers.unavailable_to_links(self._database, network, tx_id)

    async def note(self, payment: Payment, *, asset: str | None = None) -> bool:
        """Note a payment that counts for nothing; False when it was noted already.

        Args:
            payment: The payment.
            asset: The asset that it moved, where that is not the link's.
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
        """Note that a payment of a link was shown that is not final yet."""
        with contextlib.suppress(DuplicateKey):
            await self._database.change_all(Change(_SHOW, {"link_id": link_id, "tx_id": tx_id}))

    async def list_shown(self, link_id: str) -> Sequence[str]:
        """Return the payments of a link that were shown before they were final."""
        return [str(row[0]) for row in await self._database.rows(_SHOWN_TRANSACTIONS, link_id=link_id)]

    async def of_transaction(self, network: str, tx_id: str, *, of_all_states: bool = False) -> Sequence[Payment]:
        """Return which transfers of a transaction have paid links, or also which are listed as paying none."""
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
        """Return what counted for nothing of a tenant, by one of the states `UNMATCHED_STATES`, newest first (P-CK-10)."""
        values = {"tenant_id": tenant_id, "most": most, **search.values}
        if state is PaymentState.SURPLUS:
            return _read_unmatched(state, await self._database.rows(_SURPLUS_WITH[bool(search.text)], **values))
        return _read_unmatched(state, await self._database.rows(_UNPAID_WITH[bool(search.text)], **values, state=state))

    async def list_unmatched_of_all(
        self, state: PaymentState, *, is_refunded: bool, most: int
    ) -> Sequence[UnmatchedPayment]:
        """Return the payments of all tenants that counted for nothing, refunded or not, newest first."""
        if state is PaymentState.SURPLUS:
            return _read_unmatched(state, await self._database.rows(_SURPLUS_OF_ALL[is_refunded], most=most))
        return _read_unmatched(state, await self._database.rows(_UNPAID_OF_ALL[is_refunded], state=state, most=most))

    async def find_unmatched(self, payment_id: str, *, tenant_id: str | None = None) -> Payment | None:
        """Return a payment that counted for nothing, or more than its link asks, of a tenant or of any."""
        candidates = _read_payments(await self._database.rows(_GET_UNMATCHED, payment_id=payment_id))
        return next((one for one in candidates if tenant_id in {None, one.tenant_id}), None)

    async def record_refund(self, payment: Payment, tx_id: str, *, now: int) -> bool:
        """Note that a payment was refunded, and use up its transfer, so that it cannot pay anything else.

        If the payment paid its link, only the surplus was refunded: its transfer is used already.

        Returns:
            Whether it was noted. Not when it was before, or when the transfer has paid something meanwhile.
        """
        place = (payment.network, payment.tx_id, payment.ordinal)
        is_paid = payment.state is PaymentState.PAID
        use = () if is_paid else (used_transfers.build_use(*place, UsedBy.REFUND, payment.id, now=now),)
        refund = Change(_NOTE_REFUND, {"payment_id": payment.id, "tx_id": tx_id, "refunded_at": now})
        try:
            await self._database.change_all(*use, refund)
        except DuplicateKey:
            return False
        return True

    async def count_unmatched(self) -> Mapping[tuple[str, str], int]:
        """Return how many payments counted for nothing, by state (`UNMATCHED_STATES`, or `is_refunded`) and network."""
        counts: dict[tuple[str, str], int] = {}
        surplus = [(PaymentState.SURPLUS, *row) for row in await self._database.rows(_SURPLUS_COUNTS)]
        for state, network, is_refunded, count in [*await self._database.rows(_COUNTS), *surplus]:
            key = "refunded" if is_refunded else str(state), str(network)
            counts[key] = counts.get(key, 0) + int(count)
        return counts

    async def due(self, network: str, *, now: int, most: int = 100) -> Sequence[Payment]:
        """Return the payments whose chain is to be asked again."""
        return _read_payments(await self._database.rows(_DUE, network=network, now=now, most=most))

    async def record_recheck(self, payment: Payment, *, reversed_at: int | None, recheck_at: int | None) -> None:
        """Note what the chain said when it was asked again, and when to ask next."""
        await self._database.change(_RECORD_RECHECK, payment_id=payment.id, undone_at=reversed_at, next_look=recheck_at)

    async def positions(self) -> Mapping[tuple[str, str], int]:
        """Return how far each (network, address) was searched."""
        return {(row[0], row[1]): int(row[2]) for row in await self._database.rows(_CURSORS)}

    async def keep_positions(
        self, positions: Mapping[tuple[str, str], int], *, unwatched: Iterable[tuple[str, str]]
    ) -> None:
        """Keep how far addresses were searched; when two workers do so at once, one of them is enough.

        All go through the addresses in one order: else PostgreSQL would have two of them wait for each other.
        """
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
