"""Mutants of the Base lane: each drops one rule of specification 5.5, P-LN-03 or P-LN-10.

What the token's contract itself refuses cannot be settled by any rail. So a mutant that drops such a rule also takes
the authorization for paid where the settlement was refused, as a rail does that trusts what it did not check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from reference.protocol import eip3009
from reference.protocol.eip3009 import Authorization, Domain, Offered
from reference.protocol.networks import NETWORKS
from reference.protocol.observed import Transfer
from reference.protocol.refusals import PaymentRefused
from reference.protocol.weld import Payment
from reference.rail.collecting import Presented
from reference.rail.refusal_notes import OF_THE_WINDOW, RefusalNotes
from reference.rail.settlement import SettlingPaymentSource
from reference.store.settlements import Fate
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import Rule, replace, replace_rule


def _always(*_: object) -> bool:
    return True


def _dropped(*rules: Rule) -> None:
    for rule in rules:
        replace_rule(eip3009, rule, _always)


def _forgiven(*codes: str) -> None:
    """Take an authorization for paid whose settlement is refused for one of these reasons."""

    def forgiving(collect: Callable[..., Any]) -> Callable[..., Any]:
        async def collected(self: SettlingPaymentSource, presented: Presented, claim: Any) -> Payment:
            try:
                payment: Payment = await collect(self, presented, claim)
            except PaymentRefused as refusal:
                if refusal.code not in codes:
                    raise
            except ValueError:  # a signature of another form, which no call can carry
                pass
            else:
                return payment
            return _unseen(presented)

        return collected

    replace(SettlingPaymentSource, "collect", forgiving)


def _unseen(presented: Presented) -> Payment:
    """Return a payment in a transaction that is in no block, another one for each challenge: one for all buys once."""
    return Payment(_payer(presented), "0x" + hashlib.sha256(presented.token.text.encode()).hexdigest())


def _payer(presented: Presented) -> str:
    return presented.authorization.payer if presented.authorization else ""


def _pays_in_any_token(transfer: Transfer, authorization: Authorization, terms: Any) -> bool:
    wanted = (authorization.payer, terms.pay_to.lower(), int(terms.amount))
    return (transfer.sender, transfer.receiver, transfer.value) == wanted


def _any_log() -> None:
    replace(eip3009, "follows", lambda _: _always)


def _any_log_for_many() -> None:
    """Any transfer of the transaction counts, and one that was counted counts again."""
    _any_log()

    def unmarked(judged: Callable[..., Any]) -> Callable[..., Any]:
        def judge(*args: Any) -> Payment:
            payment = judged(*args)
            return Payment(payment.payer, payment.tx_id)

        return judge

    replace(SettlingPaymentSource, "_judged", unmarked)


def _any_token() -> None:
    _any_log()
    replace(eip3009, "pays", lambda _: _pays_in_any_token)


def _any_domain() -> None:
    """A signature for the asset of any network counts."""

    def signed(offered: Offered) -> bool:
        domains = [
            Domain(one.eip712_name, one.eip712_version, int(one.caip2.partition(":")[2]), one.asset_id)
            for one in NETWORKS.values()
            if one.eip712_name
        ]
        given = offered.authorization
        return eip3009.is_signed(offered) or any(eip3009.signer(one, given) == given.payer for one in domains)

    replace_rule(eip3009, eip3009.is_signed, signed)
    _forgiven("invalid_signature")


def _unsettled() -> None:
    """A good authorization is taken for money."""

    def trusting(_: Callable[..., Any]) -> Callable[..., Any]:
        async def collected(self: SettlingPaymentSource, presented: Presented, claim: Any) -> Payment:  # noqa: ARG001 - the seam's shape
            return _unseen(presented)

        return collected

    replace(SettlingPaymentSource, "collect", trusting)


def _sent_is_paid() -> None:
    """What was handed to the node is taken for mined."""

    def impatient(step: Callable[..., Any]) -> Callable[..., Any]:
        async def stepped(self: SettlingPaymentSource, presented: Presented, claim: Any) -> Payment | None:
            payment: Payment | None = await step(self, presented, claim)
            sent = await self._settlements.open_for(presented.token.text)
            if payment is None and sent is not None:
                return Payment(_payer(presented), sent.hashes[-1])
            return payment

        return stepped

    replace(SettlingPaymentSource, "_step", impatient)


def _window_in_64_bits() -> None:
    """Whether a settlement that waits can still be mined is judged by the low 64 bits of `validBefore`, signed."""

    def narrow(step: Callable[..., Any]) -> Callable[..., Any]:
        async def stepped(self: SettlingPaymentSource, presented: Presented, claim: Any) -> Payment | None:
            sent = await self._settlements.open_for(presented.token.text)
            payment: Payment | None = await step(self, presented, claim)
            if payment is None and sent is not None and presented.authorization is not None:
                low = presented.authorization.valid_before % 2**64
                if (low - 2**64 if low >= 2**63 else low) < self._clock.now():
                    raise PaymentRefused("authorization_expired", sent.hashes[-1], presented.terms.caip2)
            return payment

        return stepped

    replace(SettlingPaymentSource, "_step", narrow)


def _with(codes: tuple[str, ...], *rules: Rule) -> Callable[[], None]:
    def apply() -> None:
        _dropped(*rules)
        _forgiven(*codes)

    return apply


def _gives_up() -> None:
    """Take a settlement for failed that is in no block yet, and money that it moved later for a stranger's."""

    def pending(_: Callable[..., Any]) -> Callable[..., Any]:
        async def failed(self: SettlingPaymentSource, presented: Presented) -> PaymentRefused:
            sent = await self._settlements.open_for(presented.token.text)
            if sent is not None:
                await self._settlements.close(sent, Fate.FAILED, now=self._clock.now())
            return PaymentRefused("settlement_failed", "", presented.terms.caip2)

        return failed

    def foreign(_: Callable[..., Any]) -> Callable[..., Any]:
        async def used(_: SettlingPaymentSource, tx_id: str, presented: Presented) -> Payment:
            raise PaymentRefused("authorization_used", tx_id, presented.terms.caip2)

        return used

    replace(SettlingPaymentSource, "_pending", pending)
    replace(SettlingPaymentSource, "_foreign", foreign)


