"""The weld: whether what a chain shows pays one live challenge (profile 5.5).

Each rule is one function and one line of a table; the first that does not hold names the refusal. The order is the
profile's, so that a client is told the first thing that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.protocol.challenge import Terms, Token
from reference.protocol.observed import ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import PaymentRefused

AGE_SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Claim:
    """A transaction held against the challenge it is said to pay."""

    seen: ObservedTransaction
    terms: Terms
    token: Token
    ttl: int

    @property
    def transfer(self) -> Transfer | None:
        """The transfer that is judged: the transaction's only top-level one."""
        return self.seen.transfers[0] if len(self.seen.transfers) == 1 else None


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment that welds: who paid."""

    payer: str


def is_known(claim: Claim) -> bool:
    """The node knows the transaction."""
    return claim.seen.status is not TxStatus.ABSENT


def has_not_failed(claim: Claim) -> bool:
    """The chain did not reject it."""
    return claim.seen.status is not TxStatus.FAILED


def is_final(claim: Claim) -> bool:
    """It is in a block that the network's own rule no longer undoes."""
    return claim.seen.status is TxStatus.CONFIRMED and claim.seen.final


def is_not_older(claim: Claim) -> bool:
    """Its block is no older than the challenge, a minute of skew allowed."""
    return claim.seen.block_time >= claim.token.unix - AGE_SKEW_SECONDS


def is_not_later(claim: Claim) -> bool:
    """Its block is no later than the challenge's end, a minute of skew allowed.

    A claim keeps its right beyond the lifetime (P-ST-01), for a payment that was made in time and not for one that is
    made afterwards on a transaction id named in advance.
    """
    return claim.seen.block_time <= claim.token.unix + claim.ttl + AGE_SKEW_SECONDS


def is_plain_transfer(claim: Claim) -> bool:
    """It is a top-level transfer that the holder made himself: no clawback (P-LN-09)."""
    return claim.transfer is not None and not claim.transfer.clawback


def is_right_asset(claim: Claim) -> bool:
    """It moves the asset the challenge asks for, by id."""
    return claim.transfer is not None and claim.transfer.asset == claim.terms.asset


def is_to_payee(claim: Claim) -> bool:
    """It credits the challenge's payee."""
    return claim.transfer is not None and claim.transfer.receiver == claim.terms.pay_to


def is_enough(claim: Claim) -> bool:
    """Its plain amount, without a close-out, reaches the price (P-LN-02, P-LN-09)."""
    return claim.transfer is not None and claim.transfer.value >= int(claim.terms.amount)


def note_is_token(claim: Claim) -> bool:
    """Algorand's weld: the note is the token's UTF-8 bytes, exactly."""
    return claim.seen.note == claim.token.text.encode()


Rule = Callable[[Claim], bool]

# Rules are looked up by name when a payment is judged, so that each can be replaced from outside, alone.
NOTE_BINDING: tuple[tuple[str, str], ...] = (
    ("is_known", "tx_not_found"),
    ("has_not_failed", "tx_failed"),
    ("is_final", "tx_not_confirmed"),
    ("is_not_older", "payment_too_old"),
    ("is_not_later", "challenge_expired"),
    ("is_plain_transfer", "unsupported_transaction"),
    ("is_right_asset", "wrong_asset"),
    ("is_to_payee", "wrong_recipient"),
    ("is_enough", "wrong_amount"),
    ("note_is_token", "weld_mismatch"),
)


def judge(rules: tuple[tuple[str, str], ...], claim: Claim, tx_id: str) -> Payment:
    """Return the payment when every rule holds.

    Args:
        rules: (name of a rule of this module, code of its refusal), in order.
        claim: What was seen, beside what was asked for.
        tx_id: The transaction, canonical, for the refusal.

    Raises:
        PaymentRefused: The first rule that does not hold, by its code.
    """
    for name, code in rules:
        rule: Rule = globals()[name]
        if not rule(claim):
            raise PaymentRefused(code, tx_id, claim.terms.caip2)
    return Payment(claim.transfer.sender if claim.transfer else claim.seen.sender)
