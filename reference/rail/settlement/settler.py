"""Settling: the rail sends what a payer authorized, from its own account, once (P-LN-03, P-LN-07, P-LN-08).

The chain, not this process, knows whether an authorization was used. So each step asks first and acts after, and any
worker may do any step at any time: after a crash, beside another worker, or from the tending loop. What was signed is
written down before it is sent; what is mined and final ends it.

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
from reference.protocol.observed import ABSENT, ObservedTransaction, TxStatus
from reference.protocol.proof import AuthorizedProof, Proof
from reference.protocol.refusals import PaymentRefused
from reference.protocol.weld import AGE_SKEW_SECONDS, Payment
from reference.rail.claims.leases import LeaseWatch
from reference.rail.claims.presented_proof import PresentedProof, in_progress
from reference.rail.settings import RailSettings
from reference.store.database import Change
from reference.store.redemption_rows import Redemption
from reference.store.redemptions import Redemptions, build_hold
from reference.store.settlements import Fate, NonceTaken, Settlement, Settlements, TokenTaken, build_close
from reference.web.clock import WpClock
from reference.web.logs import get_logger
from reference.web.process.shutdown import ENDING

_log = get_logger()
FAILURES_REMEMBERED = 3600
_POLL_SECONDS = 0.1
_MOST_FEES = 8  # times what the node asks for: nobody pays more to be in a block, however long it takes
_FOR_EVER = 2**53  # a payer may name any 256-bit time; a database may not keep it
_WAITING = frozenset({TxStatus.ABSENT, TxStatus.PENDING})


class SettlingPaymentSource:
    """Collects on a lane where the rail sends the transaction."""

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
        self._failed = 0
        # By token, what calls of this worker wait for.
        self._awaited: dict[str, Settlement] = {}

    # Steps 6 and 12.

    def presented(self, proof: Proof, token: Token, terms: Terms) -> PresentedProof:
        """Read an authorized proof."""
        if not isinstance(proof, AuthorizedProof) or proof.network not in {None, terms.caip2}:
            raise PaymentRefused("lane_mismatch", network=terms.caip2)
        one = proof.authorization
        key = redemption.authorized_payment_key(terms.caip2, terms.asset, one.payer, one.nonce)
        return PresentedProof(token, terms, "", key, one)

    def check(self, presented: PresentedProof, *, is_used: bool = False) -> None:
        """Judge the authorization offline."""
        eip3009.judge_offline(
            eip3009.AuthorizationOffer(
                authorization=_authorization(presented),
                terms=presented.terms,
                token=presented.token.text,
                domain=self.lane.domain,
                now=self._clock.now(),
            ),
            is_used=is_used,
        )

    async def received(self, presented: PresentedProof) -> Payment | None:
        """Ask the asset whether the authorization was used, by any sender, and what that moved."""
        use = await self._use_of(presented)
        if not use.used or use.cancelled:
            return None
        terms = replace(presented.terms, amount=str(_authorization(presented).value))
        try:
            payment = None if use.tx_id is None else await self._foreign(use.tx_id, replace(presented, terms=terms))
        except PaymentRefused:  # it was used, and did not pay this challenge
            return None
        if payment is None:
            raise self._refusal("tx_not_confirmed", presented)
        return payment

    def presented_by(self, claim: Redemption) -> PresentedProof:
        """Read a claim: its payment key names payer and nonce, and the signature is not needed any more."""
        token = Token.parse(claim.token)
        assert token is not None  # noqa: S101 - only parsed tokens are claimed
        caip2, asset, payer, nonce = claim.payment_key.split("|")
        terms = Terms(claim.network, caip2, asset, claim.amount, claim.pay_to)
        authorization = Authorization(payer, claim.pay_to.lower(), int(claim.amount), 0, 0, nonce, "")
        return PresentedProof(token, terms, "", claim.payment_key, authorization)

    # Step 14.

    async def collect(self, presented: PresentedProof, claim: Redemption) -> Payment:
        """Settle, or go on with a settlement that was begun, and wait a while for it to be final (P-ER-05)."""
        ends = time.monotonic() + self._settings.rail_confirm_wait
        try:
            while (payment := await self._step(presented, claim)) is None:
                left = ends - time.monotonic()
                if left <= 0 or ENDING.is_told:
                    raise await self._pending(presented)
                await ENDING.pause(min(left, self._pause(presented)))
        except BaseException:
            self._awaited.pop(presented.token.text, None)
            raise
        return payment

    def closing(self, presented: PresentedProof, payment: Payment) -> Sequence[Change]:
        """Close what a call has seen final together with its row; what another call waited for, `tend` closes."""
        sent = self._awaited.pop(presented.token.text, None)
        if sent is None or payment.tx_id not in sent.hashes:
            return ()
        return (build_close(sent, Fate.SETTLED, now=self._clock.now()),)

    def _pause(self, presented: PresentedProof) -> float:
        """Return for how long nobody need look: until the transaction may be final, by the pace of its chain."""
        sent = self._awaited.get(presented.token.text)
        due = (None if sent is None else self.lane.final_in(sent.hashes[-1])) or _POLL_SECONDS
        return min(self._settings.chain_poll_seconds, max(_POLL_SECONDS, due))

    async def _pending(self, presented: PresentedProof) -> PaymentRefused:
        on_its_way = await self._settlements.open_for(presented.token.text)
        tx_id = on_its_way.hashes[-1] if on_its_way else ""
        return PaymentRefused("tx_not_confirmed", tx_id, presented.terms.caip2)

    async def _step(self, presented: PresentedProof, claim: Redemption) -> Payment | None:
        """Do what is next and return the payment when it is final; None when there is something to wait for."""
        on_its_way = await self._settlements.open_for(presented.token.text)
        if on_its_way is not None and on_its_way.payment_key != presented.payment_key:
            raise in_progress()  # at most one submission a token (P-ST-08); this payer is not charged
        if on_its_way is not None:
            self._awaited[on_its_way.token] = on_its_way
            return await self._follow(on_its_way, presented)
        outlook = await self.lane.outlook(_authorization(presented), self._account.address)
        if not outlook.used:
            await self._submit(presented, claim, outlook)
            return None
        use = await self._use_of(presented)
        if use.cancelled:
            raise self._refusal("authorization_used", presented)
        return None if use.tx_id is None else await self._foreign(use.tx_id, presented)

    async def _follow(self, sent: Settlement, presented: PresentedProof) -> Payment | None:
        """Go on with a settlement that was sent: look for it, and push it when it does not come.

        One that moved the money stays open: `tend` closes it once the row is paid, so that no crash comes between.
        """
        tx_id, seen = await self._newest(sent)
        if seen.status in _WAITING:
            await self._push(sent, seen.status)
            return None
        if not seen.final:
            return None
        if seen.status is TxStatus.CONFIRMED:
            return self._judged(tx_id, seen, presented)
        return await self._after_failure(sent, presented)

    async def _after_failure(self, sent: Settlement, presented: PresentedProof) -> Payment | None:
        """Tell why our transaction failed: overtaken by a stranger's that paid, or nothing moved."""
        use = await self._use_of(presented)
        if use.used and not use.cancelled:
            return None if use.tx_id is None else await self._foreign(use.tx_id, presented)
        await self._settlements.close(sent, Fate.FAILED, now=self._clock.now())
        raise self._refusal("authorization_used" if use.cancelled else await self._reason(presented), presented)

    async def _use_of(self, presented: PresentedProof) -> Use:
        return await self.lane.use_of(_authorization(presented), presented.token.unix - AGE_SKEW_SECONDS)

    async def _reason(self, presented: PresentedProof) -> str:
        told = await self.lane.try_settlement(_authorization(presented), self._account.address)
        return "settlement_failed" if told is None else eip3009.refusal_code(told)

    async def _foreign(self, tx_id: str, presented: PresentedProof) -> Payment | None:
        """Judge the transaction that used the authorization, whoever sent it."""
        seen = await self.lane.observe(tx_id)
        if seen.status is not TxStatus.CONFIRMED or not seen.final:
            return None
        return self._judged(tx_id, seen, presented)

    def _judged(self, tx_id: str, seen: ObservedTransaction, presented: PresentedProof) -> Payment:
        """Return the payment when the transaction's logs show it.

        Raises:
            PaymentRefused: `authorization_used`: it was used, and not to pay this challenge.
        """
        authorization = _authorization(presented)
        transfer = eip3009.settling_transfer(seen, authorization, presented.terms)
        if transfer is None:
            raise PaymentRefused("authorization_used", tx_id, presented.terms.caip2)
        key = redemption.transfer_key(presented.terms.caip2, tx_id, transfer.ordinal)
        return Payment(authorization.payer, tx_id, key, transfer.ordinal, transfer.value)

    async def _newest(self, sent: Settlement) -> tuple[str, ObservedTransaction]:
        """Return whichever transaction with this nonce was mined, else one that waits, else that there is none."""
        waiting = (sent.hashes[-1], ABSENT)
        for tx_id in reversed(sent.hashes):
            seen = await self.lane.observe(tx_id)
            if seen.status not in _WAITING:
                return tx_id, seen
            if seen.status is TxStatus.PENDING:
                waiting = (tx_id, seen)
        return waiting

    # Sending.

    async def _submit(self, presented: PresentedProof, claim: Redemption, outlook: Outlook) -> None:
        """Send a settlement, once the contract says that it would succeed.

        Raises:
            PaymentRefused: It would not, or this payer's settlements, or those of all, failed too often.
        """
        self.check(presented)  # also of a claim that was made a while ago: what is late now would fail in its block
        await self._refuse_griefer(presented)
        if outlook.refusal is not None:
            if (code := eip3009.refusal_code(outlook.refusal)) == "authorization_used":
                return  # used since we asked: the next step sees by what
            raise self._refusal(code, presented)
        await self._refuse_unproven(presented)
        if outlook.wei < self._account.gas_limit * outlook.fees.most:
            raise ChainUnavailable("the settler's account cannot pay for gas")
        sent = await self._reserved(presented, claim, outlook)
        self._awaited[sent.token] = sent
        # At the node's own count nothing of this account is to be sent before it.
        await (self.lane.send(sent.raw) if sent.nonce == outlook.nonce else self._send(sent))

    async def _refuse_griefer(self, presented: PresentedProof) -> None:
        """Refuse a payer whose settlements failed on the chain too often, at the rail's cost (P-LN-08)."""
        most = self._settings.rail_payer_failures
        since = self._clock.now() - FAILURES_REMEMBERED
        payer, caip2 = _authorization(presented).payer, presented.terms.caip2
        if most and await self._settlements.failures(caip2, payer, since=since) >= most:
            raise self._refusal("settlement_failed", presented)

    async def _refuse_unproven(self, presented: PresentedProof) -> None:
        """Bound what settlements of all payers cost the rail, where each fails by an account of its own (P-LN-08).

        Beyond the bound a payer is settled who has paid before; and up to twice the bound one who held the price in a
        safe block, which an account that is made for the purpose does not.
        """
        most, failed = self._settings.rail_failures, self._failed
        authorization = _authorization(presented)
        if not most or failed < most:
            return
        if await self._settlements.has_settled(presented.terms.caip2, authorization.payer):
            return
        if failed >= 2 * most or not await self.lane.held_before(authorization):
            raise self._refusal("settlement_failed", presented)

    async def _reserved(self, presented: PresentedProof, claim: Redemption, outlook: Outlook) -> Settlement:
        """Take a nonce, whoever else takes one now, write down what is sent with it, and hold the claim meanwhile.

        Raises:
            Refused: 409: a settlement for this token is on its way.
        """
        authorization = _authorization(presented)
        caip2, settler = presented.terms.caip2, self._account.address
        fees, held = outlook.fees, build_hold(claim.id, until=min(authorization.valid_before, _FOR_EVER))
        while True:
            nonce = await self._settlements.free_nonce(caip2, settler, at_least=outlook.nonce)
            raw, tx_id = self._signed(authorization, nonce, fees)
            new = Settlement(
                caip2=caip2,
                settler=settler,
                nonce=nonce,
                token=presented.token.text,
                payment_key=presented.payment_key,
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
                await self._settlements.reserve(new, held)
            except NonceTaken:
                continue
            except TokenTaken as fault:
                raise in_progress() from fault
            return new

    def _signed(self, authorization: Authorization, nonce: int, fees: Fees) -> tuple[bytes, str]:
        return self._account.sign(
            chain_id=self.lane.domain.chain_id,
            nonce=nonce,
            to=self.lane.facts.network.asset_id,
            data=self.lane.settlement_call(authorization),
            fees=fees,
        )

    async def _push(self, sent: Settlement, status: TxStatus) -> None:
        """Send again what the node has lost, or replace what is stuck (P-LN-07).

        What an earlier account of the operator sent can be sent again, but not signed again.
        """
        stuck = self._clock.now() - sent.sent_at >= self._settings.rail_stuck_seconds
        fees = await self._higher_fees(sent) if stuck and sent.settler == self._account.address else None
        if fees is not None:
            replaced = await self._replaced(sent, fees)
            if replaced is not None:
                await self._send(replaced)
        elif status is TxStatus.ABSENT:
            await self._send_again(sent)

    async def _higher_fees(self, sent: Settlement) -> Fees | None:
        """Return what a node takes for a replacement; None when the fee is not what keeps it out of blocks."""
        asked = await self.lane.fees()
        fees = Fees(max(asked.most, _raised(sent.fee)), max(asked.tip, _raised(sent.tip)))
        return fees if fees.most <= _MOST_FEES * asked.most else None

    async def _send_again(self, sent: Settlement) -> None:
        """Send what is in no block and no pool, unless its nonce went to something else meanwhile."""
        if await self.lane.nonce(sent.settler, pending=False) <= sent.nonce:
            await self._send(sent)
        elif (await self._newest(sent))[1].status is TxStatus.ABSENT:
            await self._settlements.close(sent, Fate.VOID, now=self._clock.now())

    async def _replaced(self, sent: Settlement, fees: Fees) -> Settlement | None:
        """Write down a replacement with the same nonce and a higher fee; None when another worker did."""
        authorization = read_authorization(sent)
        raw, tx_id = self._signed(authorization, sent.nonce, fees)
        now = self._clock.now()
        if not await self._settlements.replace(sent, raw=raw, tx_id=tx_id, fee=fees.most, tip=fees.tip, now=now):
            return None
        hashes = (*sent.hashes, tx_id)
        return replace(sent, raw=raw, hashes=hashes, fee=fees.most, tip=fees.tip, attempt=sent.attempt + 1, sent_at=now)

    async def _send(self, sent: Settlement) -> None:
        """Hand a settlement to the node, and before it whatever a reorganisation has taken from the same account.

        That is on its way again: should its fee be too low by now, it is replaced like any other.
        """
        count = await self.lane.nonce(sent.settler, pending=True)
        for earlier in await self._settlements.between(sent.caip2, sent.settler, count, sent.nonce - 1):
            if earlier.fate is not Fate.OPEN:
                await self._settlements.reopen(earlier)
            await self.lane.send(earlier.raw)
        await self.lane.send(sent.raw)

    # Besides calls.

    async def look(self, claim: Redemption) -> Payment | None:
        """Return what another sender settled.

        Raises:
            PaymentRefused: `tx_not_confirmed`: what the rail sent for the claim is on its way, and `tend` follows it.
        """
        presented = self.presented_by(claim)
        if await self._settlements.open_for(claim.token) is not None:
            raise self._refusal("tx_not_confirmed", presented)
        return await self.received(presented)

    async def is_known(self, claim: Redemption) -> bool:
        """A claim for which something was sent counts as known to the chain (P-ST-08)."""
        return claim.held_until is not None

    async def tend(self) -> None:
        """Follow what was sent, whether or not its client comes back: money that moved is marked as paid.

        One that the node refuses, as of an account that was emptied since, holds up no other.

        Raises:
            ChainUnavailable: The node could not be asked.
        """
        caip2 = self.lane.facts.network.caip2
        failures = await self._settlements.all_failures(since=self._clock.now() - FAILURES_REMEMBERED)
        self._count_failed(failures.get(caip2, 0))
        for sent in await self._settlements.open_on(caip2):
            try:
                await self._tend(sent)
            except ChainUnavailable:
                await self.lane.fees()  # a node that is away ends the round

    def _count_failed(self, failed: int) -> None:
        most = self._settings.rail_failures
        if most and (failed >= most) != (self._failed >= most):
            event = "settlements_bounded" if failed >= most else "settlements_unbounded"
            _log.warning(event, network=self.lane.facts.network.key, failed=failed)
        self._failed = failed

    async def _tend(self, sent: Settlement) -> None:
        claims = await self._ledger.find_involved(sent.token, sent.payment_key)
        claim = next((one for one in claims if one.payment_key == sent.payment_key), None)
        if claim is None:
            await self._abandoned(sent)
        elif self._watch.has_run_out(claim) and await self._ledger.take_lease(claim, worker=self._worker):
            try:
                await self._tend_claim(sent, claim)
            finally:
                await self._ledger.release(claim.id, worker=self._worker)

    async def _tend_claim(self, sent: Settlement, claim: Redemption) -> None:
        try:
            payment = await self._follow(
                sent, replace(self.presented_by(claim), authorization=read_authorization(sent))
            )
        except PaymentRefused:
            await self._ledger.drop_unpaid(claim.id)
            return
        if payment is not None:
            now, fate = self._clock.now(), Fate.SETTLED if payment.tx_id in sent.hashes else Fate.OVERTAKEN
            await self._ledger.mark_paid(claim, payment, worker=self._worker, now=now)
            await self._settlements.close(sent, fate, now=now)

    async def _abandoned(self, sent: Settlement) -> None:
        """Follow a settlement whose claim is gone, so that its nonce does not hold up the next ones."""
        _, seen = await self._newest(sent)
        if seen.status in _WAITING:
            await self._push(sent, seen.status)
        elif seen.final:
            await self._settlements.close(sent, await self._fate_of(sent, seen), now=self._clock.now())

    async def _fate_of(self, sent: Settlement, seen: ObservedTransaction) -> Fate:
        """Return what became of a settlement that is final and has no claim."""
        if seen.status is TxStatus.CONFIRMED:
            return Fate.SETTLED
        token = Token.parse(sent.token)
        since = 0 if token is None else token.unix - AGE_SKEW_SECONDS
        use = await self.lane.use_of(read_authorization(sent), since)
        return Fate.OVERTAKEN if use.used and not use.cancelled else Fate.FAILED

    @staticmethod
    def _refusal(code: str, presented: PresentedProof) -> PaymentRefused:
        return PaymentRefused(code, "", presented.terms.caip2)


def read_authorization(sent: Settlement) -> Authorization:
    """Return the authorization that a settlement settles."""
    members = orjson.loads(sent.authorization)
    return Authorization.from_members(members, members["signature"])


def _authorization(presented: PresentedProof) -> Authorization:
    assert presented.authorization is not None  # noqa: S101 - `presented` above made it
    return presented.authorization


def _raised(fee: int) -> int:
    """Return a fee that a node takes as a replacement's: an eighth higher."""
    return fee + fee // 8 + 1
