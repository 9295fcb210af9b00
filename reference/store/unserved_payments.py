"""Unserved payments: what was presented or paid and not served, and what an operator gave back (0048, 0067)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import and_, bindparam, case, exists, func, insert, literal_column, or_, select
from sqlalchemy.sql.elements import ColumnElement

from reference.protocol.networks import NETWORKS
from reference.protocol.redemption import RedemptionEvent
from reference.store import used_transfers
from reference.store.database import Change, Database, DuplicateKey, Row, RowNotFound
from reference.store.kept_requests import request_of
from reference.store.rail_tables import kept_claims, kept_requests, redemptions, refunds, refused_payments, settlements
from reference.store.redemption_moves import build_move
from reference.store.redemptions import fresh_id
from reference.store.refused_payments import LISTED_SECONDS
from reference.store.settlements import Fate
from reference.store.used_transfers import SOME_TRANSFER, UsedBy


class UnservedState(StrEnum):
    """The state of a payment that was not served.

    `waiting`: it was presented, and its chain does not show it as final. `waiting_for_node`: the last check reached no
    node, or its answer could not be made; it does not lapse. `sent`: the rail sent what the payer authorized, and the
    outcome is unknown. `paid_unserved`: the money has arrived. `moved_unclaimed`: what the rail sent moved the money,
    and there is no claim to serve for it. `paid_refused`: the money reached the payee, and its proof was refused, for
    example because of its age. `refunded`: an operator gave it back.
    """

    WAITING = "waiting"
    WAITING_FOR_NODE = "waiting_for_node"
    SENT = "sent"
    PAID = "paid_unserved"
    UNCLAIMED = "moved_unclaimed"
    PAID_REFUSED = "paid_refused"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Unserved:
    """A payment that was not served.

    Attributes:
        id: The redemption's number; None if no claim is left, and the transaction identifies the payment.
        state: Its state.
        since: Unix seconds of when it was presented, of when it was sent if no claim is left, or of when its proof
            was refused.
        network: Network key.
        service_id: The service that was requested; empty if unknown.
        amount: The price in atomic units; empty if unknown.
        tx_id: The transaction; empty before it is sent.
        payer: The payer's address; empty if unknown.
        paid_at: Unix seconds of when it was marked as paid.
        expires_at: Unix seconds of when the settle window of a claim begins.
        is_held: Whether a worker has its lease; that worker may have died.
        has_order: Whether the request is kept.
        refund_tx_id: The transaction that gave it back.
        refunded_at: Unix seconds of when that was recorded.
        code: The code with which its proof was refused, if it was.
    """

    id: int | None
    state: UnservedState
    since: int
    network: str
    service_id: str
    amount: str
    tx_id: str
    payer: str | None
    paid_at: int | None = None
    expires_at: int | None = None
    is_held: bool = False
    has_order: bool = False
    refund_tx_id: str | None = None
    refunded_at: int | None = None
    code: str | None = None

    @property
    def name(self) -> str | None:
        """The name for an operator: the redemption's number, or the transaction if no claim is left.

        None while a settlement without a claim is open, as nothing can be done about it.
        """
        if self.id is not None:
            return str(self.id)
        return self.tx_id if self.state in {UnservedState.UNCLAIMED, UnservedState.PAID_REFUSED} else None


_ROW, _SENT, _REFUND, _NOTED = redemptions.c, settlements.c, refunds.c, refused_payments.c
_OF_THE_CLAIM = and_(_SENT.token == _ROW.token, _SENT.payment_key == _ROW.payment_key)
_OPEN = _SENT.fate == literal_column(f"'{Fate.OPEN.value}'")
_HAS_MOVED = _SENT.fate.in_([literal_column(f"'{one.value}'") for one in (Fate.SETTLED, Fate.OVERTAKEN)])


def _is_in(table: Any) -> ColumnElement[bool]:
    return exists().where(table.c.claim_id == _ROW.id).correlate(redemptions)


def _word(state: UnservedState) -> ColumnElement[str]:
    return literal_column(f"'{state.value}'")


_STATE = case(
    (_ROW.paid_at.isnot(None), _word(UnservedState.PAID)),
    (exists().where(_OF_THE_CLAIM, _OPEN).correlate(redemptions), _word(UnservedState.SENT)),
    (_is_in(kept_claims), _word(UnservedState.WAITING_FOR_NODE)),
    else_=_word(UnservedState.WAITING),
).label("state")
# The newest transaction that was sent for a claim, and the payer of its authorization.
_SENT_HASHES = select(_SENT.hashes).where(_OF_THE_CLAIM, _OPEN).correlate(redemptions).scalar_subquery()
_SENT_PAYER = select(_SENT.payer).where(_OF_THE_CLAIM, _OPEN).correlate(redemptions).scalar_subquery()
_FACTS = (_ROW.id, _ROW.claimed_at, _ROW.network, _ROW.service_id, _ROW.amount, _ROW.tx_id, _ROW.payer, _ROW.paid_at)
_CLAIMS = (
    select(_STATE, *_FACTS, _ROW.expires_at, _ROW.lease.isnot(None), _is_in(kept_requests), _SENT_HASHES, _SENT_PAYER)
    .where(_ROW.spent_at.is_(None))
    .order_by(_ROW.id)
    .limit(bindparam("most"))
)
_REFUNDS = (
    select(*_FACTS, _REFUND.tx_id, _REFUND.refunded_at)
    .join(refunds, _REFUND.claim_id == _ROW.id)
    .order_by(_REFUND.refunded_at.desc(), _ROW.id)
    .limit(bindparam("most"))
)
_HAS_CLAIM = exists().where(_OF_THE_CLAIM).correlate(settlements)
# For any token: an authorization moves its money once, and buys once (index `rail_paid_payment`).
_IS_PAID = exists().where(_ROW.payment_key == _SENT.payment_key, _ROW.paid_at.isnot(None)).correlate(settlements)
_MOVED_ALONE = and_(_HAS_MOVED, _SENT.closed_at > bindparam("since"), ~_IS_PAID)
_UNCLAIMED = or_(and_(_OPEN, ~_HAS_CLAIM), _MOVED_ALONE)
_EACH_MOVED = select(
    _SENT.hashes, _SENT.caip2, _SENT.settler, _SENT.nonce, _SENT.payment_key, _SENT.payer, _SENT.authorization
).where(_MOVED_ALONE)
_SENT_ALONE = (
    select(_SENT.fate, _SENT.sent_at, _SENT.caip2, _SENT.hashes, _SENT.payer)
    .where(_UNCLAIMED)
    .order_by(_SENT.sent_at)
    .limit(bindparam("most"))
)
# A payment that was served after all, or was settled by the rail and is listed as such, is not listed as refused.
_SERVED_AFTER_ALL = exists().where(_ROW.payment_key == _NOTED.payment_key, _ROW.paid_at.isnot(None))
_SETTLED_TOO = exists().where(_SENT.payment_key == _NOTED.payment_key, _HAS_MOVED)
_IS_REFUSED = and_(
    _NOTED.noted_at > bindparam("since"),
    ~_SERVED_AFTER_ALL.correlate(refused_payments),
    ~_SETTLED_TOO.correlate(refused_payments),
)
_EACH_REFUSED = select(*_NOTED).where(_IS_REFUSED).order_by(_NOTED.noted_at, _NOTED.payment_key)
_PAID_REFUSED = _EACH_REFUSED.limit(bindparam("most"))
_REFUSED_BY = _EACH_REFUSED.where(_NOTED.tx_id == bindparam("moved_by")).limit(1)
_COUNTED_REFUSED = select(_NOTED.network, func.count()).where(_IS_REFUSED).group_by(_NOTED.network)
_claim_states = select(_STATE, _ROW.network).where(_ROW.spent_at.is_(None)).subquery()
_COUNTS = select(_claim_states.c.state, _claim_states.c.network, func.count()).group_by(
    _claim_states.c.state, _claim_states.c.network
)
_COUNTED_REFUNDS = select(_ROW.network, func.count()).join(refunds, _REFUND.claim_id == _ROW.id).group_by(_ROW.network)
_COUNTED_ALONE = select(_SENT.fate, _SENT.caip2, func.count()).where(_UNCLAIMED).group_by(_SENT.fate, _SENT.caip2)
_GIVE_BACK = build_move(RedemptionEvent.GIVEN_BACK).values(lease=None, lease_counter=_ROW.lease_counter + 1)
_NOTE = insert(refunds).values({name: bindparam(name) for name in ("claim_id", "tx_id", "refunded_at")})
# The row of the ledger that a refund adds for a payment without one: paid and over, without an answer.
_ROW_MEMBERS = (
    *("id", "token", "payment_key", "request_hash", "service_id", "network", "tx_id", "amount", "pay_to"),
    *("claimed_at", "claim_order", "expires_at", "lease_counter", "payer", "paid_at", "spent_at"),
)
_ADD_ROW = insert(redemptions).values({name: bindparam(name) for name in _ROW_MEMBERS})
_REFUND_OF = select(_REFUND.tx_id).where(_REFUND.claim_id == bindparam("claim_id"))


class UnservedPayments:
    """Statements over what was not served. Each public method that changes something is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_oldest(self, *, now: int, most: int) -> Sequence[Unserved]:
        """Return the payments that are neither served nor given back, the oldest first."""
        rows = [_read_claim(row) for row in await self._database.rows(_CLAIMS, most=most)]
        sent_rows = await self._database.rows(_SENT_ALONE, since=now - LISTED_SECONDS, most=most)
        refused_rows = await self._database.rows(_PAID_REFUSED, since=now - LISTED_SECONDS, most=most)
        payments = [*rows, *map(_read_sent, sent_rows), *map(_read_refused, refused_rows)]
        return sorted(payments, key=lambda one: (one.since, one.id or 0))[:most]

    async def list_refunded(self, *, most: int) -> Sequence[Unserved]:
        """Return the payments that were given back, the newest first."""
        rows = await self._database.rows(_REFUNDS, most=most)
        return [
            replace(_read_facts(row[:-2]), state=UnservedState.REFUNDED, refund_tx_id=row[-2], refunded_at=int(row[-1]))
            for row in rows
        ]

    async def refund_of(self, row_id: int) -> str | None:
        """Return the transaction that gave a payment back, or None."""
        rows = await self._database.rows(_REFUND_OF, claim_id=row_id)
        return str(rows[0][0]) if rows else None

    async def request_of(self, row_id: int) -> bytes | None:
        """Return the request of a payment, as canonical JSON, or None if it is not kept."""
        return await request_of(self._database, row_id)

    async def count_by_state(self, *, now: int) -> Mapping[tuple[UnservedState, str], int]:
        """Return the number of payments by state and network, without zeros."""
        counts = {
            (UnservedState(state), str(network)): int(count)
            for state, network, count in await self._database.rows(_COUNTS)
        }
        for network, count in await self._database.rows(_COUNTED_REFUNDS):
            counts[UnservedState.REFUNDED, str(network)] = int(count)
        for fate, caip2, count in await self._database.rows(_COUNTED_ALONE, since=now - LISTED_SECONDS):
            key = _state_of(fate), _key_of(caip2)
            counts[key] = counts.get(key, 0) + int(count)
        for network, count in await self._database.rows(_COUNTED_REFUSED, since=now - LISTED_SECONDS):
            counts[UnservedState.PAID_REFUSED, str(network)] = int(count)
        return counts

    async def record_refund(self, row_id: int, tx_id: str, *, now: int) -> bool:
        """Mark a payment that was not served as given back, in one transaction. From then on it cannot be served.

        It ends the row in the same way as an answer. Of a refund and an answer at the same moment, one succeeds.

        Returns:
            Whether it was marked. False if it is not paid, was served or given back already, or no longer exists.
        """
        try:
            await self._database.change_all(
                Change(_GIVE_BACK, {"row_id": row_id, "now": now}, is_needed=True),
                Change(_NOTE, {"claim_id": row_id, "tx_id": tx_id, "refunded_at": now}),
            )
        except (RowNotFound, DuplicateKey):
            return False
        return True

    async def record_unclaimed_refund(self, moved_by: str, tx_id: str, *, now: int) -> bool:
        """Mark a `moved_unclaimed` or `paid_refused` payment as given back at once. It can pay no claim then.

        Args:
            moved_by: The transaction that it is listed with.
            tx_id: The transaction that gave it back.
            now: Unix seconds.

        Returns:
            Whether it was marked. False if no payment is listed with that transaction, or it was claimed meanwhile.
        """
        # The payment gets the row that it lacks. The index of paid payments decides between this and a worker that
        # marks a claim of the same payment as paid (decision 0048).
        moved_rows = await self._database.rows(_EACH_MOVED, since=now - LISTED_SECONDS)
        settlement = next((row for row in moved_rows if _newest(row[0]) == moved_by), None)
        if settlement is not None:
            row = _build_row_of_settlement(settlement, now)
            transfers = [(transaction, SOME_TRANSFER) for transaction in orjson.loads(settlement[0])]
        else:
            refused_rows = await self._database.rows(_REFUSED_BY, since=now - LISTED_SECONDS, moved_by=moved_by)
            if not refused_rows:
                return False
            refused_payment = _read_note(refused_rows[0])
            row = _build_row_of_refused(refused_payment, now)
            transfers = [(moved_by, refused_payment["ordinal"])]
        use_changes = [
            used_transfers.build_use(row["network"], transaction, place, UsedBy.CALL, str(row["id"]), now=now)
            for transaction, place in transfers
        ]
        note = Change(_NOTE, {"claim_id": row["id"], "tx_id": tx_id, "refunded_at": now})
        try:
            await self._database.change_all(Change(_ADD_ROW, row), *use_changes, note)
        except DuplicateKey:
            return False
        return True


