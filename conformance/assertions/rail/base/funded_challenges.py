"""Challenges on the Base lane with separate funded accounts, whose money only the check itself moves.

On Base an authorization is redeemed by serving the call or by cashing it. So each refused proof is judged twice: by the
answer, and at the end by the balance of its account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.assertions.rail.refusals import judge_refused
from conformance.discovery.rail import Operation
from conformance.engine.check import Case
from conformance.http.client import Answer
from conformance.lanes.base.authorization import Authorization
from conformance.lanes.base.payer import Account, BasePayer
from conformance.lanes.base.token import Token
from conformance.outcome import Inconclusive
from conformance.surfaces.rail.algorand.payments import price_of
from conformance.surfaces.rail.paid_answers import brief, find_goods
from conformance.surfaces.rail.purchase import Challenge, challenge, name_live_values, present, redeem

# Blocks before a balance is read, so that a settlement which was sent together with the answer is included.
_BLOCKS_LATER = 2


async def get_base_payer(case: Case, lane: str | None = None) -> BasePayer:
    """Return the Base payer of a lane: by default the check's lane, or Base if the check has none."""
    payer = await case.session.payers.for_rail(lane or case.check.lane or "base")
    if not isinstance(payer, BasePayer):
        raise Inconclusive("the Base lane has no payer")
    return payer


@dataclass(slots=True)
class FundedChallenge:
    """One challenge, and one account with a known balance for it.

    Attributes:
        quote: The challenge.
        account: The paying account; new, and used for nothing else.
        token: The asset of the challenge.
        expected_balance: The balance that the account must keep if nothing is cashed, in atomic units.
    """

    payer: BasePayer
    quote: Challenge
    account: Account
    token: Token
    expected_balance: int
    judged_rows: list[tuple[str, str]] = field(default_factory=list)
    beyond: str | None = None

    @property
    def entry(self) -> Mapping[str, Any]:
        """The challenge's entry on Base."""
        return self.quote.entry(self.payer.lane)

    @property
    def price(self) -> int:
        """The price in atomic units."""
        return price_of(self.entry)

    @property
    def pay_to(self) -> str:
        """The payee."""
        return str(self.entry["payTo"])

    async def sign(self, **changes: Any) -> Authorization:
        """Return the requested authorization, with `changes` made before it is signed."""
        return await self.payer.authorize(self.entry, self.account, **changes)

    async def present(self, case: Case, payment: Authorization | Mapping[str, Any]) -> Answer:
        """Present a proof for the quoted request and return the answer."""
        proof = dict(_get_members(payment))
        name_live_values(case, proof)
        return await present(case, self.quote.operation, proof, body=self.quote.body)

    async def redeem(self, case: Case, payment: Authorization | Mapping[str, Any]) -> Answer:
        """Present a proof, again as long as the rail says "not yet", and return the last answer."""
        proof = dict(_get_members(payment))
        name_live_values(case, proof)
        return await redeem(case, self.quote.operation, proof, body=self.quote.body)

    async def measure_loss(self) -> int:
        """Return how much less the account has than it should, in atomic units."""
        return self.expected_balance - await self.token.balance(self.account.address)

    async def accept_balance(self) -> None:
        """Accept the present balance as the expected one, because the attack itself has moved money."""
        self.expected_balance = await self.token.balance(self.account.address)


