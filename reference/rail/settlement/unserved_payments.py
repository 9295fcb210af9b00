"""Unserved payments: the list for operators, and the operations on one of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reference.lanes.registry import LANES
from reference.protocol import networks
from reference.protocol.canonical_json import parse
from reference.protocol.networks import NETWORKS
from reference.protocol.redemption import State
from reference.protocol.time_text import utc_text
from reference.rail.claims.leases import Lease, LeaseWatch
from reference.rail.claims.presented_proofs import POLL_SECONDS
from reference.rail.services import SERVICES, Service
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import Signer
from reference.store.redemption_rows import Answer, Redemption
from reference.store.redemptions import Redemptions
from reference.store.unserved_payments import Unserved, UnservedPayments, UnservedState
from reference.web.clock import WpClock
from reference.web.operator_commands import NotDone

# Added to a lease: another worker may take the row first and hold it for a moment.
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ListedPayment:
    """A payment in the operator's list.

    Attributes:
        payment: The payment.
        why: Why it was not served.
        next: What will happen, and what the operator can do.
    """

    payment: Unserved
    why: str
    next: str

    def members(self) -> dict[str, Any]:
        """Return the JSON members; the id is text, because it may exceed the integers that JSON readers keep."""
        payment = self.payment
        return {
            "id": payment.name,
            "state": payment.state.value,
            "since": utc_text(payment.since),
            "paid_at": None if payment.paid_at is None else utc_text(payment.paid_at),
            "network": payment.network,
            "service_id": payment.service_id or None,
            "amount": payment.amount or None,
            "tx_id": payment.tx_id or None,
            "payer": payment.payer,
            "request_is_kept": payment.has_order,
            "refund_tx_id": payment.refund_tx_id,
            "refunded_at": None if payment.refunded_at is None else utc_text(payment.refunded_at),
            "refused_with": payment.code,
            "why": self.why,
            "next": self.next,
        }


class PaymentOperations:
    """Lists payments, serves one, or marks one as given back, in the ledger that the workers use."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        ledger: Redemptions,
        unserved_payments: UnservedPayments,
        signer: Callable[[], Awaitable[Signer]],
        *,
        worker: str,
    ) -> None:
        """Take the ledger.

        Args:
            settings: The rail's settings.
            clock: The time of an operation.
            ledger: The payments.
            unserved_payments: The list.
            signer: Opens the signer when it is needed.
            worker: The name that holds leases.
        """
        self._settings = settings
        self._clock = clock
        self._ledger = ledger
        self._unserved = unserved_payments
        self._signer = signer
        self._worker = worker

    async def list_payments(self, *, is_refunded: bool, most: int) -> Sequence[ListedPayment]:
        """Return the unserved payments, oldest first, or those given back, newest first."""
        if is_refunded:
            payments = await self._unserved.list_refunded(most=most)
        else:
            payments = await self._unserved.list_oldest(now=self._clock.now(), most=most)
        return [self._describe(payment) for payment in payments]

    def _describe(self, payment: Unserved) -> ListedPayment:
        window = self._settings.rail_settle_window + self._settings.skew_seconds
        ends = utc_text((payment.expires_at or 0) + window)
        return ListedPayment(payment, *_explain(payment, ends))

    async def serve(self, row_id: int) -> bytes:
        """Serve a payment whose payer is away, and return the answer; the same proof gets it afterwards.

        This is the paid call without its caller: under the row's lease, one statement stores one answer. The answer
        waits for its payer. The time of P-ST-04 begins when the same proof is presented.

        Raises:
            NotDone: It is unpaid, served, given back or held by a worker, or its request is not kept.
        """
        row = await self._get_unserved(row_id)
        request_body = await self._unserved.request_of(row_id)
        if request_body is None:
            raise NotDone(
                "its request is not kept, so there is nothing to answer: it is served when its payer sends the same"
                " proof with the same request, or give it back"
            )
        service = next(payment for payment in SERVICES.values() if payment.id == row.service_id)
        signer = await self._signer()
        claim = await self._take_lease(row_id)
        async with Lease(self._ledger, row_id, self._worker, self._settings.rail_lease_seconds):
            answer = _make_answer(signer, claim, service, request_body)
            now = self._clock.now()
            recheck_at = now + self._settings.rail_recheck_seconds
            if not await self._ledger.spend(
                row_id, answer, worker=self._worker, now=now, recheck_at=recheck_at, is_fetched=False
            ):
                await self._get_unserved(row_id)
                raise NotDone("a worker took it over meanwhile; ask again")
        return answer.body

    async def refund(self, row_id: int, tx_id: str) -> None:
        """Mark a payment as given back: from then on its proof is refused with 409 `payment_refunded` everywhere.

        Whether the transaction gave the money back is not checked; only its form is.

        Raises:
            NotDone: It is not paid, served, or given back already.
        """
        row = await self._get_unserved(row_id)
        canonical = _canonicalise_tx_id(tx_id)
        # The likeliest mistake: the id that the list shows is the payment, not the refund.
        if canonical == row.tx_id:
            raise NotDone("that is the transaction that paid it; name the one that gave it back")
        if not await self._unserved.record_refund(row_id, canonical, now=self._clock.now()):
            await self._get_unserved(row_id)
            raise NotDone("it changed meanwhile; ask again")

    async def refund_unclaimed(self, moved_by: str, tx_id: str) -> None:
        """Mark what is `moved_unclaimed` or `paid_refused` as given back, as `refund` does a payment that has a claim.

        Args:
            moved_by: The transaction that it is listed with.
            tx_id: The one that gave it back.

        Raises:
            NotDone: None is listed with that transaction, or it was claimed meanwhile.
        """
        canonical = _canonicalise_tx_id(tx_id)
        if canonical == moved_by:
            raise NotDone("that is the transaction that moved the money; name the one that gave it back")
        if not await self._unserved.record_unclaimed_refund(moved_by, canonical, now=self._clock.now()):
            raise NotDone(
                "no payment that was refused or moved without a claim is listed with that transaction; look at the list"
            )

    async def _get_unserved(self, row_id: int) -> Redemption:
        """Return a payment that was not served.

        Raises:
            NotDone: No payment has this number, or it was served, given back or not paid.
        """
        row = await self._ledger.get(row_id)
        if row is None:
            raise NotDone("there is no payment of that number")
        if row.state is State.REFUNDED:
            raise NotDone(f"it was given back by {await self._unserved.refund_of(row_id)}: it is never served")
        if row.spent_at is not None:
            raise NotDone(f"it was served at {utc_text(row.spent_at)}: it cannot be marked as given back")
        if row.state is State.UNPAID:
            raise NotDone("its chain does not show it as paid: nothing can be served for it, or given back")
        return row

    async def _take_lease(self, row_id: int) -> Redemption:
        """Return the payment under a lease of this process; the lease of a worker that has died is waited for."""
        watch = LeaseWatch(self._settings.rail_lease_seconds)
        ends = time.monotonic() + self._settings.rail_lease_seconds + _PATIENCE_SECONDS
        while True:
            row = await self._get_unserved(row_id)
            if watch.has_run_out(row) and await self._ledger.take_lease(row, worker=self._worker):
                return await self._get_unserved(row_id)
            if time.monotonic() > ends:
                raise NotDone("a worker is at it")
            await asyncio.sleep(POLL_SECONDS)


