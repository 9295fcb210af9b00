"""Settlement: the rail sends what a payer authorized, from its own account, once (P-LN-03, P-LN-07, P-LN-08).

Theory of the states below: the chain, not this process, knows whether an authorization was used. So each step asks the
chain first and acts afterwards. Any worker may do any step at any time: after a crash, next to another worker, or from
the background loop. A signed transaction is stored before it is sent, so that a crash in between charges no payer
twice. A transaction that is mined and final ends the settlement.

    nothing sent ── eth_call says it would work ──▶ nonce taken and written ──▶ sent ──▶ mined ──▶ final ──▶ paid
         │                                                  │ stuck: same nonce, higher fee
         └── used by a stranger's transaction ──────────────┴───────────────────────────────▶ judged by its logs
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import orjson

from reference.lanes.lane import ChainUnavailable, Fees, Outlook, Settler, SettlingLane, Use
from reference.protocol import eip3009, redemption
from reference.protocol.challenge import Terms, Token
from reference.protocol.eip3009 import Authorization
from reference.protocol.observed_transaction import ABSENT, ObservedTransaction, TxStatus
from reference.protocol.payment_proof import AuthorizedProof, Proof
from reference.protocol.refusals import PaymentRefused
from reference.protocol.weld import AGE_SKEW_SECONDS, Payment
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proofs import PresentedProof, in_progress
from reference.rail.settings import RailSettings
from reference.store.database import Change
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions, build_hold
from reference.store.settlements import Fate, NonceTaken, Settlement, Settlements, TokenTaken, build_close
from reference.web.clock import WpClock
from reference.web.logs import get_logger
from reference.web.process.shutdown import SHUTDOWN

_log = get_logger()
FAILURES_REMEMBERED = 3600
_POLL_SECONDS = 0.1
# A replacement costs at most so many times what the node asks for. A higher fee would not bring it into a block sooner,
# so the fee is not what keeps it out (docs/money.md).
_MOST_FEES = 8
# A payer may name any 256-bit time as validBefore. A database keeps integers of 64 bits, JSON readers those of 53.
_FOR_EVER = 2**53
_UNMINED_STATUSES = frozenset({TxStatus.ABSENT, TxStatus.PENDING})


class SettlingPaymentSource:
    """Collects on a lane on which the rail sends the transaction."""

    def __init__(
        self,
        settings: RailSettings,
        clock: WpClock,
        lane: SettlingLane,
        account: Settler,
        ledger: Redemptions,
        settlements: Settlements,
        *,
        worker: str,
    ) -> None:
        self.lane = lane
        self._settings = settings
        self._clock = clock
        self._account = account
        self._ledger = ledger
        self._settlements = settlements
        self._worker = worker
        self._watch = LeaseWatch(settings.rail_lease_seconds)
        # Settlements of all payers that were mined as failed within the hour, as of the last round.
        self._failure_count = 0
        # The settlements that calls of this worker wait for, by token.
        self._awaited: dict[str, Settlement] = {}

    # Steps 6 and 12.

    def read_proof(self, proof: Proof, token: Token, terms: Terms) -> PresentedProof:
        """Read an authorized proof."""
        if not isinstance(proof, AuthorizedProof) or proof.network not in {None, terms.caip2}:
            raise PaymentRefused("lane_mismatch", network=terms.caip2)
        authorization = proof.authorization
        key = redemption.authorized_payment_key(terms.caip2, terms.asset, authorization.payer, authorization.nonce)
        return PresentedProof(token, terms, "", key, authorization)

    def check(self, proof: PresentedProof, *, is_used: bool = False) -> None:
        """Judge the authorization offline."""
        eip3009.judge_offline(
            eip3009.AuthorizationOffer(
                authorization=_authorization_of(proof),
                terms=proof.terms,
                token=proof.token.text,
                domain=self.lane.domain,
                now=self._clock.now(),
            ),
            is_used=is_used,
        )

    async def find_received(self, proof: PresentedProof) -> Payment | None:
        """Ask the asset whether the authorization was used, by any sender, and what that moved."""
        use = await self._use_of(proof)
        if not use.is_used or use.is_cancelled:
            return None
        terms = replace(proof.terms, amount=str(_authorization_of(proof).value))
        try:
            payment = None if use.tx_id is None else await self._judge_foreign(use.tx_id, replace(proof, terms=terms))
        except PaymentRefused:  # it was used, and did not pay this challenge
            return None
        if payment is None:
            raise self._refusal("tx_not_confirmed", proof)
        return payment

    def rebuild_proof(self, claim: Redemption) -> PresentedProof:
        """Read a claim: its payment key names payer and nonce, and the signature is not needed any more."""
        token = Token.parse(claim.token)
        assert token is not None  # noqa: S101 - only parsed tokens are claimed
        caip2, asset, payer, nonce = claim.payment_key.split("|")
        terms = Terms(claim.network, caip2, asset, claim.amount, claim.pay_to)
        authorization = Authorization(payer, claim.pay_to.lower(), int(claim.amount), 0, 0, nonce, "")
        return PresentedProof(token, terms, "", claim.payment_key, authorization)

    # Step 14.

    async def collect(self, proof: PresentedProof, claim: Redemption) -> Payment:
        """Settle, or continue a settlement that was begun, and wait a while for it to be final (P-ER-05)."""
        ends = time.monotonic() + self._settings.rail_confirm_wait
        try:
            while (payment := await self._step(proof, claim)) is None:
                seconds_left = ends - time.monotonic()
                if seconds_left <= 0 or SHUTDOWN.is_signalled:
                    raise await self._build_pending_refusal(proof)
                await SHUTDOWN.pause(min(seconds_left, self._pause(proof)))
        except BaseException:
            self._awaited.pop(proof.token.text, None)
            raise
        return payment

    def closing_changes(self, proof: PresentedProof, payment: Payment) -> Sequence[Change]:
        """Close a settlement that this call has seen final together with its row; `tend` closes the others."""
        settlement = self._awaited.pop(proof.token.text, None)
        if settlement is None or payment.tx_id not in settlement.hashes:
            return ()
        return (build_close(settlement, Fate.SETTLED, now=self._clock.now()),)

    def _pause(self, proof: PresentedProof) -> float:
        """Return how long to wait before the next look: until the transaction may be final, by its chain's pace."""
        settlement = self._awaited.get(proof.token.text)
        due = (None if settlement is None else self.lane.seconds_until_final(settlement.hashes[-1])) or _POLL_SECONDS
        return min(self._settings.chain_poll_seconds, max(_POLL_SECONDS, due))

    async def _build_pending_refusal(self, proof: PresentedProof) -> PaymentRefused:
        open_settlement = await self._settlements.open_for(proof.token.text)
        tx_id = open_settlement.hashes[-1] if open_settlement else ""
        return PaymentRefused("tx_not_confirmed", tx_id, proof.terms.caip2)

    async def _step(self, proof: PresentedProof, claim: Redemption) -> Payment | None:
        """Do what is next and return the payment when it is final; None when there is something to wait for."""
        open_settlement = await self._settlements.open_for(proof.token.text)
        if open_settlement is not None and open_settlement.payment_key != proof.payment_key:
            # At most one submission for a token is on its way (P-ST-08), so this second payer is not charged.
            raise in_progress()
        if open_settlement is not None:
            self._awaited[open_settlement.token] = open_settlement
            return await self._follow(open_settlement, proof)
        outlook = await self.lane.read_outlook(_authorization_of(proof), self._account.address)
        if not outlook.is_used:
            await self._submit(proof, claim, outlook)
            return None
        use = await self._use_of(proof)
        if use.is_cancelled:
            # The payer has cancelled the authorization on the chain: nothing moved, and nothing will.
            raise self._refusal("authorization_used", proof)
        return None if use.tx_id is None else await self._judge_foreign(use.tx_id, proof)

    async def _follow(self, settlement: Settlement, proof: PresentedProof) -> Payment | None:
        """Continue a settlement that was sent: look it up, and push it if it is not mined.

        A settlement that moved the money stays open. `tend` closes it when the row is marked as paid, so that a crash
        in between loses nothing.
        """
        tx_id, transaction = await self._find_newest(settlement)
        if transaction.status in _UNMINED_STATUSES:
            await self._push(settlement, transaction.status)
            return None
        if not transaction.final:
            return None
        if transaction.status is TxStatus.CONFIRMED:
            return self._judge(tx_id, transaction, proof)
        return await self._after_failure(settlement, proof)

    async def _after_failure(self, settlement: Settlement, proof: PresentedProof) -> Payment | None:
        """Determine why the rail's transaction failed: a stranger's was first and paid, or nothing moved."""
        use = await self._use_of(proof)
        if use.is_used and not use.is_cancelled:
            return None if use.tx_id is None else await self._judge_foreign(use.tx_id, proof)
        # Only this fate counts against the payer. A stranger that settles first must not lock the payer out (P-LN-08).
        await self._settlements.close(settlement, Fate.FAILED, now=self._clock.now())
        raise self._refusal("authorization_used" if use.is_cancelled else await self._explain_failure(proof), proof)

    async def _use_of(self, proof: PresentedProof) -> Use:
        return await self.lane.find_use(_authorization_of(proof), proof.token.unix - AGE_SKEW_SECONDS)

    async def _explain_failure(self, proof: PresentedProof) -> str:
        revert = await self.lane.try_settlement(_authorization_of(proof), self._account.address)
        return "settlement_failed" if revert is None else eip3009.refusal_code(revert)

    async def _judge_foreign(self, tx_id: str, proof: PresentedProof) -> Payment | None:
        """Judge the transaction that used the authorization, from any sender."""
        transaction = await self.lane.observe(tx_id)
        if transaction.status is not TxStatus.CONFIRMED or not transaction.final:
            return None
        return self._judge(tx_id, transaction, proof)

    def _judge(self, tx_id: str, transaction: ObservedTransaction, proof: PresentedProof) -> Payment:
        """Return the payment when the transaction's logs show it.

        Raises:
            PaymentRefused: `authorization_used`: it was used, and not to pay this challenge.
        """
        authorization = _authorization_of(proof)
        # Only the Transfer directly after AuthorizationUsed counts, which stops two attacks with batched authorizations
        # (P-LN-10).
        transfer = eip3009.settling_transfer(transaction, authorization, proof.terms)
        if transfer is None:
            raise PaymentRefused("authorization_used", tx_id, proof.terms.caip2)
        key = redemption.transfer_key(proof.terms.caip2, tx_id, transfer.ordinal)
        return Payment(authorization.payer, tx_id, key, transfer.ordinal, transfer.value)

    async def _find_newest(self, settlement: Settlement) -> tuple[str, ObservedTransaction]:
        """Return the mined transaction with this nonce, else one that waits in the pool, else ABSENT."""
        fallback = (settlement.hashes[-1], ABSENT)
        # Each replacement has another hash, and any of them may be mined: whichever is, is the settlement (P-LN-07).
        for tx_id in reversed(settlement.hashes):
            transaction = await self.lane.observe(tx_id)
            if transaction.status not in _UNMINED_STATUSES:
                return tx_id, transaction
            if transaction.status is TxStatus.PENDING:
                fallback = (tx_id, transaction)
        return fallback

    # Sending.

    async def _submit(self, proof: PresentedProof, claim: Redemption, outlook: Outlook) -> None:
        """Send a settlement, once the contract says that it would succeed.

        Raises:
            PaymentRefused: It would not, or this payer's settlements, or those of all, failed too often.
        """
        # Again, because the claim may be old: an authorization that has expired meanwhile would fail in its block.
        self.check(proof)
        await self._refuse_griefer(proof)
        if outlook.refusal is not None:
            if (code := eip3009.refusal_code(outlook.refusal)) == "authorization_used":
                # Used since the outlook was read: the next step sees by which transaction.
                return
            raise self._refusal(code, proof)
        await self._refuse_unproven(proof)
        # Without gas for the highest fee the nonce would be taken and the transaction stuck, which holds up all later
        # ones.
        if outlook.wei < self._account.gas_limit * outlook.fees.most:
            raise ChainUnavailable("the settler's account cannot pay for gas")
        settlement = await self._reserve(proof, claim, outlook)
        self._awaited[settlement.token] = settlement
        # If the nonce is the node's own count, no earlier transaction of this account has to be sent before it.
        await (self.lane.send(settlement.raw) if settlement.nonce == outlook.nonce else self._send(settlement))

    async def _refuse_griefer(self, proof: PresentedProof) -> None:
        """Refuse a payer whose settlements failed on the chain too often, at the rail's cost (P-LN-08)."""
        most = self._settings.rail_payer_failures
        since = self._clock.now() - FAILURES_REMEMBERED
        payer, caip2 = _authorization_of(proof).payer, proof.terms.caip2
        if most and await self._settlements.failures(caip2, payer, since=since) >= most:
            raise self._refusal("settlement_failed", proof)

    async def _refuse_unproven(self, proof: PresentedProof) -> None:
        """Bound the cost of failed settlements over all payers, since each may use a new account (P-LN-08).

        Beyond the bound only a payer is settled that has paid before. Up to twice the bound also one that held the
        price in a safe block, which an account that was made for the attack does not.
        """
        most, failures = self._settings.rail_failures, self._failure_count
        authorization = _authorization_of(proof)
        if not most or failures < most:
            return
        if await self._settlements.has_settled(proof.terms.caip2, authorization.payer):
            return
        if failures >= 2 * most or not await self.lane.has_held_price(authorization):
            raise self._refusal("settlement_failed", proof)

    async def _reserve(self, proof: PresentedProof, claim: Redemption, outlook: Outlook) -> Settlement:
        """Take a nonce, store the transaction that is sent with it, and hold the claim, in one database transaction.

        Raises:
            Refused: 409: a settlement for this token is on its way.
        """
        authorization = _authorization_of(proof)
        caip2, settler = proof.terms.caip2, self._account.address
        fees, claim_hold = outlook.fees, build_hold(claim.id, until=min(authorization.valid_before, _FOR_EVER))
        while True:
            nonce = await self._settlements.free_nonce(caip2, settler, at_least=outlook.nonce)
            raw, tx_id = self._sign(authorization, nonce, fees)
            new = Settlement(
                caip2=caip2,
                settler=settler,
                nonce=nonce,
                token=proof.token.text,
                payment_key=proof.payment_key,
                payer=authorization.payer,
                authorization=orjson.dumps(
                    {**authorization.as_members(), "signature": authorization.signature}
                ).decode(),
                raw=raw,
                hashes=(tx_id,),
                fee=fees.most,
                tip=fees.tip,
                attempt=0,
                sent_at=self._clock.now(),
            )
            try:
                await self._settlements.reserve(new, claim_hold)
            # Another worker was faster. The unique key (chain, settler, nonce) decides, not this process (P-LN-07).
            except NonceTaken:
                continue
            except TokenTaken as fault:
                raise in_progress() from fault
            return new

    def _sign(self, authorization: Authorization, nonce: int, fees: Fees) -> tuple[bytes, str]:
        return self._account.sign(
            chain_id=self.lane.domain.chain_id,
            nonce=nonce,
            to=self.lane.facts.network.asset_id,
            data=self.lane.encode_settlement(authorization),
            fees=fees,
        )

    async def _push(self, settlement: Settlement, status: TxStatus) -> None:
        """Send a transaction again that the node has lost, or replace one that is stuck (P-LN-07).

        A transaction of an earlier account of the operator can be sent again, but not signed again.
        """
        stuck = self._clock.now() - settlement.sent_at >= self._settings.rail_stuck_seconds
        fees = await self._higher_fees(settlement) if stuck and settlement.settler == self._account.address else None
        if fees is not None:
            replacement = await self._replace(settlement, fees)
            if replacement is not None:
                await self._send(replacement)
        elif status is TxStatus.ABSENT:
            await self._send_again(settlement)

    async def _higher_fees(self, settlement: Settlement) -> Fees | None:
        """Return fees that a node accepts for a replacement; None if the fee is not what keeps it out of blocks."""
        node_fees = await self.lane.read_fees()
        fees = Fees(max(node_fees.most, _raise_fee(settlement.fee)), max(node_fees.tip, _raise_fee(settlement.tip)))
        return fees if fees.most <= _MOST_FEES * node_fees.most else None

    async def _send_again(self, settlement: Settlement) -> None:
        """Send a transaction that is in no block and no pool, unless its nonce was used by another one meanwhile."""
        if await self.lane.read_nonce(settlement.settler, include_pending=False) <= settlement.nonce:
            await self._send(settlement)
        elif (await self._find_newest(settlement))[1].status is TxStatus.ABSENT:
            await self._settlements.close(settlement, Fate.VOID, now=self._clock.now())

    async def _replace(self, settlement: Settlement, fees: Fees) -> Settlement | None:
        """Store a replacement with the same nonce and a higher fee; None if another worker did."""
        authorization = read_authorization(settlement)
        raw, tx_id = self._sign(authorization, settlement.nonce, fees)
        now = self._clock.now()
        if not await self._settlements.replace(settlement, raw=raw, tx_id=tx_id, fee=fees.most, tip=fees.tip, now=now):
            return None
        hashes = (*settlement.hashes, tx_id)
        return replace(
            settlement, raw=raw, hashes=hashes, fee=fees.most, tip=fees.tip, attempt=settlement.attempt + 1, sent_at=now
        )

    async def _send(self, settlement: Settlement) -> None:
        """Send a settlement to the node, after those of the same account that a reorganisation has removed.

        Those are on their way again: if their fee is too low by now, they are replaced like any other.
        """
        count = await self.lane.read_nonce(settlement.settler, include_pending=True)
        # A node mines nonces in order. A gap would hold up this transaction for ever.
        for earlier in await self._settlements.between(
            settlement.caip2, settlement.settler, count, settlement.nonce - 1
        ):
            if earlier.fate is not Fate.OPEN:
                await self._settlements.reopen(earlier)
            await self.lane.send(earlier.raw)
        await self.lane.send(settlement.raw)

    # In the background, without a call.

    async def look(self, claim: Redemption) -> Payment | None:
        """Return the payment that another sender settled.

        Raises:
            PaymentRefused: `tx_not_confirmed`: what the rail sent for the claim is on its way, and `tend` follows it.
        """
        proof = self.rebuild_proof(claim)
        if await self._settlements.open_for(claim.token) is not None:
            raise self._refusal("tx_not_confirmed", proof)
        return await self.find_received(proof)

    async def is_known(self, claim: Redemption) -> bool:
        """Return whether a settlement was sent for the claim, which then counts as known to the chain (P-ST-08)."""
        return claim.held_until is not None

    async def tend(self) -> None:
        """Follow open settlements, whether or not their clients return: money that moved is marked as paid.

        A settlement that the node refuses holds up no other.

        Raises:
            ChainUnavailable: The node could not be asked.
        """
        caip2 = self.lane.facts.network.caip2
        failures = await self._settlements.all_failures(since=self._clock.now() - FAILURES_REMEMBERED)
        self._count_failed(failures.get(caip2, 0))
        for settlement in await self._settlements.open_on(caip2):
            try:
                await self._tend(settlement)
            except ChainUnavailable:
                # This raises if the node is away, which ends the round. If it answers, only this settlement failed.
                await self.lane.read_fees()

    def _count_failed(self, count: int) -> None:
        most = self._settings.rail_failures
        if most and (count >= most) != (self._failure_count >= most):
            event = "settlements_bounded" if count >= most else "settlements_unbounded"
            _log.warning(event, network=self.lane.facts.network.key, failed=count)
        self._failure_count = count

    async def _tend(self, settlement: Settlement) -> None:
        claims = await self._ledger.find_involved(settlement.token, settlement.payment_key)
        claim = next((one for one in claims if one.payment_key == settlement.payment_key), None)
        if claim is None:
            await self._follow_abandoned(settlement)
        elif self._watch.has_run_out(claim) and await self._ledger.take_lease(claim, worker=self._worker):
            try:
                await self._tend_claim(settlement, claim)
            finally:
                await self._ledger.release(claim.id, worker=self._worker)

    async def _tend_claim(self, settlement: Settlement, claim: Redemption) -> None:
        try:
            payment = await self._follow(
                settlement, replace(self.rebuild_proof(claim), authorization=read_authorization(settlement))
            )
        except PaymentRefused:
            await self._ledger.drop_unpaid(claim.id)
            return
        if payment is not None:
            now, fate = self._clock.now(), Fate.SETTLED if payment.tx_id in settlement.hashes else Fate.OVERTAKEN
            await self._ledger.mark_paid(claim, payment, worker=self._worker, now=now)
            await self._settlements.close(settlement, fate, now=now)

    async def _follow_abandoned(self, settlement: Settlement) -> None:
        """Follow a settlement whose claim is gone, so that its nonce does not hold up the next ones."""
        _, transaction = await self._find_newest(settlement)
        if transaction.status in _UNMINED_STATUSES:
            await self._push(settlement, transaction.status)
        elif transaction.final:
            await self._settlements.close(
                settlement, await self._fate_of(settlement, transaction), now=self._clock.now()
            )

    async def _fate_of(self, settlement: Settlement, transaction: ObservedTransaction) -> Fate:
        """Return what became of a settlement that is final and has no claim."""
        if transaction.status is TxStatus.CONFIRMED:
            return Fate.SETTLED
        token = Token.parse(settlement.token)
        since = 0 if token is None else token.unix - AGE_SKEW_SECONDS
        use = await self.lane.find_use(read_authorization(settlement), since)
        return Fate.OVERTAKEN if use.is_used and not use.is_cancelled else Fate.FAILED

    @staticmethod
    def _refusal(code: str, proof: PresentedProof) -> PaymentRefused:
        return PaymentRefused(code, "", proof.terms.caip2)


def read_authorization(settlement: Settlement) -> Authorization:
    """Return the authorization that a settlement settles."""
    members = orjson.loads(settlement.authorization)
    return Authorization.from_members(members, members["signature"])


def _authorization_of(proof: PresentedProof) -> Authorization:
    assert proof.authorization is not None  # noqa: S101 - `proof` above made it
    return proof.authorization


def _raise_fee(fee: int) -> int:
    """Return the fee of a replacement: an eighth higher, since nodes refuse less than a tenth."""
    return fee + fee // 8 + 1
