"""Mutants of tokens and of single use: each drops one rule of specification 5.4, 5.7 or 5.8."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

from reference.protocol import challenge, networks, weld
from reference.protocol.challenge import Mint
from reference.protocol.redemption import State
from reference.rail import challenges
from reference.rail.challenges import Call, Challenges
from reference.rail.redemption import Redeemer, Served
from reference.store.redemption_rows import Redemption
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace, replace_rule


def _no_lifetime() -> None:
    replace(challenge, "is_live", lambda _: lambda token, *, now, ttl: True)  # noqa: ARG005 - the seam's shape
    replace_rule(weld, weld.is_not_later, lambda claim: True)  # noqa: ARG005 - the seam's shape


def _any_first_half() -> None:
    def careless(_: Callable[..., Any]) -> Callable[..., Any]:
        def issued_for(self: Mint, token: Any, generations: Any) -> Any:  # noqa: ARG001 - the seam's shape
            return next((generation.terms for generation in generations), None)

        return issued_for

    replace(Mint, "issued_for", careless)


def _any_request() -> None:
    replace(Mint, "binds", lambda _: lambda self, token, *, service_id, request_hash: True)  # noqa: ARG005 - same


def _query_unbound() -> None:
    original = Call.of.__func__  # type: ignore[attr-defined]
    Call.of = classmethod(lambda cls, service, body, query, canonical=None: original(cls, service, body, ""))  # type: ignore[assignment,method-assign]  # noqa: ARG005


def _body_unbound() -> None:
    original = Call.of.__func__  # type: ignore[attr-defined]
    Call.of = classmethod(lambda cls, service, body, query, canonical=None: original(cls, service, {}, query))  # type: ignore[assignment,method-assign]  # noqa: ARG005


def _optional_unbound() -> None:
    original = Call.of.__func__  # type: ignore[attr-defined]
    left_out = {"amount_microunits", "asset", "expected_payment_hash", "now"}

    def of(cls: type[Call], service: Any, body: Any, query: str, canonical: bytes | None = None) -> Call:
        whole: Call = original(cls, service, body, query, canonical)
        bare = {name: value for name, value in body.items() if name not in left_out}
        return dataclasses.replace(whole, request_hash=original(cls, service, bare, query).request_hash)

    Call.of = classmethod(of)  # type: ignore[assignment,method-assign]


def _runs_again() -> None:
    """A spent payment runs the service once more, with a receipt of its own; for those who waited, too."""

    async def spent_row(self: Redeemer, presented: Any, call: Call) -> Redemption | None:
        rows = await self._ledger.involved(presented.token.text, presented.payment_key)
        return next((row for row in rows if row.state is State.SPENT and row.request_hash == call.request_hash), None)

    def generous(redeem: Callable[..., Any]) -> Callable[..., Any]:
        async def redeemed(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
            while (spent := await spent_row(self, presented, call)) is None:
                served: Served = await redeem(self, presented, call, request)
                if not served.replayed:
                    return served
            answer = self.signer.answer(spent, call.service, request)
            return Served(answer.body, answer.payment_response, replayed=False)

        return redeemed

    replace(Redeemer, "redeem", generous)


def _looks_then_acts() -> None:
    """Whether a payment was used is looked up, and written down only after the service ran."""
    used: dict[str, Served] = {}

    def racing(_: Callable[..., Any]) -> Callable[..., Any]:
        async def redeemed(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
            self.eligibility.refuse_other_request(presented, call)
            self.eligibility.refuse_expired(presented)
            if presented.payment_key in used:
                return used[presented.payment_key]
            row = row_of(self, presented, call, "")
            payment = await self._collector(presented).collect(presented, row)
            row = dataclasses.replace(row, payer=payment.payer, tx_id=payment.tx_id)
            answer = self.signer.answer(row, call.service, request)
            used[presented.payment_key] = Served(answer.body, answer.payment_response, replayed=True)
            return Served(answer.body, answer.payment_response, replayed=False)

        return redeemed

    replace(Redeemer, "redeem", racing)


def _keyed_by_text() -> None:
    """A transaction is known again by the text of its id, and a node takes several spellings of one."""
    used: dict[str, Served] = {}
    one_at_a_time = asyncio.Lock()

    def textual(redeem: Callable[..., Any]) -> Callable[..., Any]:
        async def redeemed(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
            async with one_at_a_time:
                if presented.payment_key not in used and await _is_spent(self, presented):
                    payment = await self._collector(presented).collect(presented, row_of(self, presented, call, ""))
                    row = dataclasses.replace(row_of(self, presented, call, payment.payer), tx_id=payment.tx_id)
                    answer = self.signer.answer(row, call.service, request)
                    used[presented.payment_key] = Served(answer.body, answer.payment_response, replayed=False)
                    return used[presented.payment_key]
                served: Served = await redeem(self, presented, call, request)
                used[presented.payment_key] = served
                return served

        return redeemed

    replace(networks, "canonical_tx_id", lambda _: lambda network, text: text)  # noqa: ARG005 - the seam's shape
    replace(Redeemer, "redeem", textual)


async def _is_spent(self: Redeemer, presented: Any) -> bool:
    rows = await self._ledger.involved(presented.token.text, presented.payment_key)
    return any(row.state is State.SPENT for row in rows)


def row_of(self: Redeemer, presented: Any, call: Call, payer: str) -> Redemption:
    """Return the row that a paid claim would have."""
    now = self._clock.now()
    return Redemption(
        id=0,
        token=presented.token.text,
        payment_key=presented.payment_key,
        request_hash=call.request_hash,
        service_id=call.service.id,
        network=presented.terms.network,
        tx_id=presented.tx_id,
        amount=presented.terms.amount,
        pay_to=presented.terms.pay_to,
        claimed_at=now,
        expires_at=now,
        lease=None,
        lease_counter=0,
        payer=payer,
        paid_at=now,
        spent_at=None,
        answer=None,
        payment_response=None,
    )


def _any_claimant() -> None:
    """A spent payment's answer goes to whoever presents the payment, for whatever request."""

    def forgiving(_: Callable[..., Any]) -> Callable[..., Any]:
        async def redeemed(self: Redeemer, presented: Any, call: Call, request: Any) -> Served:
            rows = await self._ledger.involved(presented.token.text, presented.payment_key)
            spent = next((row for row in rows if row.state is State.SPENT), None)
            if spent is not None and spent.request_hash != call.request_hash:
                answer = self.signer.answer(spent, call.service, request)
                return Served(answer.body, answer.payment_response, replayed=False)
            served: Served = await original(self, presented, call, request)
            return served

        return redeemed

    original = Redeemer.redeem
    replace(Redeemer, "redeem", forgiving)


