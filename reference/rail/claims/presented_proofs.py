"""Presented proofs and payment sources: the interface of both kinds of lanes, and the kind that only observes.

A source reads the proof (`read_proof`), refuses what needs no chain (`check`), and finds the money (`collect`). The
other kind, which settles, is in `reference.rail.settlement.settler`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from reference.fast_records import record
from reference.lanes.lane import Lane, ObservingLane
from reference.lanes.newest_block import refuse_behind
from reference.lanes.registry import LANES
from reference.protocol import networks, redemption
from reference.protocol.challenge import Terms, Token
from reference.protocol.eip3009 import Authorization
from reference.protocol.error_codes import RAIL
from reference.protocol.observed_transaction import ObservedTransaction, TxStatus
from reference.protocol.payment_proof import MinedProof, Proof
from reference.protocol.refusals import PaymentRefused
from reference.protocol.weld import Payment
from reference.rail.settings import RailSettings
from reference.store.database import Change
from reference.store.redemption_rows import Redemption
from reference.web.errors import Refused, refusal
from reference.web.process.shutdown import SHUTDOWN

POLL_SECONDS = 0.05


@record
class PresentedProof:
    """A proof with the terms of the lane that its token names.

    Attributes:
        token: The challenge token.
        terms: Terms of the challenge on that lane.
        tx_id: The transaction, canonical; empty on a lane that settles, where none exists yet.
        payment_key: The key by which a payment buys one call (P-ST-03).
        authorization: The payer's authorization on a lane that settles, else None.
    """

    token: Token
    terms: Terms
    tx_id: str
    payment_key: str
    authorization: Authorization | None = None


class Collector(Protocol):
    """Collects the payments of one lane."""

    @property
    def lane(self) -> Lane:
        """The lane."""

    def read_proof(self, proof: Proof, token: Token, terms: Terms) -> PresentedProof:
        """Return the proof as this lane reads it (step 6).

        Raises:
            PaymentRefused: `lane_mismatch` or `invalid_payment_header`.
        """

    def check(self, proof: PresentedProof, *, is_used: bool = False) -> None:
        """Check what needs no chain (step 12), without the times of an authorization that was used already.

        Raises:
            PaymentRefused: By the first rule that does not hold.
        """

    async def find_received(self, proof: PresentedProof) -> Payment | None:
        """Return the payment that reached the payee for a proof, at any time and in any amount, or None.

        Raises:
            PaymentRefused: `tx_not_confirmed`: it is on its way.
            ChainUnavailable: The node could not be asked.
        """

    def rebuild_proof(self, claim: Redemption) -> PresentedProof:
        """Return the proof with which a claim was made, as far as `find_received` needs it."""

    async def collect(self, proof: PresentedProof, claim: Redemption) -> Payment:
        """Return the payment once it is final (step 14).

        Raises:
            PaymentRefused: It is not, or not yet.
            ChainUnavailable: The node could not be asked.
        """

    def closing_changes(self, proof: PresentedProof, payment: Payment) -> Sequence[Change]:
        """Return the changes that are written together with the mark that a payment is paid."""

    async def is_known(self, claim: Redemption) -> bool:
        """Return whether the chain knows what an unpaid claim names, so that it is not evicted (P-ST-08).

        Raises:
            ChainUnavailable: The node could not be asked.
        """

    async def look(self, claim: Redemption) -> Payment | None:
        """Return the payment of a claim as its chain shows it now, without waiting; None if it is not paid.

        Raises:
            PaymentRefused: It pays nothing, or nothing yet.
            ChainUnavailable: The node could not be asked.
        """

    async def tend(self) -> None:
        """Do what is due without a call."""


class MinedPaymentSource:
    """Collects on a lane on which the payer sends the transaction."""

    def __init__(self, settings: RailSettings, lane: ObservingLane) -> None:
        self.lane = lane
        self._settings = settings

    def read_proof(self, proof: Proof, token: Token, terms: Terms) -> PresentedProof:
        """Read a mined proof; its transaction id must be canonical on this lane."""
        if not isinstance(proof, MinedProof) or proof.network not in {None, terms.caip2}:
            raise PaymentRefused("lane_mismatch", network=terms.caip2)
        try:
            tx_id = networks.canonical_tx_id(self.lane.facts.network, proof.tx_id)
        except ValueError as fault:
            # Step 6 distinguishes an id that is canonical on another mined lane from one that is canonical nowhere: the
            # payer learns which mistake it made.
            code = "lane_mismatch" if self._is_of_another_lane(proof.tx_id) else "invalid_payment_header"
            raise PaymentRefused(code, network=terms.caip2) from fault
        return PresentedProof(token, terms, tx_id, redemption.mined_payment_key(terms.caip2, tx_id))

    def _is_of_another_lane(self, tx_id: str) -> bool:
        """Whether a transaction id is canonical on a mined lane other than this one."""
        for network in (networks.NETWORKS[other.main] for other in LANES if not other.settles):
            # Networks of one family write ids in the same way, so an id cannot show that it belongs to another of them.
            if network.family == self.lane.facts.network.family:
                continue
            with suppress(ValueError):
                networks.canonical_tx_id(network, tx_id)
                return True
        return False

    def check(self, proof: PresentedProof, *, is_used: bool = False) -> None:
        """Check nothing: a mined payment can be judged by its chain alone."""
        del proof, is_used

    async def find_received(self, proof: PresentedProof) -> Payment | None:
        """Ask the node for the transaction."""
        transaction = await self._observe(proof.tx_id)
        return self.lane.find_received(transaction, proof.terms, proof.token, proof.tx_id)

    def rebuild_proof(self, claim: Redemption) -> PresentedProof:
        """Read a claim."""
        token = Token.parse(claim.token)
        assert token is not None  # noqa: S101 - only parsed tokens are claimed
        network = self.lane.facts.network
        terms = Terms(claim.network, network.caip2, network.asset_id, claim.amount, claim.pay_to)
        return PresentedProof(token, terms, claim.tx_id, claim.payment_key)

    async def collect(self, proof: PresentedProof, claim: Redemption) -> Payment:
        """Judge what the chain shows."""
        del claim
        transaction = await self.wait_for_transaction(proof.tx_id)
        ttl = self._settings.challenge_ttl
        return self.lane.judge(transaction, proof.terms, proof.token, proof.tx_id, ttl)

    async def wait_for_transaction(self, tx_id: str) -> ObservedTransaction:
        """Ask the node, waiting a while inside the call for a transaction that is on its way (P-ER-05)."""
        ends = time.monotonic() + self._settings.rail_confirm_wait
        while True:
            transaction = await self._observe(tx_id)
            is_on_its_way = transaction.status is TxStatus.PENDING or (
                transaction.status is TxStatus.CONFIRMED and not transaction.final
            )
            # P-ER-05: waiting here saves the payer a second call. At shutdown the wait ends at once, and the payer
            # presents again.
            if not is_on_its_way or time.monotonic() >= ends or SHUTDOWN.is_signalled:
                return transaction
            await SHUTDOWN.pause(min(POLL_SECONDS, self._settings.chain_poll_seconds))

    async def _observe(self, tx_id: str) -> ObservedTransaction:
        """Ask the node once; its answer that a transaction is unknown counts only if it is not behind its chain."""
        transaction = await self.lane.observe(tx_id)
        if transaction.status is TxStatus.ABSENT:
            await refuse_behind(self.lane, self._settings.rail_node_behind_seconds)
        return transaction

    async def look(self, claim: Redemption) -> Payment | None:
        """Judge what the chain shows of a claim whose proof is not at hand."""
        proof = self.rebuild_proof(claim)
        transaction = await self._observe(claim.tx_id)
        ttl = self._settings.challenge_ttl
        return self.lane.judge(transaction, proof.terms, proof.token, proof.tx_id, ttl)

    def closing_changes(self, proof: PresentedProof, payment: Payment) -> Sequence[Change]:
        """Return no changes: a mined payment has no further state."""
        del proof, payment
        return ()

    async def is_known(self, claim: Redemption) -> bool:
        """Ask the node for the transaction."""
        return (await self._observe(claim.tx_id)).status is not TxStatus.ABSENT

    async def tend(self) -> None:
        """Do nothing: the payer sends the transaction, so there is nothing to follow."""


Collectors = Mapping[str, Collector]


def in_progress() -> Refused:
    """Return the refusal of a payment that is being worked on."""
    return refusal(RAIL["payment_in_progress"])
