"""From a proof to an answer: one pass through the checks of specification 5.7, one execution a payment (5.8).

The order of the methods is the order of the checks. A failure is an exception: `PaymentRefused` becomes a 402 with
fresh tokens, `Refused` any other status. `ClaimFinder` does step 13, `Fulfilment` steps 14 and 15.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from reference.protocol import redemption
from reference.protocol.challenge import Mint, Token
from reference.protocol.proof import Proof
from reference.protocol.redemption import State
from reference.protocol.refusals import PaymentRefused
from reference.rail.availability.lane_health import LaneHealth
from reference.rail.challenges import Call
from reference.rail.claims.claim_finder import ClaimFinder, claim_of
from reference.rail.claims.eligibility import Eligibility
from reference.rail.claims.fulfilment import Fulfilment, Served
from reference.rail.claims.leases import Lease
from reference.rail.claims.presented_proof import Collectors, PresentedProof, in_progress
from reference.rail.claims.refusal_notes import OF_THE_WINDOW, RefusalNotes, is_second_payment
from reference.rail.settings import RailSettings
from reference.rail.signing import Signer
from reference.store.absences import Absences
from reference.store.generations import Generations
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions
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
        absences: Absences | None = None,
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
        self._at_work: dict[str, asyncio.Task[Served]] = {}
        self._claims = ClaimFinder(
            settings, clock, collectors, ledger, self.eligibility, worker=worker, lane_health=lane_health
        )
        self._fulfilment = Fulfilment(
            settings, clock, collectors, ledger, signer, self.eligibility, notes, worker=worker, lane_health=lane_health
        )

    # Steps 5 and 6: whose token is it, and does the proof fit its lane?

    async def present(self, proof: Proof) -> PresentedProof:
        """Return the proof with the terms of its token.

        Raises:
            PaymentRefused: `unknown_challenge`, `lane_mismatch` or `invalid_payment_header`.
        """
        token = Token.parse(proof.token)
        since = self._clock.now() - self._settings.challenge_ttl - self._settings.rail_settle_window
        least = min(since, token.unix) if token else since
        terms = None if token is None else self._mint.issued_for(token, self._generations.get_cached(since=least))
        if terms is None:  # another worker may have put terms in force since then
            known = await self._generations.load_since(since=least)
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
                and for a clock that is not trusted yet.
        """
        rows = await self._ledger.find_involved(presented.token.text, presented.payment_key)
        try:
            self.eligibility.refuse_foreign(rows, presented, call)
        except Refused as refusal:
            if is_second_payment(rows, presented):
                await self._fulfilment.has_received(presented, refusal.code, call)
            raise
        mine = claim_of(rows, presented)
        if mine is not None and mine.is_over:
            return await self._fulfilment.serve_again(mine)
        try:
            self.eligibility.refuse_other_request(presented, call)
            await self.eligibility.refuse_late(presented, mine)
            self._clock.refuse_unfounded()
            if mine is None:
                self._collectors[presented.terms.network].check(presented)
        except PaymentRefused as refusal:
            is_received = await self._fulfilment.has_received(presented, refusal.code, call)
            if not is_received or refusal.code not in OF_THE_WINDOW:
                raise
            # Its contract took the authorization while its window was open, from another sender (P-LN-03).
            self._collectors[presented.terms.network].check(presented, is_used=True)
        crowded = len(rows) >= redemption.UNPAID_CLAIMS_PER_TOKEN
        return await self._join_or_work(presented, call, request, mine, crowded=crowded)

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
            done.exception()  # no caller waits for this failure any more

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
            row = await self._claims.find_or_make(presented, call, mine, crowded=crowded)
            if row.is_over:
                return await self._fulfilment.serve_again(row)
            async with Lease(self._ledger, row.id, self._worker, self._settings.rail_lease_seconds) as lease:
                if row.state is State.PAID:
                    return await self._fulfilment.serve(row, call, request, lease)
                prepared = await self._fulfilment.rehearse(row, call, request)
                served = await self._fulfilment.pay_and_serve(row, presented, call, request, prepared, lease)
                if served is not None:
                    return served
            mine, crowded = None, True  # the claim was evicted or taken over meanwhile: look again
