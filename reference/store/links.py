"""Payment links: the order, the payout address, and how each link ended (3.4, 3.5)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import (
    Numeric,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from reference.protocol.eip3009 import nonce_of
from reference.protocol.link_payment import LINK, LinkEnding, LinkState
from reference.protocol.money import atomic_units
from reference.protocol.networks import NETWORKS
from reference.protocol.service_word import ServiceWord
from reference.store import used_transfers
from reference.store.change_tracker import activity_of
from reference.store.checkout_tables import METADATA, link_ends, link_prices, links, payments, surpluses
from reference.store.database import Change, Database, DuplicateKey, Row
from reference.store.paging import is_behind
from reference.store.used_transfers import UsedBy


@dataclass(frozen=True, slots=True)
class Link:
    """One payment link. It never changes after its creation.

    Attributes:
        id: UUID.
        tenant_id: UUID of the tenant.
        token: Token text, which is in the address of the page.
        network: Network key.
        amount_microunits: The price in millionths of the asset.
        pay_to: The tenant's payout address at creation.
        label: As sent.
        redirect_url: Where the page leads after the payment, or None.
        cancel_digest: SHA-256 of the cancel secret's text, bare hex.
        created_at: Unix seconds.
        expires_at: Unix seconds. A payment in a block of this second still counts.
    """

    id: str
    tenant_id: str
    token: str
    network: str
    amount_microunits: int
    pay_to: str
    label: str
    redirect_url: str | None
    cancel_digest: str
    created_at: int
    expires_at: int


@dataclass(frozen=True, slots=True)
class Price:
    """The order behind a link. The rate was fixed when the link was created.

    Attributes:
        amount: Decimal number as text, in units of the currency.
        currency: Currency code in capitals.
        rate: Units of the link's asset for one unit of the currency, a decimal number as text.
    """

    amount: str
    currency: str
    rate: str


@dataclass(frozen=True, slots=True)
class LinkWithState:
    """A link and its state.

    Attributes:
        link: The link.
        state: `active`, `paid`, `expired` or `cancelled`.
        tx_id: The transaction that paid it, or None.
        reversed_at: Unix seconds of when the gateway saw that the chain had undone the payment, or None.
    """

    link: Link
    state: str
    tx_id: str | None
    reversed_at: int | None


_ROW = links.c
_NAMES = tuple(Link.__slots__)
# How a link ends is a row that is inserted once. So every move of the state table must start from the first state and
# lead to a final one. A table with another move could not be stored this way, and fails at import.
if any(LINK.starts(ending) != (LINK.first,) or LINK.end(ending) not in LINK.finals for ending in LinkEnding):
    raise ValueError("the state table lets a link end several times")
_STATE = func.coalesce(link_ends.c.state, LINK.first.value)
_IS_WATCHED = or_(_ROW.watched_until.is_(None), _ROW.watched_until >= bindparam("now"))
_SELECT = select(*(_ROW[name] for name in _NAMES))
_WITH_STATE = select(*(_ROW[name] for name in _NAMES), _STATE, payments.c.tx_id, payments.c.reversed_at).select_from(
    links.outerjoin(link_ends, link_ends.c.link_id == _ROW.id).outerjoin(
        payments, and_(payments.c.link_id == _ROW.id, payments.c.state == "paid")
    )
)
# Links that were paid before the table of used transfers existed. They are added to it at each start, as old workers
# may still run beside the new ones (decision 0045).
_EARLIER_SALES = select(
    payments.c.network,
    payments.c.tx_id,
    payments.c.ordinal,
    literal_column(f"'{UsedBy.LINK.value}'"),
    payments.c.link_id,
    payments.c.seen_at,
).where(
    payments.c.state == "paid",
    payments.c.seen_at >= bindparam("since"),
    used_transfers.is_unlisted(payments.c.network, payments.c.tx_id, payments.c.link_id),
)
_UNITS = {key: atomic_units(1, network.decimals) for key, network in NETWORKS.items()}
# Payments above the amount that an earlier version took in without listing the surplus. The amount is converted to the
# units of the asset, which has other decimals on some chains.
_EARLIER_SURPLUSES = (
    select(payments.c.id, payments.c.tenant_id, payments.c.network, payments.c.seen_at)
    .select_from(payments.join(links, links.c.id == payments.c.link_id))
    .where(
        payments.c.state == "paid",
        payments.c.seen_at >= bindparam("since"),
        cast(payments.c.value, Numeric)
        > cast(_ROW.amount_microunits, Numeric) * case(_UNITS, value=_ROW.network, else_=1),
        ~exists().where(surpluses.c.payment_id == payments.c.id),
    )
)
_ONE_EARLIER_SURPLUS = _EARLIER_SURPLUSES.limit(1)
_LIST_SURPLUSES = insert(surpluses).from_select(list(surpluses.columns.keys()), _EARLIER_SURPLUSES)
_INSERT = insert(links).values({name: bindparam(name) for name in (*_NAMES, "nonce")})
_PRICE = tuple(Price.__slots__)
_INSERT_PRICE = insert(link_prices).values({name: bindparam(name) for name in ("link_id", *_PRICE)})
_PRICE_OF = select(*(link_prices.c[name] for name in _PRICE)).where(link_prices.c.link_id == bindparam("link_id"))
_BY_TOKEN = _SELECT.where(_ROW.token == bindparam("token"))
_BY_NONCE = _SELECT.where(_ROW.nonce == bindparam("nonce"))
_STATE_OF = select(link_ends.c.state).where(link_ends.c.link_id == bindparam("link_id"))
_OF_TENANT = (
    _WITH_STATE.where(_ROW.tenant_id == bindparam("tenant_id"))
    .order_by(_ROW.created_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_FURTHER = _OF_TENANT.where(is_behind(links))
_GET = _WITH_STATE.where(_ROW.tenant_id == bindparam("tenant_id"), _ROW.id == bindparam("link_id"))
_DUE = (
    _SELECT.where(
        _ROW.watched_until.is_(None),
        _ROW.network == bindparam("network"),
        _ROW.pay_to == bindparam("pay_to"),
        _ROW.expires_at < bindparam("now"),
    )
    .order_by(_ROW.expires_at)
    .limit(bindparam("most"))
)
_AT_ADDRESS = (_ROW.network == bindparam("network"), _ROW.pay_to == bindparam("pay_to"))
_ADDRESSES = select(_ROW.pay_to).where(_ROW.network == bindparam("network"), _IS_WATCHED).distinct()
# Duplicates are removed in Python. With DISTINCT the database would choose the index by address instead of by time.
_NEW_ADDRESSES = select(_ROW.pay_to).where(_ROW.network == bindparam("network"), _ROW.created_at >= bindparam("since"))
_ACTIVE_AT = select(_ROW.id).where(*_AT_ADDRESS, _ROW.watched_until.is_(None)).limit(1)
_LAST_WATCH = select(func.max(_ROW.watched_until)).where(*_AT_ADDRESS)
# The addition of 0 keeps the database from reading the whole network by time until it meets the address.
_OLDEST = select(func.min(_ROW.created_at + 0)).where(*_AT_ADDRESS, _IS_WATCHED)
_PAID_ON_MAINNET = (
    select(func.coalesce(func.sum(_ROW.amount_microunits), 0))
    .select_from(links.join(link_ends, link_ends.c.link_id == _ROW.id))
    .where(
        _ROW.tenant_id == bindparam("tenant_id"),
        link_ends.c.state == LinkState.PAID.value,
        or_(*(_ROW.network == key for key, network in NETWORKS.items() if not network.is_test)),
    )
)
_END = insert(link_ends).values(link_id=bindparam("link_id"), state=bindparam("state"), ended_at=bindparam("ended_at"))
_WATCH_ON = update(links).where(_ROW.id == bindparam("ended_link")).values(watched_until=bindparam("until"))


class Links:
    """Statements over links and their ends. Each public method is one transaction, or part of the caller's."""

    def __init__(self, database: Database, word: ServiceWord) -> None:
        self._database = database
        self._word = word

    async def prepare(self) -> None:
        """Create the missing tables, also those of payments, and list earlier sales."""
        await self._database.create(METADATA)
        since = int(time.time()) - used_transfers.EARLIER_SALES_SECONDS
        await used_transfers.list_earlier_sales(self._database, _EARLIER_SALES, since=since)
        while await self._database.rows(_ONE_EARLIER_SURPLUS, since=since):
            with suppress(DuplicateKey):  # another worker lists them, too
                await self._database.change(_LIST_SURPLUSES, since=since)

    def build_insert(self, link: Link) -> Change:
        """Return the change that creates a link. A token that exists already is refused as `DuplicateKey`."""
        activity_of(self._database).note()
        members: Mapping[str, object] = {name: getattr(link, name) for name in _NAMES}
        return Change(_INSERT, {**members, "nonce": nonce_of(self._word.memo(link.token))})

    def build_price(self, link: Link, price: Price) -> Change:
        """Return the change that stores the order behind a new link."""
        return Change(_INSERT_PRICE, {"link_id": link.id, **{name: getattr(price, name) for name in _PRICE}})

    async def add(self, link: Link, price: Price) -> None:
        """Create a link together with its order."""
        await self._database.change_all(self.build_insert(link), self.build_price(link, price))

    async def price(self, link_id: str) -> Price | None:
        """Return the order behind a link, or None if the link was created before orders were stored."""
        rows = await self._database.rows(_PRICE_OF, link_id=link_id)
        return Price(*rows[0]) if rows else None

    def build_end(self, link_id: str, cause: LinkEnding, *, now: int, watched_until: int) -> tuple[Change, Change]:
        """Return the changes that end a link. A link that has ended already refuses them as `DuplicateKey`.

        Args:
            link_id: The link.
            cause: What ends it.
            now: Unix seconds.
            watched_until: Until when a payment for it is still looked for, in unix seconds.
        """
        return (
            Change(_END, {"link_id": link_id, "state": LINK.end(cause).value, "ended_at": now}),
            Change(_WATCH_ON, {"ended_link": link_id, "until": watched_until}),
        )

    async def by_token(self, token: str) -> Link | None:
        """Return the link of a token."""
        return _read_first(await self._database.rows(_BY_TOKEN, token=token))

    async def by_nonce(self, nonce: str) -> Link | None:
        """Return the link whose memo has this EIP-3009 nonce as its hash, `0x` and lower-case hex."""
        return _read_first(await self._database.rows(_BY_NONCE, nonce=nonce))

    async def of_tenant_by_id(self, tenant_id: str, link_id: str) -> LinkWithState | None:
        """Return a link of a tenant and its state, or None if the tenant has no such link."""
        rows = await self._database.rows(_GET, tenant_id=tenant_id, link_id=link_id)
        return _read_with_state(rows[0]) if rows else None

    async def state(self, link_id: str) -> str:
        """Return `active`, `paid`, `expired` or `cancelled`."""
        rows = await self._database.rows(_STATE_OF, link_id=link_id)
        return str(rows[0][0]) if rows else LINK.first.value

    async def of_tenant(self, tenant_id: str, *, most: int = 200, after: str | None = None) -> Sequence[LinkWithState]:
        """Return a page of a tenant's links, newest first, from behind the link `after`."""
        values = {"tenant_id": tenant_id, "most": most}
        rows = await (
            self._database.rows(_OF_TENANT, **values)
            if after is None
            else self._database.rows(_FURTHER, **values, after=after)
        )
        return [_read_with_state(row) for row in rows]

    async def due(self, network: str, pay_to: str, *, now: int, most: int = 500) -> Sequence[Link]:
        """Return the active links of a payout address that are past their expiry, the oldest first."""
        rows = await self._database.rows(_DUE, network=network, pay_to=pay_to, now=now, most=most)
        return [Link(*row) for row in rows]

    async def addresses(self, network: str, *, now: int) -> Sequence[str]:
        """Return the payout addresses with links that are active or still watched for late payments."""
        return [str(row[0]) for row in await self._database.rows(_ADDRESSES, network=network, now=now)]

    async def new_addresses(self, network: str, *, since: int) -> Sequence[str]:
        """Return the payout addresses of the links that were created at `since` or later."""
        rows = await self._database.rows(_NEW_ADDRESSES, network=network, since=since)
        return list(dict.fromkeys(str(row[0]) for row in rows))

    async def has_active(self, network: str, pay_to: str) -> bool:
        """Return whether a payout address has an active link."""
        return bool(await self._database.rows(_ACTIVE_AT, network=network, pay_to=pay_to))

    async def last_watch(self, network: str, pay_to: str) -> int | None:
        """Return until when a payout address is watched for ended links, or None if none has ended."""
        rows = await self._database.rows(_LAST_WATCH, network=network, pay_to=pay_to)
        return None if rows[0][0] is None else int(rows[0][0])

    async def oldest(self, network: str, pay_to: str, *, now: int) -> int | None:
        """Return when the oldest watched link of a payout address was created, or None without any."""
        rows = await self._database.rows(_OLDEST, network=network, pay_to=pay_to, now=now)
        return None if rows[0][0] is None else int(rows[0][0])

    async def paid_on_mainnet(self, tenant_id: str) -> int:
        """Return the sum of a tenant's paid links on mainnet networks, in micro-units (P-TR-06)."""
        rows = await self._database.rows(_PAID_ON_MAINNET, tenant_id=tenant_id)
        return int(rows[0][0])


def _read_with_state(row: Row) -> LinkWithState:
    return LinkWithState(Link(*row[: len(_NAMES)]), *row[len(_NAMES) :])


def _read_first(rows: Sequence[Row]) -> Link | None:
    return Link(*rows[0]) if rows else None
