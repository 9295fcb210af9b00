"""Eligibility of a proof by the ledger, the request and the time: steps 9 to 11 of specification 5.7."""

from __future__ import annotations

from reference.protocol import challenge, challenge_lifetime
from reference.protocol.challenge import Mint
from reference.protocol.redemption import State
from reference.protocol.refusals import PaymentRefused
from reference.rail.challenges import Call
from reference.rail.claims.non_402_refusals import already_spent, payment_refunded
from reference.rail.claims.presented_proofs import PresentedProof
from reference.rail.settings import RailSettings
from reference.store.redemption_rows import Redemption
from reference.store.service_outages import Outages
from reference.web.clock import WpClock


class Eligibility:
    """The refusals of one rail that need no chain."""

    def __init__(self, settings: RailSettings, clock: WpClock, mint: Mint, absences: Outages | None) -> None:
        self._settings = settings
        self._clock = clock
        self._mint = mint
        self._absences = absences

    @staticmethod
    def refuse_foreign(rows: list[Redemption], proof: PresentedProof, call: Call) -> None:
        """Refuse a token or a payment that already bought something else (step 9); unpaid claims do not count.

        A payment that was given back without a claim is refused as refunded, for any request.
        """
        if any(row.is_refunded and row.payment_key == proof.payment_key and not row.service_id for row in rows):
            raise payment_refunded()
        for row in rows:
            is_same = (row.token, row.payment_key, row.request_hash) == (
                proof.token.text,
                proof.payment_key,
                call.request_hash,
            )
            # P-ST-08: a stranger can name any transaction or token in a claim. Only a claim that is marked as paid
            # excludes others.
            if row.state is not State.UNPAID and not is_same:
                raise already_spent()

    def refuse_other_request(self, proof: PresentedProof, call: Call) -> None:
        """Refuse a token that was issued for another request (step 10)."""
        is_bound = self._mint.binds(proof.token, service_id=call.service.id, request_hash=call.request_hash)
        if not is_bound:
            raise _refusal("request_mismatch", proof)

    async def refuse_late(self, proof: PresentedProof, claim: Redemption | None) -> None:
        """Refuse a token past its lifetime, unless a claim or an absence still gives a right (step 11).

        Args:
            proof: The proof.
            claim: The claim that was made with it before.

        Raises:
            PaymentRefused: `challenge_expired`.
        """
        # P-ST-01: a payer that presented in time cannot lose the payment to a slow chain. The claim keeps the right
        # until its settle window ends.
        if (claim is None or self.window_is_over(claim)) and not await self._may_come_late(proof):
            self.refuse_expired(proof)

    def refuse_expired(self, proof: PresentedProof) -> None:
        """Refuse a token past its lifetime (step 11); a claim made in time keeps its right (P-ST-01).

        The worker that issued it may have another clock than this worker, so WP_SKEW_SECONDS are added (5.4).
        """
        ttl = self._settings.challenge_ttl + self._settings.skew_seconds
        if not challenge.is_live(proof.token, now=self._clock.now(), ttl=ttl):
            # While the clock is in doubt it may be the clock that is wrong: the payer gets a 503 to try again, not a
            # refusal for good (decision 0043).
            self._clock.refuse_in_doubt()
            raise _refusal("challenge_expired", proof)

    def window_is_over(self, claim: Redemption) -> bool:
        """Return whether an unpaid claim no longer gives a right: it is past its settle window (5.8).

        A claim for which a settlement was sent keeps its right as long as its row exists, because its money may have
        moved. So does a claim whose last look met no node.
        """
        window = self._settings.rail_settle_window + self._settings.skew_seconds
        over = self._clock.lapsed_until() > claim.expires_at + window
        return claim.state is State.UNPAID and claim.held_until is None and not claim.is_kept and over

    async def _may_come_late(self, proof: PresentedProof) -> bool:
        """Return whether a token past its lifetime may still be presented, because no payer could be served meanwhile.

        Only if the payer sends the money: an authorization that was not settled has moved nothing.
        """
        token, ttl = proof.token, self._settings.challenge_ttl
        if self._absences is None or proof.authorization is not None or self._clock.now() <= token.unix + ttl:
            return False
        absences = await self._absences.list_after(proof.terms.network, token.unix)
        grace = self._settings.rail_settle_window
        # A late presentation gains nothing that was not paid in time: the block must still be in the first lifetime
        # (P-ST-01).
        return self._clock.now() <= challenge_lifetime.last_moment(token.unix, ttl, absences, grace=grace)

    def refuse_forgotten(self, claim: Redemption) -> None:
        """Refuse a payment whose stored answer is too old, whether or not it was deleted already (P-ST-04)."""
        kept_seconds = self._settings.rail_store_seconds + self._settings.skew_seconds
        if claim.spent_at is None or self._clock.lapsed_until() > claim.spent_at + kept_seconds:
            raise already_spent()


def _refusal(code: str, proof: PresentedProof) -> PaymentRefused:
    return PaymentRefused(code, proof.tx_id, proof.terms.caip2)
