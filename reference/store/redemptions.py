"""The redemption ledger: the statements that decide which payment buys what, once and for all workers (5.7, 5.8)."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlalchemy import String, and_, bindparam, cast, delete, exists, insert, literal_column, or_, select, update

from reference.protocol.redemption import RedemptionEvent, State
from reference.protocol.weld import Payment
from reference.store import kept_requests, used_transfers
from reference.store.database import Change, Database, DuplicateKey, RowNotFound, ping
from reference.store.rail_tables import METADATA, kept_claims, redemptions, settlements, unfetched_answers
from reference.store.redemption_moves import IS_IT, IS_UNPAID, build_drop, build_move, build_stay
from reference.store.redemption_rows import MARKS, SELECT, Answer, NewClaim, Redemption
from reference.store.used_transfers import UsedBy

_ROW = redemptions.c
# 2025-01-01 in unix milliseconds: ids are numbers of milliseconds since then, and so fit 63 bits until 2094.
_FIRST_ID_MS = 1_735_689_600_000
_IS_HELD = _ROW.lease == bindparam("worker")
# The word is in the statement itself. With a parameter, no database would know that the index of the open rows applies.
_OPEN = settlements.c.fate == literal_column("'open'")
_IS_BEING_SETTLED = exists().where(
    settlements.c.token == _ROW.token, settlements.c.payment_key == _ROW.payment_key, _OPEN
)

_KEPT_CLAIM = kept_claims.c
_IS_KEPT = MARKS["is_kept"]

# Payments by authorizations (`transfer_key`) are left out: their transfer is their own (P-LN-03), and an index of this
# table has held it since.
_EARLIER_SALES = select(
    _ROW.network,
    _ROW.tx_id,
    literal_column(str(used_transfers.SOME_TRANSFER)),
    literal_column(f"'{UsedBy.CALL.value}'"),
    cast(_ROW.id, String(36)),
    _ROW.paid_at,
).where(
    _ROW.id >= bindparam("since"),
    _ROW.paid_at.isnot(None),
    _ROW.transfer_key.is_(None),
    used_transfers.is_unlisted(_ROW.network, _ROW.tx_id, cast(_ROW.id, String(36))),
)


_OF_TOKEN_OR_PAYMENT = SELECT.where(or_(_ROW.token == bindparam("token"), _ROW.payment_key == bindparam("payment_key")))
_GET = SELECT.where(IS_IT)
_UNPAID_CLAIMS = SELECT.where(_ROW.token == bindparam("token"), IS_UNPAID).order_by(_ROW.claim_order)
# The longest waiting first. Claims on a chain that is down would otherwise block other claims for ever.
_DUE = SELECT.where(_ROW.recheck_at <= bindparam("now")).order_by(_ROW.recheck_at).limit(100)
_CLAIM = insert(redemptions).values(
    {
        name: bindparam(name)
        for name in ("id", "claimed_at", "claim_order", "lease", "lease_counter", *NewClaim.__annotations__)
    }
)
# A lease has no time of expiry, as the clocks of workers may differ. A worker that holds one raises its counter while
# it works. Another worker may take the row over if the counter has not moved since it read the row.
_TAKE_LEASE = (
    update(redemptions)
    .where(IS_IT, _ROW.lease_counter == bindparam("seen_counter"))
    .values(lease=bindparam("worker"), lease_counter=_ROW.lease_counter + 1)
)
_RENEW_LEASE = update(redemptions).where(IS_IT, _IS_HELD).values(lease_counter=_ROW.lease_counter + 1)
_RELEASE = update(redemptions).where(IS_IT, _IS_HELD).values(lease=None, lease_counter=_ROW.lease_counter + 1)
_DROP_UNPAID = build_drop(RedemptionEvent.BAD_PAYMENT, RedemptionEvent.EVICTED, RedemptionEvent.WINDOW_OVER).where(
    IS_IT
)
_HOLD = build_stay(RedemptionEvent.UNDECIDED).values(held_until=bindparam("until"))
_PAYMENT_VALUES: dict[str, Any] = {
    "payer": bindparam("by"),
    "tx_id": bindparam("in_transaction"),
    "transfer_key": bindparam("in_transfer"),
}
_ANSWER_VALUES: dict[str, Any] = {
    "answer": bindparam("body"),
    "payment_response": bindparam("told"),
    "attestation": bindparam("attested"),
    "recheck_at": bindparam("look_again_at"),
    "lease": None,
}
_MARK_PAID = build_move(RedemptionEvent.PAYMENT_FINAL).where(_IS_HELD).values(_PAYMENT_VALUES)
_SPEND = build_move(RedemptionEvent.ANSWER_STORED).where(_IS_HELD).values(_ANSWER_VALUES)
_MARK_PAID_AND_SPEND = (
    build_move(RedemptionEvent.PAYMENT_FINAL, RedemptionEvent.ANSWER_STORED)
    .where(_IS_HELD)
    .values({**_PAYMENT_VALUES, **_ANSWER_VALUES})
)
# Queried each second. An unpaid row has no `spent_at`, and this condition leads to the index of the few unserved rows.
_IS_LAPSING = and_(
    _ROW.spent_at.is_(None),
    _ROW.expires_at < bindparam("before"),
    or_(_ROW.held_until.is_(None), _ROW.held_until < bindparam("before")),
    ~_IS_BEING_SETTLED,
    ~_IS_KEPT,
)
_FORGET_UNPAID = build_drop(RedemptionEvent.WINDOW_OVER).where(_IS_LAPSING)
_LAPSING_CLAIMS = (
    SELECT.where(IS_UNPAID, _IS_LAPSING, _ROW.network == bindparam("lane"))
    .order_by(_ROW.expires_at, _ROW.id)
    .limit(bindparam("most"))
)
_KEEP = insert(kept_claims).values({name: bindparam(name) for name in ("claim_id", "network", "since", "look_at")})
_KEPT_SINCE = select(_KEPT_CLAIM.since).where(_KEPT_CLAIM.claim_id == bindparam("kept_id"))
_LET_GO = delete(kept_claims).where(_KEPT_CLAIM.claim_id == bindparam("kept_id"))
_PROLONG = build_stay(RedemptionEvent.UNDECIDED).values(expires_at=_ROW.expires_at + bindparam("seconds"))
_LOOK_LATER = update(kept_claims).where(_KEPT_CLAIM.claim_id == bindparam("kept_id")).values(look_at=bindparam("later"))
_DUE_KEPT = (
    SELECT.join(kept_claims, _KEPT_CLAIM.claim_id == _ROW.id)
    .where(_KEPT_CLAIM.network == bindparam("lane"), _KEPT_CLAIM.look_at <= bindparam("now"), IS_UNPAID)
    .order_by(_KEPT_CLAIM.look_at)
    .limit(bindparam("most"))
)
_LET_GO_ORPHANS = delete(kept_claims).where(
    ~exists().where(_ROW.id == _KEPT_CLAIM.claim_id, IS_UNPAID).correlate(kept_claims)
)
_ADD_UNFETCHED = insert(unfetched_answers).values(claim_id=bindparam("answered"), made_at=bindparam("made"))
_DELETE_UNFETCHED = delete(unfetched_answers).where(unfetched_answers.c.claim_id == bindparam("answered"))
_SPENT_NOW = update(redemptions).where(IS_IT).values(spent_at=bindparam("now"))
_FORGET_ANSWERS = (
    update(redemptions)
    .where(_ROW.spent_at < bindparam("before"), _ROW.answer.isnot(None), ~MARKS["is_unfetched"])
    .values(answer=None, payment_response=None)
)
_END_RECHECK = update(redemptions).where(IS_IT).values(recheck_at=None)
_RECORD_REVERSAL = update(redemptions).where(IS_IT).values(recheck_at=None, attestation=bindparam("attested"))


class Redemptions:
    """Statements over the ledger. Each public method is one transaction.

    Attributes:
        moves: How many redemptions entered a state through this object, by state and network.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest = 0
        self.moves = Counter[tuple[State, str]]()

    async def prepare(self) -> None:
        """Create the missing tables, and list what an earlier version sold without listing it."""
        await self._database.create(METADATA)
        since = time.time() - used_transfers.EARLIER_SALES_SECONDS
        await used_transfers.list_earlier_sales(self._database, _EARLIER_SALES, since=_first_id(since))

    async def ping(self) -> None:
        """Ask the database for a constant.

        Raises:
            DatabaseUnavailable: It does not answer.
        """
        await ping(self._database)

    async def find_involved(self, token: str, payment_key: str) -> list[Redemption]:
        """Return every row with this token or this payment."""
        rows = await self._database.rows(_OF_TOKEN_OR_PAYMENT, token=token, payment_key=payment_key)
        return [Redemption(*row) for row in rows]

    async def get(self, row_id: int) -> Redemption | None:
        """Return one row, or None if it does not exist any more."""
        rows = await self._database.rows(_GET, row_id=row_id)
        return Redemption(*rows[0]) if rows else None

    async def claim(
        self, new: NewClaim, *, worker: str, now: int, order: int, request: bytes | None = None
    ) -> Redemption | None:
        """Insert a claim row under the worker's lease. The unique index decides between workers (step 13).

        Args:
            new: The claim.
            worker: The worker that has its lease.
            now: Unix seconds.
            order: Its place among the claims on its token.
            request: The request, if it is to be kept with the claim.

        Returns:
            The row, or None if that claim exists already.
        """
        members = {name: getattr(new, name) for name in NewClaim.__annotations__}
        members |= {"id": self._new_id(), "claimed_at": now, "lease": worker, "lease_counter": 0}
        try:
            await self._database.change_all(
                Change(_CLAIM, {**members, "claim_order": order}),
                *_build_keep(members["id"], request),
            )
        except DuplicateKey:
            return None
        self.moves[State.UNPAID, new.network] += 1
        return Redemption(**members, payer=None, paid_at=None, spent_at=None, answer=None, payment_response=None)

    def _new_id(self) -> int:
        """Return a number that this worker has not used before.

        If another worker has used it, the insertion is refused and the caller tries again.
        """
        self._newest = max(self._newest + 1, fresh_id())
        return self._newest

    async def unpaid_claims(self, token: str) -> list[Redemption]:
        """Return the unpaid claims on a token, the oldest first."""
        return [Redemption(*row) for row in await self._database.rows(_UNPAID_CLAIMS, token=token)]

    async def take_lease(self, row: Redemption, *, worker: str) -> bool:
        """Take a row over, unless its lease was renewed or taken since `row` was read."""
        count = await self._database.change(_TAKE_LEASE, row_id=row.id, seen_counter=row.lease_counter, worker=worker)
        return count == 1

    async def renew_lease(self, row_id: int, *, worker: str) -> bool:
        """Raise the counter of a row that this worker still holds."""
        return await self._database.change(_RENEW_LEASE, row_id=row_id, worker=worker) == 1

    async def release(self, row_id: int, *, worker: str) -> None:
        """Release the lease: the next call with the same proof continues from the state of the row."""
        await self._database.change(_RELEASE, row_id=row_id, worker=worker)

    async def drop_unpaid(self, row_id: int) -> bool:
        """Delete an unpaid claim. A paid row stays."""
        return await self._database.change(_DROP_UNPAID, row_id=row_id) == 1

    async def mark_paid(
        self,
        row: Redemption,
        payment: Payment,
        *further: Change,
        worker: str,
        now: int,
        request: bytes | None = None,
    ) -> Redemption | None:
        """Mark a claim as paid and its transfer as used, in one transaction that unique indexes decide (step 14b).

        Args:
            row: The claim.
            payment: What the chain shows.
            further: Further changes of the transaction.
            worker: The worker that holds the claim's lease.
            now: Unix seconds.
            request: The request, if it is available. It is kept until the payment is served.

        Returns:
            The row as it is now. None if another row holds this token or this payment, if the transfer has bought
            something at this or another surface, or if the worker has lost the lease.
        """
        try:
            await self._database.change_all(
                Change(
                    _MARK_PAID,
                    {**_bind_payment(payment), "row_id": row.id, "worker": worker, "now": now},
                    is_needed=True,
                ),
                used_transfers.build_use(
                    row.network, payment.tx_id, payment.ordinal, UsedBy.CALL, str(row.id), now=now
                ),
                *_build_keep(row.id, request),
                *further,
            )
        except (DuplicateKey, RowNotFound):
            return None
        self.moves[State.PAID, row.network] += 1
        return replace(row, paid_at=now, payer=payment.payer, tx_id=payment.tx_id, transfer_key=payment.transfer_key)

    async def spend(
        self, row_id: int, answer: Answer, *, worker: str, now: int, recheck_at: int | None, is_fetched: bool = True
    ) -> bool:
        """Store answer and receipts and end the redemption, in one transaction. Only the first caller succeeds.

        An answer that the payer has not fetched is kept until it does.
        """
        values = {"row_id": row_id, "worker": worker, "now": now, **_bind_answer(answer), "look_again_at": recheck_at}
        if is_fetched:
            return await self._database.change(_SPEND, **values) == 1
        try:
            await self._database.change_all(
                Change(_SPEND, values, is_needed=True), Change(_ADD_UNFETCHED, {"answered": row_id, "made": now})
            )
        except RowNotFound:
            return False
        return True

    async def mark_paid_and_spend(
        self,
        row: Redemption,
        payment: Payment,
        answer: Answer,
        *further: Change,
        worker: str,
        now: int,
        recheck_at: int,
    ) -> bool:
        """Mark a claim as paid and its transfer as used, and store its answer, in one transaction (steps 14b and 15).

        The changes `further` are part of the transaction.

        Returns:
            Whether it was done. False in the cases in which `mark_paid` returns None.
        """
        values = {"row_id": row.id, "worker": worker, "now": now, **_bind_answer(answer), "look_again_at": recheck_at}
        try:
            await self._database.change_all(
                Change(_MARK_PAID_AND_SPEND, {**values, **_bind_payment(payment)}, is_needed=True),
                used_transfers.build_use(
                    row.network, payment.tx_id, payment.ordinal, UsedBy.CALL, str(row.id), now=now
                ),
                *further,
            )
        except (DuplicateKey, RowNotFound):
            return False
        self.moves.update([(State.PAID, row.network), (State.SPENT, row.network)])
        return True

    async def record_fetch(self, row_id: int, *, now: int) -> None:
        """Record that the payer fetched an answer that an operator had served: its retention begins now (0048)."""
        with suppress(RowNotFound):  # another call has fetched it at the same moment
            await self._database.change_all(
                Change(_DELETE_UNFETCHED, {"answered": row_id}, is_needed=True),
                Change(_SPENT_NOW, {"row_id": row_id, "now": now}),
            )

    async def list_lapsing(self, network: str, *, before: int, most: int) -> Sequence[Redemption]:
        """Return the unpaid claims of a lane that `forget` would delete, the oldest first."""
        return [
            Redemption(*row)
            for row in await self._database.rows(_LAPSING_CLAIMS, lane=network, before=before, most=most)
        ]

    async def forget(self, *, unpaid_before: int, answers_before: int) -> None:
        """Delete claims whose settle window is over, and answers past their retention. Spent rows stay.

        A claim with an open settlement stays, too: only the chain can show that nothing moved (5.8).
        """
        await self._database.change_all(
            Change(_FORGET_UNPAID, {"before": unpaid_before}),
            Change(_FORGET_ANSWERS, {"before": answers_before}),
            Change(_LET_GO_ORPHANS),
            kept_requests.build_forget(),
        )

    async def keep_order(self, row_id: int, request: bytes) -> None:
        """Keep the request of a claim, unless it is kept already, until the claim is served or deleted."""
        with suppress(DuplicateKey):
            await self._database.change_all(kept_requests.build_keep(row_id, request))

    async def keep(self, row: Redemption, *, now: int) -> None:
        """Keep a claim from lapsing until the next check of it that reaches a node (5.8)."""
        with suppress(DuplicateKey):
            await self._database.change(_KEEP, claim_id=row.id, network=row.network, since=now, look_at=now)

    async def kept_since(self, row: Redemption) -> int | None:
        """Return since when a claim is kept, in unix seconds, or None if it is not."""
        rows = await self._database.rows(_KEPT_SINCE, kept_id=row.id)
        return int(rows[0][0]) if rows else None

    async def let_go(self, row: Redemption, *, now: int) -> None:
        """Let a claim lapse again by the ordinary rule."""
        since = await self.kept_since(row)
        if since is not None:
            # The settle window counts only time in which the node answered (5.8), so the claim is prolonged by the
            # rest.
            unreachable_seconds = max(0, now - since)
            with suppress(RowNotFound):  # another worker did so at the same moment
                await self._database.change_all(
                    Change(_LET_GO, {"kept_id": row.id}, is_needed=True),
                    Change(_PROLONG, {"row_id": row.id, "seconds": unreachable_seconds}),
                )

    async def postpone_check(self, row: Redemption, *, at: int) -> None:
        """Postpone the next check of a kept claim."""
        await self._database.change(_LOOK_LATER, kept_id=row.id, later=at)

    async def list_kept_due(self, network: str, *, now: int, most: int) -> Sequence[Redemption]:
        """Return the kept claims of a lane that are due for a check, the longest waiting first."""
        return [Redemption(*row) for row in await self._database.rows(_DUE_KEPT, lane=network, now=now, most=most)]

    async def due_for_recheck(self, now: int) -> Sequence[Redemption]:
        """Return the spent payments that are due for another check (P-ST-07)."""
        return [Redemption(*row) for row in await self._database.rows(_DUE, now=now)]

    async def record_recheck(self, row_id: int, *, attestation: str | None) -> None:
        """Record that a payment was checked again. If it was reversed, `attestation` replaces the stored one."""
        if attestation is None:
            await self._database.change(_END_RECHECK, row_id=row_id)
        else:
            await self._database.change(_RECORD_REVERSAL, row_id=row_id, attested=attestation)


def _build_keep(row_id: int, request: bytes | None) -> list[Change]:
    return [] if request is None else [kept_requests.build_keep(row_id, request)]


def build_hold(row_id: int, *, until: int) -> Change:
    """Return the change that keeps an unpaid claim until a time, while the rail settles for it on the chain (5.8)."""
    return Change(_HOLD, {"row_id": row_id, "until": until})


def fresh_id() -> int:
    """Return a number for a row: 63 bits that grow with time until 2094, the lower 22 of them random."""
    return _first_id(time.time()) | secrets.randbits(22)


def _first_id(unix: float) -> int:
    """Return the lowest number of a row that is inserted at a time."""
    return (int(unix * 1000) - _FIRST_ID_MS) << 22


def _bind_payment(payment: Payment) -> dict[str, object]:
    return {"by": payment.payer, "in_transaction": payment.tx_id, "in_transfer": payment.transfer_key}


def _bind_answer(answer: Answer) -> dict[str, object]:
    return {"body": answer.body, "told": answer.payment_response, "attested": answer.attestation}
