"""Paying and serving a claim that this worker holds: steps 14 and 15 of specification 5.7.

A service is executed at most once for a payment (5.8). A failure is an exception: `PaymentRefused` becomes a 402 with
fresh tokens, `Refused` any other status.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from reference.fast_records import record
from reference.lanes.lane import ChainUnavailable
from reference.protocol.redemption import State
from reference.protocol.refusals import AGED, RETRYABLE, PaymentRefused
from reference.protocol.weld import Payment
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.leases import Lease
from reference.rail.claims.non_402_refusals import (
    already_spent,
    answer_unavailable,
    chain_unavailable,
    payment_refunded,
)
from reference.rail.claims.prepared_answer import PreparedAnswer
from reference.rail.claims.presented_proofs import Collectors, PresentedProof, in_progress
from reference.rail.claims.refused_payment_notes import RefusalNotes, is_second_payment
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import Signer
from reference.store.kept_requests import MOST_UNPAID_BYTES
from reference.store.redemption_rows import Answer, Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock
from reference.web.errors import Refused


@record
class PaidAnswer:
    """A paid answer as it is sent."""

    body: bytes
    payment_response: str
    is_replay: bool


class Fulfilment:
    """Collects the payments of one worker's claims, and makes their answers."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        collectors: Collectors,
        ledger: Redemptions,
        signer: Signer,
        eligibility: Eligibility,
        notes: RefusalNotes,
        *,
        worker: str,
        lane_health: LaneHealth | None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._collectors = collectors
        self._ledger = ledger
        self._signer = signer
        self._eligibility = eligibility
        self._notes = notes
        self._worker = worker
        self._lane_health = lane_health

    async def prepare_answer(self, row: Redemption, call: Call, request: Any) -> PreparedAnswer | None:
        """Run the service and sign before the payment is taken, as a trial of all that comes after it.

        Returns:
            The prepared answer. None if the rail sends the payment: its receipts name a transaction not yet known.

        Raises:
            Refused: 503; the claim is kept until it is decided.
        """
        now = self._clock.now()
        try:
            answer = self._signer.make_answer(row, call.service, request)
        except Exception as fault:
            await self._keep(row, call)
            raise answer_unavailable(fault) from fault
        return PreparedAnswer(answer, row.tx_id, now) if row.tx_id else None

    def _prepare_after_settling(self, row: Redemption, call: Call, request: Any, now: int) -> PreparedAnswer | None:
        """Return the answer to a payment that the rail sent, as its receipts can be written now.

        None when it cannot be made, which is reported once the payment is marked.
        """
        try:
            return PreparedAnswer(self._signer.make_answer(row, call.service, request), row.tx_id, now)
        except Exception:  # noqa: BLE001 - whatever it is, the money is there
            return None

    async def _keep(self, row: Redemption, call: Call) -> None:
        """Keep a claim from lapsing, with its request: it may be found paid while its payer is away."""
        await self._ledger.keep(row, now=self._clock.now())
        request = call.canonical_body
        # Unpaid claims cost a stranger nothing, so a large request is kept only after it was paid.
        if len(request) <= MOST_UNPAID_BYTES:
            await self._ledger.keep_order(row.id, request)

    # Step 14: what the chain shows.

    async def _collect_payment(self, proof: PresentedProof, row: Redemption, call: Call) -> Payment:
        try:
            if self._lane_health is not None:
                self._lane_health.refuse_unchecked(row.network)
            # A row that was taken over may be of an older version, which did not keep the request.
            if proof.authorization is not None and row.lease_counter:
                await self._ledger.keep_order(row.id, call.canonical_body)
            return await self._collectors[proof.terms.network].collect(proof, row)
        except ChainUnavailable as fault:
            await self._keep(row, call)
            raise chain_unavailable() from fault
        except asyncio.CancelledError:
            # The process ends, and the payment may exist: the claim must not lapse before the next look.
            await self._keep(row, call)
            raise
        except PaymentRefused as refusal:
            # A refusal for an age is only as good as the clock. In doubt it is a 503, with which the payer tries again
            # (decision 0043).
            if refusal.code in AGED:
                self._clock.refuse_in_doubt()
            if refusal.code not in RETRYABLE:
                await self.has_received(proof, refusal.code, call)
                await self._ledger.drop_unpaid(row.id)
            # The node has answered now, so the ordinary settle window applies to the claim again.
            elif row.is_kept:
                await self._ledger.let_go(row, now=self._clock.now())
            raise

    async def has_received(self, proof: PresentedProof, code: str, call: Call) -> bool:
        """Ask the chain whether a refused proof moved money to the payee, and note that it did (P-ST-11).

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is on its way, so that nothing is decided yet.
            Refused: 503: the chain cannot be asked.
        """
        try:
            return await self._notes.has_received(proof, code, call.service.id)
        except ChainUnavailable as fault:
            raise chain_unavailable() from fault

    async def pay_and_serve(
        self,
        row: Redemption,
        proof: PresentedProof,
        call: Call,
        request: Any,
        prepared_answer: PreparedAnswer | None,
        lease: Lease,
    ) -> PaidAnswer | None:
        """Do steps 14 to 15; one statement decides among all claims of this token or this payment (14b).

        Returns:
            The answer, or None when the claim is no longer this worker's and no other worker was faster.

        Raises:
            PaymentRefused: The chain shows no payment, or none yet.
            Refused: 409: the token, the payment or the transfer bought something else.
        """
        payment = await self._collect_payment(proof, row, call)
        now = self._clock.now()
        if prepared_answer is None:
            # Only now the transaction of a settlement is known, so only now its receipts can be written.
            prepared_answer = self._prepare_after_settling(replace(row, tx_id=payment.tx_id), call, request, now)
        closing_changes = self._collectors[proof.terms.network].closing_changes(proof, payment)
        worker, recheck_at = self._worker, now + self._settings.rail_recheck_seconds
        # A prepared answer of the same second and transaction is stored by the statement that marks the row as paid:
        # one commit instead of two. Any other payment is marked first, and the service runs again.
        if prepared_answer is not None and prepared_answer.answers(payment, now):
            answer = prepared_answer.add_payer(payment.payer)
            if await self._ledger.mark_paid_and_spend(
                row, payment, answer, *closing_changes, worker=worker, now=now, recheck_at=recheck_at
            ):
                return self._build_first_answer(answer, lease)
        else:
            paid_row = await self._ledger.mark_paid(
                row, payment, *closing_changes, worker=worker, now=now, request=call.canonical_body
            )
            if paid_row is not None:
                return await self.serve(paid_row, call, request, lease)
        await self._refuse_bought(row, proof, call)
        return None

    async def _refuse_bought(self, row: Redemption, proof: PresentedProof, call: Call) -> None:
        """Refuse a claim that could not be marked paid because its token or its payment bought something else.

        Raises:
            Refused: 409.
        """
        rows = await self._ledger.find_involved(proof.token.text, proof.payment_key)
        try:
            self._eligibility.refuse_foreign(rows, proof, call)
            if await self._is_still_held(row):
                # The row is unpaid and ours, so the unique transfer (14b) belongs to another token and payment.
                raise already_spent()
        except Refused as refusal:
            if is_second_payment(rows, proof):
                await self.has_received(proof, refusal.code, call)
            await self._ledger.drop_unpaid(row.id)
            raise

    async def _is_still_held(self, claim: Redemption) -> bool:
        now = await self._ledger.get(claim.id)
        return now is not None and now.state is State.UNPAID and now.lease == self._worker

    # Step 15: run the service, sign, store, reply. Stored before it is sent: a crash in between repeats the answer.

    async def serve(self, row: Redemption, call: Call, request: Any, lease: Lease) -> PaidAnswer:
        """Run the service for a payment that is marked as paid, and store the answer before it is sent.

        Raises:
            Refused: 503 if no answer can be made now; 409 if another worker has the claim.
        """
        try:
            answer = self._signer.make_answer(row, call.service, request)
        except Exception as fault:
            raise answer_unavailable(fault) from fault
        now = self._clock.now()
        recheck_at = now + self._settings.rail_recheck_seconds
        is_stored = await self._ledger.spend(row.id, answer, worker=self._worker, now=now, recheck_at=recheck_at)
        if not is_stored:
            spent_row = await self._ledger.get(row.id)
            if spent_row is None or not spent_row.is_over:
                raise in_progress()
            return await self.repeat_answer(spent_row)
        self._ledger.moves[State.SPENT, row.network] += 1
        return self._build_first_answer(answer, lease)

    async def repeat_answer(self, row: Redemption) -> PaidAnswer:
        """Return the stored answer of a payment that was served.

        Raises:
            Refused: The answer is too old, or the payment was given back.
        """
        if row.is_refunded:
            raise payment_refunded()
        # An operator had it answered without its payer (decision 0048): the 24 hours begin with this presentation.
        if row.is_unfetched:
            await self._ledger.record_fetch(row.id, now=self._clock.now())
        else:
            self._eligibility.refuse_forgotten(row)
        return read_stored_answer(row)

    @staticmethod
    def _build_first_answer(answer: Answer, lease: Lease) -> PaidAnswer:
        # The statement that stored the answer has released the row as well.
        lease.is_released = True
        return PaidAnswer(answer.body, answer.payment_response, is_replay=False)


def read_stored_answer(row: Redemption) -> PaidAnswer:
    """Return the stored answer, byte for byte as it was first sent (P-ST-04).

    Raises:
        Refused: The answer was deleted.
    """
    if row.answer is None or row.payment_response is None:
        raise already_spent()
    return PaidAnswer(row.answer, row.payment_response, is_replay=True)