def _window_before_use() -> None:
    """Refuse an authorization for its window without asking the chain whether it was used."""

    def unasked(has_received: Callable[..., Any]) -> Callable[..., Any]:
        async def received(self: RefusalNotes, presented: Presented, code: str, service_id: str) -> bool:
            return code not in OF_THE_WINDOW and await has_received(self, presented, code, service_id)

        return received

    replace(RefusalNotes, "has_received", unasked)


MUTANTS = (
    Mutant(
        "base-nonce-unbound",
        "the nonce is keccak256 of the token (5.5, Base)",
        lambda: _dropped(eip3009.nonce_is_bound),
    ),
    Mutant("base-payee-ignored", "the authorization pays payTo (5.5, Base)", lambda: _dropped(eip3009.is_to_payee)),
    Mutant(
        "base-value-ignored", "the authorization's value is the price (P-LN-02)", lambda: _dropped(eip3009.is_exact)
    ),
    Mutant(
        "base-signature-ignored",
        "the signature recovers to the payer (5.5, Base)",
        _with(("invalid_signature", "settlement_failed"), eip3009.is_signed),
    ),
    Mutant("base-any-domain", "the signature is for this asset on this chain (P-NW-03)", _any_domain),
    Mutant(
        "base-expired-serves",
        "the authorization has not expired (5.5, Base)",
        _with(("authorization_expired",), eip3009.lasts_long_enough),
    ),
    Mutant(
        "base-early-serves",
        "the authorization is valid already (5.5, Base)",
        _with(("authorization_not_yet_valid",), eip3009.has_begun),
    ),
    Mutant(
        "base-used-serves",
        "the authorization was not used for something else (P-LN-03)",
        _with(("authorization_used",)),
    ),
    Mutant(
        "base-unfunded-serves",
        "the settlement did not fail (P-LN-03)",
        _with(("insufficient_funds", "settlement_failed")),
    ),
    Mutant("base-unsettled", "a call is served once its authorization is settled (P-LN-03)", _unsettled),
    Mutant("base-window-in-64-bits", "the numbers of an authorization have 256 bits (5.5, Base)", _window_in_64_bits),
    Mutant("base-gives-up", "what was sent is followed until the chain shows what became of it (P-LN-03)", _gives_up),
    Mutant(
        "base-window-before-use",
        "an authorization that was used is not refused for its window (5.5, Base)",
        _window_before_use,
    ),
    Mutant("base-sent-is-paid", "the settlement is in a block (P-LN-03)", _sent_is_paid),
    Mutant("base-any-log", "the Transfer is the log directly after the use (P-LN-10)", _any_log),
    Mutant("base-transfer-shared", "one Transfer pays once (P-LN-03, P-LN-10)", _any_log_for_many),
    Mutant("base-any-token", "the Transfer is of the asset's own contract (P-LN-03)", _any_token),
)