def _make_answer(signer: Signer, row: Redemption, service: Service, request_body: bytes) -> Answer:
    try:
        return signer.make_answer(row, service, service.parse_request(parse(request_body)))
    except Exception as fault:
        raise NotDone(f"the answer cannot be made now ({type(fault).__name__})") from fault


def _explain(payment: Unserved, ends: str) -> tuple[str, str]:
    """Return why a payment was not served, and what will happen."""
    if payment.state is UnservedState.PAID:
        why = "a worker is at it, or was when it ended" if payment.is_held else "its payer did not come again"
        remedy = (
            "or `payments serve`"
            if payment.has_order
            else "its request is not kept, so only its payer can have it served"
        )
        return f"paid; {why}", f"served when the same proof comes again, without an end; {remedy}; or give it back"
    if payment.state is UnservedState.SENT and payment.id is None:
        return "sent to the chain, outcome unknown; its claim is gone", "the rail follows it"
    if payment.state is UnservedState.SENT:
        return "sent to the chain, outcome unknown", "the rail follows it, and marks it as paid when it is final"
    if payment.state is UnservedState.UNCLAIMED:
        return (
            "what the rail sent moved the money, and no claim is left",
            "served if the same proof comes within its lifetime; or give it back, named by its transaction",
        )
    if payment.state is UnservedState.PAID_REFUSED:
        return (
            f"the money reached the payee, and the proof was refused with {payment.code}",
            "nothing is served for it unless the rail accepts the proof later; give it back, named by its transaction",
        )
    if payment.state is UnservedState.WAITING_FOR_NODE:
        return (
            "the last look at it met no node, or its answer could not be made",
            "does not lapse; decided when its node is back; paid, it is served when the same proof comes again",
        )
    if payment.state is UnservedState.REFUNDED:
        return "an operator gave it back", "nothing: the proof is refused with payment_refunded"
    return (
        "presented; its chain does not show it as final, or a worker is at it",
        f"judged when the same proof comes again; lapses at {ends}",
    )


def _canonicalise_tx_id(tx_id: str) -> str:
    """Return a transaction id in the canonical form of the first chain that has such ids."""
    for lane in LANES:
        try:
            return networks.canonical_tx_id(NETWORKS[lane.main], tx_id)
        except ValueError:
            continue
    *titles, last = (lane.title for lane in LANES)
    raise NotDone(f"{tx_id!r} is not a transaction id of {', '.join(titles)} or {last}")
