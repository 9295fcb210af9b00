"""Redemption of proofs: one pass through the checks of specification 5.7, one execution for each payment (5.8).

The order of the methods is the order of the checks. A failure is an exception: `PaymentRefused` becomes a 402 with
fresh tokens, `Refused` any other status. `ClaimFinder` does step 13, `Fulfilment` steps 14 and 15.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from reference.protocol import redemption
from reference.protocol.challenge import Mint, Token
from reference.protocol.payment_proof import Proof
from reference.protocol.redemption import State
from reference.protocol.refusals import PaymentRefused
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.claim_acquisition import ClaimFinder, find_claim
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.fulfilment import Fulfilment, PaidAnswer
from reference.rail.claims.leases import Lease
from reference.rail.claims.presented_proofs import Collectors, PresentedProof, in_progress
from reference.rail.claims.refused_payment_notes import OF_THE_WINDOW, RefusalNotes, is_second_payment
from reference.rail.settings import RailSettings
from reference.rail.signed_answers import Signer
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
from reference.store.service_outages import Outages
from reference.store.terms_history import Generations
from reference.web.clock import WpClock
from reference.web.errors import Refused

_FINISH_SECONDS = 2.0
_GIVE_BACK_SECONDS = 1.0


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
        absences: Outages | None = None,
    ) -> None:
        self.signer = signer
        self.eligibility = Eligibility(settings, clock, mint, absences)
        self._settings = settings
        self._clock = clock
        self._mint = mint
        self._collectors = collectors
        self._ledger = ledger
        self._generations = generations
        self._worker = worker
        self._tasks: dict[str, asyncio.Task[PaidAnswer]] = {}
        self._claims = ClaimFinder(
            settings, clock, collectors, ledger, self.eligibility, worker=worker, lane_health=lane_health
        )
        self._fulfilment = Fulfilment(
            settings, clock, collectors, ledger, signer, self.eligibility, notes, worker=worker, lane_health=lane_health
        )

    # Steps 5 and 6: the terms of the token, and whether the proof fits its lane.

    async def present(self, proof: Proof) -> PresentedProof:
        """Return the proof with the terms of its token.

        Raises:
            PaymentRefused: `unknown_challenge`, `lane_mismatch` or `invalid_payment_header`.
        """
        token = Token.parse(proof.token)
        # Terms are kept as long as a token of theirs may still be redeemed: its lifetime and the settle window
        # (P-CH-13).
        since = self._clock.now() - self._settings.challenge_ttl - self._settings.rail_settle_window
        least = min(since, token.unix) if token else since
        terms = None if token is None else self._mint.issued_for(token, self._generations.get_cached(since=least))
        if terms is None:
            # Another worker may have put new terms in force since the cached look: only the database decides.
            generations = await self._generations.load_since(since=least)
            terms = None if token is None else self._mint.issued_for(token, generations)
        collector = None if terms is None else self._collectors.get(terms.network)
        if token is None or terms is None or collector is None:
            raise PaymentRefused("unknown_challenge", network=proof.network or "")
        return collector.read_proof(proof, token, terms)

    # Steps 9 to 13: the ledger, the request, the time, the claim. Their order is that of 5.7.

    async def redeem(self, proof: PresentedProof, call: Call, request: Any) -> PaidAnswer:
        """Return the paid answer of `call`, running the service at most once for this payment.

        Args:
            proof: The proof.
            call: The request it is presented with.
            request: The same, as the service's model.

        Raises:
            PaymentRefused: The proof is rejected with 402.
            Refused: 409 for a payment that already bought something or is in progress, 503 for a chain that is away
                and for a clock that is not trusted yet.
        """
        rows = await self._ledger.find_involved(proof.token.text, proof.payment_key)
        try:
            self.eligibility.refuse_foreign(rows, proof, call)
        except Refused as refusal:
            if is_second_payment(rows, proof):
                await self._fulfilment.has_received(proof, refusal.code, call)
            raise
        claim = find_claim(rows, proof)
        if claim is not None and claim.is_over:
            return await self._fulfilment.repeat_answer(claim)
        try:
            self.eligibility.refuse_other_request(proof, call)
            await self.eligibility.refuse_late(proof, claim)
            # Before a claim is made and before anything is sent: no wall clock was confirmed since the start, and
            # answers must be dated (decision 0064).
            self._clock.refuse_unfounded()
            if claim is None:
                self._collectors[proof.terms.network].check(proof)
        except PaymentRefused as refusal:
            is_received = await self._fulfilment.has_received(proof, refusal.code, call)
            if not is_received or refusal.code not in OF_THE_WINDOW:
                raise
            # Its contract took the authorization while its window was open, from another sender (P-LN-03).
            self._collectors[proof.terms.network].check(proof, is_used=True)
        is_crowded = len(rows) >= redemption.UNPAID_CLAIMS_PER_TOKEN
        return await self._join_or_work(proof, call, request, claim, is_crowded=is_crowded)

    async def _join_or_work(
        self, proof: PresentedProof, call: Call, request: Any, claim: Redemption | None, *, is_crowded: bool
    ) -> PaidAnswer:
        """Let one of N identical proofs work; the others wait for its answer (P-ST-05).

        The work is a separate task: a client that hangs up does not stop it half way.
        """
        key = f"{proof.token.text}|{proof.payment_key}"
        task = self._tasks.get(key)
        if task is not None:
            return replace(await self._join(task), is_replay=True)
        task = asyncio.create_task(self._work(proof, call, request, claim, is_crowded=is_crowded))
        self._tasks[key] = task
        # The callback, not the caller, removes the entry: the caller may have gone before the work ends.
        task.add_done_callback(lambda done: self._forget_task(key, done))
        return await asyncio.shield(task)

    def _forget_task(self, key: str, task: asyncio.Task[PaidAnswer]) -> None:
        del self._tasks[key]
        if not task.cancelled():
            task.exception()  # no caller waits for this failure any more

    async def finish(self) -> None:
        """Wait a moment for unfinished work, then interrupt it; the same proof continues it after the restart.

        Interrupted work releases its lease, so that the next process need not wait until that has run out.
        """
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks.values(), timeout=_FINISH_SECONDS)
        for work in late:
            work.cancel()
        if late:
            await asyncio.wait(late, timeout=_GIVE_BACK_SECONDS)

    async def _join(self, task: asyncio.Task[PaidAnswer]) -> PaidAnswer:
        try:
            async with asyncio.timeout(self._settings.rail_join_wait):
                return await asyncio.shield(task)
        except TimeoutError as late:
            raise in_progress() from late

    async def _work(
        self, proof: PresentedProof, call: Call, request: Any, claim: Redemption | None, *, is_crowded: bool
    ) -> PaidAnswer:
        while True:
            row = await self._claims.find_or_make(proof, call, claim, is_crowded=is_crowded)
            if row.is_over:
                return await self._fulfilment.repeat_answer(row)
            async with Lease(self._ledger, row.id, self._worker, self._settings.rail_lease_seconds) as lease:
                if row.state is State.PAID:
                    return await self._fulfilment.serve(row, call, request, lease)
                # Before the money is taken: a service that fails, or a key that cannot be read, must not leave a payer
                # without an answer (decision 0044).
                prepared_answer = await self._fulfilment.prepare_answer(row, call, request)
                answer = await self._fulfilment.pay_and_serve(row, proof, call, request, prepared_answer, lease)
                if answer is not None:
                    return answer
            claim, is_crowded = None, True  # the claim was evicted or taken over meanwhile: look again