def _build_row_of_settlement(settlement: Row, now: int) -> dict[str, Any]:
    """Return the row of a payment that has none, from the settlement that moved it.

    The row gets a token of its own kind, as the real one may have bought something by another payment.
    """
    hashes, caip2, settler, nonce, payment_key, payer, authorization = settlement
    terms = orjson.loads(authorization)
    return {
        **_build_paid_row(now),
        "token": f"unclaimed:{caip2}:{settler}:{nonce}",
        "payment_key": payment_key,
        "network": _key_of(caip2),
        "tx_id": _newest(hashes),
        "amount": str(terms["value"]),
        "pay_to": terms["to"],
        "payer": payer,
    }


def _build_row_of_refused(note: Mapping[str, Any], now: int) -> dict[str, Any]:
    """Return the row of a refused payment. It gets a token of its own kind, as in `_build_row_of_settlement`."""
    row = _build_paid_row(now)
    copied_columns = {name: note[name] for name in ("payment_key", "network", "tx_id", "amount", "pay_to", "payer")}
    return {**row, **copied_columns, "token": f"refused:{row['id']}"}


def _build_paid_row(now: int) -> dict[str, Any]:
    return {
        "id": fresh_id(),
        "request_hash": "",
        "service_id": "",
        "claimed_at": now,
        "claim_order": 0,
        "expires_at": now,
        "lease_counter": 0,
        "paid_at": now,
        "spent_at": now,
    }


