"""From a proof to an answer: one pass through the checks of specification 5.7, one execution a payment (5.8).

The order of the methods is the order of the checks. Whoever fails is told by an exception: `PaymentRefused` becomes a
402 with fresh tokens, `Refused` any other status.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

from reference.lanes.lane import ChainUnavailable
from reference.protocol import redemption
from reference.protocol.challenge import Mint, Token
from reference.protocol.proof import Proof
from reference.protocol.redemption import State
from reference.protocol.refusals import AGED, RETRYABLE, PaymentRefused
from reference.protocol.weld import Payment
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.claim_eviction import make_room
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.leases import Lease, LeaseWatch
from reference.rail.claims.non_402_refusals import (
    already_spent,
    answer_unavailable,
    chain_unavailable,
    payment_refunded,
)
from reference.rail.claims.prepared_answer import PreparedAnswer
from reference.rail.claims.presented_proof import POLL_SECONDS, Collector, Collectors, PresentedProof, in_progress
from reference.rail.claims.refusal_notes import OF_THE_WINDOW, RefusalNotes, is_second_payment
from reference.rail.settings import RailSettings
from reference.rail.signing import Signer
from reference.records import record
from reference.store.absences import Absences
from reference.store.generations import Generations
from reference.store.orders import MOST_UNPAID_BYTES
from reference.store.redemption_rows import Answer, NewClaim, Redemption
from reference.store.redemptions import Redemptions
from reference.web.clock import WpClock
from reference.web.errors import Refused
from reference.web.process.shutdown import ENDING

_FINISH_SECONDS = 2.0
_GIVE_BACK_SECONDS = 1.0


@record
class Served:
    """A paid answer as it is sent."""

    body: bytes
    payment_response: str
    replayed: bool


class Redeemer:
    """Redeems proofs for one rail."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        mint: Mint,
        collectors: Collectors,
        ledger: Redemptions,
        generations: Generations,
        signer: Signer,
        notes: RefusalNotes,
        *,
        worker: str,
        lane_health: LaneHealth | None = None,
        absences: Absences | None = None,
    ) -> None:
        self.signer = signer
        self.eligibility = Eligibility(settings, clock, mint, absences)
        self._notes = notes
        self._presence = lane_health
        self._settings = settings
        self._clock = clock
        self._mint = mint
        self._collectors = collectors
        self._ledger = ledger
        self._generations = generations
        self._worker = worker
        self._order = time.time_ns()
        self._at_work: dict[str, asyncio.Task[Served]] = {}
        self._watch = LeaseWatch(settings.rail_lease_seconds)

    # Steps 5 and 6: whose token is it, and does the proof fit its lane?

    async def present(self, proof: Proof) -> PresentedProof:
        """Return the proof beside the terms of its token.

        Raises:
            PaymentRefused: `unknown_challenge`, `lane_mismatch` or `invalid_payment_header`.
        """
        token = Token.parse(proof.token)
        since = self._clock.now() - self._settings.challenge_ttl - self._settings.rail_settle_window
        least = min(since, token.unix) if token else since
        terms = None if token is None else self._mint.issued_for(token, self._generations.lately_known(since=least))
        if terms is None:  # another worker may have put terms in force since then
            known = await self._generations.known(since=least)
            terms = None if token is None else self._mint.issued_for(token, known)
        collector = None if terms is None else self._collectors.get(terms.network)
        if token is None or terms is None or collector is None:
            raise PaymentRefused("unknown_challenge", network=proof.network or "")
        return collector.presented(proof, token, terms)

    # Steps 9 to 13: the ledger, the request, the time, the claim.

    async def redeem(self, presented: PresentedProof, call: Call, request: Any) -> Served:
        """Return the paid answer of `call`, running the service at most once for this payment.

        Args:
            presented: The proof.
            call: The request it is presented with.
            request: The same, as the service's model.

        Raises:
            PaymentRefused: The proof buys nothing.
            Refused: 409 for a payment that already bought something or is in progress, 503 for a chain that is away
                and for a clock that nobody has believed yet.
        """
        rows = await self._ledger.involved(presented.token.text, presented.payment_key)
        try:
            self.eligibility.refuse_foreign(rows, presented, call)
        except Refused as refusal:
            if is_second_payment(rows, presented):
                await self._has_received(presented, refusal.code, call)
            raise
        mine = _claim_of(rows, presented)
        if mine is not None and mine.is_over:
            return await self._answered(mine)
        try:
            self.eligibility.refuse_other_request(presented, call)
            await self.eligibility.refuse_late(presented, mine)
            self._clock.refuse_unfounded()
            if mine is None:
                self._collector(presented).check(presented)
        except PaymentRefused as refusal:
            if not await self._has_received(presented, refusal.code, call) or refusal.code not in OF_THE_WINDOW:
                raise
            # Its contract took the authorization while its window was open, from another sender (P-LN-03).
            self._collector(presented).check(presented, is_used=True)
        crowded = len(rows) >= redemption.UNPAID_CLAIMS_PER_TOKEN
        return await self._join_or_work(presented, call, request, mine, crowded=crowded)

    async def _has_received(self, presented: PresentedProof, code: str, call: Call) -> bool:
        """Ask the chain whether a refused proof moved money to the payee, and note that it did (P-ST-11).

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is on its way, so that nothing is decided yet.
            Refused: 503: the chain cannot be asked.
        """
        try:
            return await self._notes.has_received(presented, code, call.service.id)
        except ChainUnavailable as fault:
            raise chain_unavailable() from fault

    async def _answered(self, spent: Redemption) -> Served:
        """Return what was stored for a payment that was served.

        Raises:
            Refused: The answer is past its time, or the payment was given back.
        """
        if spent.is_refunded:
            raise payment_refunded()
        if spent.is_unfetched:
            await self._ledger.fetched(spent.id, now=self._clock.now())
        else:
            self.eligibility.refuse_forgotten(spent)
        return stored_answer(spent)

    async def _join_or_work(
        self, presented: PresentedProof, call: Call, request: Any, mine: Redemption | None, *, crowded: bool
    ) -> Served:
        """One of N identical proofs works; the others wait for what it answers (P-ST-05).

        The work is a task of its own: a client that hangs up does not stop it half way.
        """
        key = f"{presented.token.text}|{presented.payment_key}"
        working = self._at_work.get(key)
        if working is not None:
            return replace(await self._join(working), replayed=True)
        working = asyncio.create_task(self._work(presented, call, request, mine, crowded=crowded))
        self._at_work[key] = working
        working.add_done_callback(lambda done: self._finished(key, done))
        return await asyncio.shield(working)

    def _finished(self, key: str, done: asyncio.Task[Served]) -> None:
        del self._at_work[key]
        if not done.cancelled():
            done.exception()  # a failure that nobody waits for any more is no news

    async def finish(self) -> None:
        """Wait a moment for what is at work, then interrupt it; the same proof goes on with it after the restart.

        What is interrupted gives its lease back, so that the next process need not wait until that has run out.
        """
        if not self._at_work:
            return
        _, late = await asyncio.wait(self._at_work.values(), timeout=_FINISH_SECONDS)
        for work in late:
            work.cancel()
        if late:
            await asyncio.wait(late, timeout=_GIVE_BACK_SECONDS)

    async def _join(self, working: asyncio.Task[Served]) -> Served:
        try:
            async with asyncio.timeout(self._settings.rail_join_wait):
                return await asyncio.shield(working)
        except TimeoutError as late:
            raise in_progress() from late

    async def _work(
        self, presented: PresentedProof, call: Call, request: Any, mine: Redemption | None, *, crowded: bool
    ) -> Served:
        while True:
            row = await self._claimed(presented, call, mine, crowded=crowded)
            if row.is_over:
                return await self._answered(row)
            async with Lease(self._ledger, row.id, self._worker, self._settings.rail_lease_seconds) as lease:
                if row.state is State.PAID:
                    return await self._serve(row, call, request, lease)
                made = await self._rehearse(row, call, request)
                served = await self._pay_and_serve(row, presented, call, request, made, lease)
                if served is not None:
                    return served
            mine, crowded = None, True  # the claim was evicted or taken over meanwhile: look again

    async def _claimed(
        self, presented: PresentedProof, call: Call, mine: Redemption | None, *, crowded: bool = True
    ) -> Redemption:
        """Return the claim row under this worker's lease: a new one, or one whose worker is gone (P-ST-06)."""
        if mine is None:
            if crowded:
                away = self._presence is not None and presented.terms.network not in self._presence.here
                await make_room(self._ledger, self._collector(presented), presented.token, is_away=away)
            self._order = max(self._order + 1, time.time_ns())
            now = self._clock.now()
            new = NewClaim(
                token=presented.token.text,
                payment_key=presented.payment_key,
                request_hash=call.request_hash,
                service_id=call.service.id,
                network=presented.terms.network,
                tx_id=presented.tx_id,
                amount=presented.terms.amount,
                pay_to=presented.terms.pay_to,
                expires_at=max(presented.token.unix + self._settings.challenge_ttl, now),
            )
            # Whoever sends for an authorization may not be here when it is final.
            request = None if presented.authorization is None else call.kept
            claimed = await self._ledger.claim(new, worker=self._worker, now=now, order=self._order, request=request)
            if claimed is not None:
                return claimed
            rows = await self._ledger.involved(presented.token.text, presented.payment_key)
            self.eligibility.refuse_foreign(rows, presented, call)
            mine = _claim_of(rows, presented)
        return await self._take_over(presented, call, mine)

    async def _take_over(self, presented: PresentedProof, call: Call, mine: Redemption | None) -> Redemption:
        """Wait for another worker's answer; take the row when its lease is free or stood still too long."""
        ends = time.monotonic() + self._settings.rail_join_wait
        while mine is not None and not mine.is_over:
            if self._watch.has_run_out(mine) and await self._ledger.take_lease(mine, worker=self._worker):
                taken = await self._ledger.get(mine.id)
                if taken is not None:
                    return taken
            if time.monotonic() > ends or ENDING.is_told:
                raise in_progress()
            await ENDING.pause(POLL_SECONDS)
            mine = await self._ledger.get(mine.id)
        if mine is None:
            return await self._claimed(presented, call, None)
        return mine

    def _made(self, row: Redemption, call: Call, request: Any, now: int) -> PreparedAnswer | None:
        """Return the answer to a payment that the rail sent, as its receipts can be written now.

        None when it cannot be made, which is told once the payment is marked.
        """
        try:
            return PreparedAnswer(self.signer.answer(row, call.service, request), row.tx_id, now)
        except Exception:  # noqa: BLE001 - whatever it is, the money is there
            return None

    async def _rehearse(self, row: Redemption, call: Call, request: Any) -> PreparedAnswer | None:
        """Try all that comes after the payment before it is taken: run the service and sign, with what is known.

        Returns:
            What was made. None where the rail sends the payment itself: what receipts name is not known yet.

        Raises:
            Refused: 503; the claim stays for as long as it takes.
        """
        now = self._clock.now()
        try:
            answer = self.signer.answer(row, call.service, request)
        except Exception as fault:
            await self._keep(row, call)
            raise answer_unavailable(fault) from fault
        return PreparedAnswer(answer, row.tx_id, now) if row.tx_id else None

    async def _keep(self, row: Redemption, call: Call) -> None:
        """Let a claim not lapse, and keep its request: it may be found paid while its payer is not there."""
        await self._ledger.keep(row, now=self._clock.now())
        request = call.kept
        if len(request) <= MOST_UNPAID_BYTES:
            await self._ledger.keep_order(row.id, request)

    # Step 14: what the chain shows.

    async def _paid_on_chain(self, presented: PresentedProof, row: Redemption, call: Call) -> Payment:
        try:
            if self._presence is not None:
                self._presence.refuse_unchecked(row.network)
            if presented.authorization is not None and row.lease_counter:  # taken over: an older claim may lack it
                await self._ledger.keep_order(row.id, call.kept)
            return await self._collector(presented).collect(presented, row)
        except ChainUnavailable as fault:
            await self._keep(row, call)
            raise chain_unavailable() from fault
        except asyncio.CancelledError:  # the process ends, and nothing is known of a payment that may be there
            await self._keep(row, call)
            raise
        except PaymentRefused as refusal:
            if refusal.code in AGED:
                self._clock.refuse_in_doubt()
            if refusal.code not in RETRYABLE:
                await self._has_received(presented, refusal.code, call)
                await self._ledger.drop_unpaid(row.id)
            elif row.is_kept:
                await self._ledger.let_go(row, now=self._clock.now())
            raise

    def _collector(self, presented: PresentedProof) -> Collector:
        return self._collectors[presented.terms.network]

    async def _pay_and_serve(
        self,
        row: Redemption,
        presented: PresentedProof,
        call: Call,
        request: Any,
        made: PreparedAnswer | None,
        lease: Lease,
    ) -> Served | None:
        """Steps 14 to 15; one statement decides among all who claim this token or this payment (14b).

        A payment that is found before the second of the rehearsal is over is marked as paid together with the answer
        that was made then, and one that the rail sent itself together with an answer that is made once it is found.
        Any other, and one that cannot be answered now, is marked first and answered anew.

        Returns:
            The answer, or None when the claim is not this worker's any more and nobody was faster.

        Raises:
            PaymentRefused: It is no payment, or none yet.
            Refused: 409, the token, the payment or the very transfer bought something else.
        """
        payment = await self._paid_on_chain(presented, row, call)
        now = self._clock.now()
        if made is None:
            made = self._made(replace(row, tx_id=payment.tx_id), call, request, now)
        beside = self._collector(presented).closing(presented, payment)
        worker, recheck_at = self._worker, now + self._settings.rail_recheck_seconds
        if made is not None and made.holds(payment, now):
            answer = made.paid_by(payment.payer)
            if await self._ledger.mark_paid_and_spend(
                row, payment, answer, *beside, worker=worker, now=now, recheck_at=recheck_at
            ):
                return self._sent(answer, lease)
        else:
            paid = await self._ledger.mark_paid(row, payment, *beside, worker=worker, now=now, request=call.kept)
            if paid is not None:
                return await self._serve(paid, call, request, lease)
        await self._refuse_bought(row, presented, call)
        return None

    async def _refuse_bought(self, row: Redemption, presented: PresentedProof, call: Call) -> None:
        """Refuse a claim that could not be marked paid because its token or its payment bought something else.

        Raises:
            Refused: 409.
        """
        rows = await self._ledger.involved(presented.token.text, presented.payment_key)
        try:
            self.eligibility.refuse_foreign(rows, presented, call)
            if await self._is_still_held(row):  # so another claim has that transfer, by another token and payment
                raise already_spent()
        except Refused as refusal:
            if is_second_payment(rows, presented):
                await self._has_received(presented, refusal.code, call)
            await self._ledger.drop_unpaid(row.id)
            raise

    async def _is_still_held(self, claim: Redemption) -> bool:
        now = await self._ledger.get(claim.id)
        return now is not None and now.state is State.UNPAID and now.lease == self._worker

    # Step 15: run the service, sign, store, reply.

    async def _serve(self, row: Redemption, call: Call, request: Any, lease: Lease) -> Served:
        try:
            answer = self.signer.answer(row, call.service, request)
        except Exception as fault:
            raise answer_unavailable(fault) from fault
        now = self._clock.now()
        recheck_at = now + self._settings.rail_recheck_seconds
        stored = await self._ledger.spend(row.id, answer, worker=self._worker, now=now, recheck_at=recheck_at)
        if not stored:
            spent = await self._ledger.get(row.id)
            if spent is None or not spent.is_over:
                raise in_progress()
            return await self._answered(spent)
        return self._sent(answer, lease)

    @staticmethod
    def _sent(answer: Answer, lease: Lease) -> Served:
        lease.given_back = True  # by the very statement that stored the answer
        return Served(answer.body, answer.payment_response, replayed=False)


def stored_answer(row: Redemption) -> Served:
    """Return what was stored, as it was sent first (P-ST-04).

    Raises:
        Refused: The answer is past its time.
    """
    if row.answer is None or row.payment_response is None:
        raise already_spent()
    return Served(row.answer, row.payment_response, replayed=True)


def _claim_of(rows: list[Redemption], presented: PresentedProof) -> Redemption | None:
    wanted = (presented.token.text, presented.payment_key)
    return next((row for row in rows if (row.token, row.payment_key) == wanted), None)