def _same_token_again() -> None:
    """Refusals hand out one challenge again and again."""
    kept: dict[tuple[str, str], bytes] = {}

    def stale(issue: Callable[..., Any]) -> Callable[..., Any]:
        def issued(self: Challenges, call: Call, *, error: str, **named: Any) -> Any:
            if error == "payment_required":
                return issue(self, call, error=error, **named)
            key = (self.service.id, call.request_hash)
            if key not in kept:
                kept[key] = issue(self, call, error="@kept@", **named).body
            return challenges.Challenge(kept[key].replace(b"@kept@", error.encode(), 1))

        return issued

    replace(Challenges, "issue", stale)


MUTANTS = (
    Mutant("challenge-for-ever", "a challenge stops being payable after its lifetime (5.4)", _no_lifetime),
    Mutant("token-edited", "the token is one the rail made, as it made it (5.4, half A)", _any_first_half),
    Mutant("request-unbound", "a token is for one request (5.4, half B)", _any_request),
    Mutant("query-unbound", "the query is part of the request (P-RH-01)", _query_unbound),
    Mutant("body-unbound", "the body is part of the request (P-RH-01)", _body_unbound),
    Mutant("optional-members-unbound", "the whole body is part of the request (P-RH-01)", _optional_unbound),
    Mutant("spent-runs-again", "a spent payment buys no second execution (P-ST-04)", _runs_again),
    Mutant("looks-then-acts", "one statement decides who redeems (step 14b)", _looks_then_acts),
    Mutant("keyed-by-text", "a transaction has one canonical id (P-NW-04)", _keyed_by_text),
    Mutant("spent-serves-others", "a spent payment buys nothing for another request (step 9)", _any_claimant),
    Mutant("token-reused", "every refusal carries fresh tokens (P-ER-01)", _same_token_again),
)