def _read_facts(row: Row) -> Unserved:
    row_id, since, network, service_id, amount, tx_id, payer, paid_at = row
    paid_unix = None if paid_at is None else int(paid_at)
    return Unserved(int(row_id), UnservedState.PAID, int(since), network, service_id, amount, tx_id, payer, paid_unix)


def _read_claim(row: Row) -> Unserved:
    state, *facts, expires_at, is_held, has_order, hashes, payer = row
    payment = _read_facts(facts)
    return replace(
        payment,
        state=UnservedState(state),
        tx_id=payment.tx_id or _newest(hashes),
        payer=payment.payer or payer,
        expires_at=int(expires_at),
        is_held=bool(is_held),
        has_order=bool(has_order),
    )


def _read_sent(row: Row) -> Unserved:
    fate, sent_at, caip2, hashes, payer = row
    return Unserved(None, _state_of(fate), int(sent_at), _key_of(caip2), "", "", _newest(hashes), payer)


def _read_note(row: Row) -> Mapping[str, Any]:
    return dict(zip(_NOTED.keys(), row, strict=True))


def _read_refused(row: Row) -> Unserved:
    note = _read_note(row)
    columns = {name: note[name] for name in ("network", "service_id", "amount", "tx_id", "payer", "code")}
    return Unserved(id=None, state=UnservedState.PAID_REFUSED, since=int(note["noted_at"]), **columns)


def _key_of(caip2: str) -> str:
    """Return the key of a network that the rail settles on."""
    return next((key for key, network in NETWORKS.items() if network.caip2 == caip2), caip2)


def _state_of(fate: str) -> UnservedState:
    return UnservedState.SENT if fate == Fate.OPEN else UnservedState.UNCLAIMED


def _newest(hashes: str | None) -> str:
    return str(orjson.loads(hashes)[-1]) if hashes else ""