class FundedChallenges:
    """The funded challenges of one check. `audit` judges at its end that no refused proof was cashed."""

    def __init__(self, case: Case, payer: BasePayer) -> None:
        self._case = case
        self.payer = payer
        self._challenges: list[FundedChallenge] = []

    async def open_challenge(
        self,
        operation: Operation,
        *,
        prices: int = 1,
        short: int = 0,
        coin: bool = False,
        account: Account | None = None,
    ) -> FundedChallenge:
        """Return a new challenge with an account that holds `prices` times its price, less `short` units."""
        return await self.fund_challenge(
            await challenge(self._case, operation), prices, short=short, coin=coin, account=account
        )

    async def fund_challenge(
        self, quote: Challenge, prices: int = 1, *, short: int = 0, coin: bool = False, account: Account | None = None
    ) -> FundedChallenge:
        """Return a funded challenge; with `account`, on money that is already there."""
        entry = quote.entry(self.payer.lane)
        token, balance = self.payer.token(entry), max(0, prices * price_of(entry) - short)
        # A new account for each challenge: the money that leaves it can have only one cause.
        if account is None:
            account = await self.payer.new_account(coin=coin, asset=token.address, amount=balance)
        else:
            balance = await token.balance(account.address)
        funded_challenge = FundedChallenge(self.payer, quote, account, token, balance)
        self._challenges.append(funded_challenge)
        return funded_challenge

    async def judge_buys_nothing(
        self,
        row: str | tuple[str, ...],
        funded: FundedChallenge,
        payment: Authorization | Mapping[str, Any],
        payment_name: str,
        *,
        beyond: str | None = None,
    ) -> Answer:
        """Present a proof that must buy nothing, and audit its account later; `beyond`: see `Case.expect`."""
        proof = _get_members(payment)
        funded.beyond = beyond
        funded.judged_rows.extend((one, payment_name) for one in ((row,) if isinstance(row, str) else row))
        return await judge_refused(self._case, row, funded.quote, proof, payment_name, patient=True, beyond=beyond)

    async def judge_free_or_paid(
        self,
        row: str,
        funded: FundedChallenge,
        payment: Authorization | Mapping[str, Any],
        payment_name: str,
        *,
        due: str | None = None,
    ) -> Answer:
        """Present a proof that a target may accept or refuse: if it is served, then only for its price.

        `due` is the reason why a correct reader accepts it, if there is one. A target that refuses it then gets a
        warning. An answer that is not about the spelling, such as a server error or a limit, is not a refusal.
        """
        case = self._case
        answer = await funded.redeem(case, payment)
        # An answer of any status that hands out goods which the challenge did not contain counts as served.
        is_served = answer.status < 300 or bool(
            [one for one in find_goods(case, answer) if one not in find_goods(case, funded.quote.answer)]
        )
        loss = await funded.measure_loss()
        if is_served and loss != funded.price:
            # RAIL-PAY-07 judges whether it was served before its settlement was final. Here only the sum counts.
            await self.payer.wait_for_blocks(_BLOCKS_LATER)
            loss = await funded.measure_loss()
        case.expect(
            row,
            loss == funded.price if is_served else loss == 0,
            "refused and nothing cashed, or served for one price",
            f"{brief(answer)} and {loss} of {funded.price} moved",
            exchange=answer,
            where={"operation": funded.quote.operation.path, "payment": payment_name},
        )
        case.note(f"{payment_name}: {'served' if is_served else 'refused'}, which the interface leaves open")
        if due is not None and (is_served or (400 <= answer.status < 500 and answer.status not in {409, 429})):
            where = {"operation": funded.quote.operation.path, "payment": payment_name}
            case.expect(row, is_served, "served", brief(answer), exchange=answer, where=where, beyond=due)
        await funded.accept_balance()
        return answer

    async def audit(self) -> None:
        """Judge, some blocks later, that no money left the accounts of refused proofs."""
        # Challenges whose proof may be served are judged where they are presented, so the audit leaves them out.
        refused_challenges = [stake for stake in self._challenges if stake.judged_rows]
        if not refused_challenges:
            return
        await self.payer.wait_for_blocks(_BLOCKS_LATER)
        for stake in refused_challenges:
            loss = await stake.measure_loss()
            # One balance for several payments: the account cannot show which of them was cashed, so all are reported.
            for row, payment_name in stake.judged_rows:
                self._case.expect(
                    row,
                    loss == 0,
                    "an authorization that buys nothing is not cashed",
                    f"{loss} of {stake.price} moved" if loss else "nothing moved",
                    where={"operation": stake.quote.operation.path, "payment": payment_name},
                    beyond=stake.beyond,
                )


def _get_members(payment: Authorization | Mapping[str, Any]) -> Mapping[str, Any]:
    return payment.proof() if isinstance(payment, Authorization) else payment
