"""The weld: whether what a chain shows pays one live challenge (5.5).

Each rule is one function and one line of a table; the first that does not hold names the refusal. The order is the
profile's, so that the refusal names the first fault of a proof.
"""

from __future__ import annotations

from collections.abc import Callable

from reference.protocol.challenge import Terms, Token
from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import PaymentRefused
from reference.protocol.transfer_purpose import is_for_links
from reference.records import record

AGE_SKEW_SECONDS = 60


@record
class Claim:
    """A transaction held against the challenge it is said to pay.

    Attributes:
        transaction: What the chain shows.
        terms: What the lane asked.
        token: The challenge token.
        ttl: Lifetime of a challenge in seconds.
        destination: The account that must be credited: the payee, or the payee's associated token account (Solana).
        reference: The account that welds (Solana), else empty.
        service: The service word in lower case, by which a checkout's memos are known (Solana), else empty.
    """

    transaction: ObservedTransaction
    terms: Terms
    token: Token
    ttl: int
    destination: str
    reference: str = ""
    service: str = ""


@record
class Payment:
    """A payment that welds.

    Attributes:
        payer: The payer's address.
        tx_id: The transaction, canonical.
        transfer_key: What makes the very transfer unique where a transaction may hold several (Base), else None.
        ordinal: Place of the transfer in its transaction (P-CK-08).
        value: What it moved, in atomic units; 0 where that is the price and nothing else.
    """

    payer: str
    tx_id: str
    transfer_key: str | None = None
    ordinal: int = 0
    value: int = 0


def is_known(claim: Claim) -> bool:
    """The node knows the transaction."""
    return claim.transaction.status is not TxStatus.ABSENT


def has_not_failed(claim: Claim) -> bool:
    """The chain did not reject it."""
    return claim.transaction.status is not TxStatus.FAILED


def is_final(claim: Claim) -> bool:
    """It is in a block that the network's own rule no longer undoes."""
    return claim.transaction.status is TxStatus.CONFIRMED and claim.transaction.final


def is_not_older(claim: Claim) -> bool:
    """Its block is no older than the challenge, a minute of skew allowed."""
    return claim.transaction.block_time >= claim.token.unix - AGE_SKEW_SECONDS


def is_not_later(claim: Claim) -> bool:
    """Its block is no later than the challenge's end, a minute of skew allowed.

    A claim keeps its right beyond the lifetime (P-ST-01), for a payment that was made in time and not for one that is
    made afterwards on a transaction id named in advance.
    """
    return claim.transaction.block_time <= claim.token.unix + claim.ttl + AGE_SKEW_SECONDS


def is_plain_transfer(transfer: Transfer, claim: Claim) -> bool:
    """It is a top-level transfer by the holder: no clawback (P-LN-09)."""
    del claim
    return not transfer.clawback


def is_right_asset(transfer: Transfer, claim: Claim) -> bool:
    """It moves the asset the challenge asks for, by id; if it names no asset, its receiver decides (Solana)."""
    return transfer.asset in {claim.terms.asset, ""}


def is_to_payee(transfer: Transfer, claim: Claim) -> bool:
    """It credits the challenge's payee."""
    return transfer.receiver == claim.destination


def is_enough(transfer: Transfer, claim: Claim) -> bool:
    """Its plain amount, without a close-out, reaches the price (P-LN-02, P-LN-09)."""
    return transfer.value >= int(claim.terms.amount)


def note_is_token(transfer: Transfer, claim: Claim) -> bool:
    """Algorand's weld: the note is the token's UTF-8 bytes, exactly."""
    del transfer
    return claim.transaction.note == claim.token.text.encode()


def names_reference(transfer: Transfer, claim: Claim) -> bool:
    """Solana's weld: the token's reference account is a further account of the transfer itself (P-LN-06)."""
    return claim.reference in transfer.accounts


def names_no_other_before(transfer: Transfer, claim: Claim) -> bool:
    """The reference is the first further account, so that only one of several rails' references counts (Solana)."""
    return claim.reference not in transfer.accounts or transfer.accounts[0] == claim.reference


def is_for_a_call(transfer: Transfer, claim: Claim) -> bool:
    """The transfer is not what pays a link whose memo the transaction carries (Solana)."""
    return not is_for_links(transfer, claim.transaction, claim.service)


Rule = Callable[[Claim], bool]
TransferRule = Callable[[Transfer, Claim], bool]

# Each rule is in one of these tables, with the code of its refusal.
TRANSACTION_RULES: tuple[tuple[Rule, str], ...] = (
    (is_known, "tx_not_found"),
    (has_not_failed, "tx_failed"),
    (is_final, "tx_not_confirmed"),
    (is_not_older, "payment_too_old"),
    (is_not_later, "challenge_expired"),
)
TRANSFER_RULES: tuple[tuple[TransferRule, str], ...] = (
    (is_plain_transfer, "unsupported_transaction"),
    (is_right_asset, "wrong_asset"),
    (is_to_payee, "wrong_recipient"),
    (is_enough, "wrong_amount"),
)
NOTE_BINDING: tuple[tuple[TransferRule, str], ...] = ((note_is_token, "weld_mismatch"),)
REFERENCE_BINDING: tuple[tuple[TransferRule, str], ...] = ((names_reference, "weld_mismatch"),)
# A transfer that matches may also be meant for another purchase; the transaction alone decides whether it counts here.
REFERENCE_ALONE: tuple[tuple[TransferRule, str], ...] = (
    (names_no_other_before, "weld_mismatch"),
    (is_for_a_call, "weld_mismatch"),
)


def judge(binding_rules: tuple[tuple[TransferRule, str], ...], claim: Claim, tx_id: str) -> Payment:
    """Return the payment if every rule holds: of the transaction, of one transfer in it, and of the weld.

    A transaction may contain several transfers. A transfer that breaks a rule is not examined further, so that the
    refusal names the fault of the transfer that came closest.

    Args:
        binding_rules: The rules that weld a transfer of the claim's lane to the challenge, in order.
        claim: What the chain shows, and what was asked for.
        tx_id: The transaction, canonical, for the refusal.

    Raises:
        PaymentRefused: The first rule that does not hold, by its code.
    """
    for holds_for, code in TRANSACTION_RULES:
        if not holds_for(claim):
            raise PaymentRefused(code, tx_id, claim.terms.caip2)
    candidates = claim.transaction.transfers
    if not candidates:
        raise PaymentRefused("unsupported_transaction", tx_id, claim.terms.caip2)
    for holds, code in (*TRANSFER_RULES, *binding_rules):
        candidates = tuple(one for one in candidates if holds(one, claim))
        if not candidates:
            raise PaymentRefused(code, tx_id, claim.terms.caip2)
    return Payment(candidates[0].sender, tx_id, ordinal=candidates[0].ordinal)


def find_arrived_payment(
    binding_rules: tuple[tuple[TransferRule, str], ...], claim: Claim, tx_id: str
) -> Payment | None:
    """Return what a transaction moved to the payee for a challenge, at any time and in any amount; None for nothing.

    An operator lists it where `judge` refuses it, so that money which has arrived is not forgotten.

    Args:
        binding_rules: The rules that weld a transfer of the claim's lane to the challenge.
        claim: What the chain shows, and what was asked for.
        tx_id: The transaction, canonical.

    Raises:
        PaymentRefused: `tx_not_confirmed`: it has succeeded and is not final yet.
    """
    if claim.transaction.status in {TxStatus.ABSENT, TxStatus.FAILED}:
        return None
    if not is_final(claim):
        raise PaymentRefused("tx_not_confirmed", tx_id, claim.terms.caip2)
    rules = [holds for holds, code in (*TRANSFER_RULES, *binding_rules) if code != "wrong_amount"]
    arrivals = [
        one for one in claim.transaction.transfers if one.value > 0 and all(holds(one, claim) for holds in rules)
    ]
    if not arrivals:
        return None
    largest = max(arrivals, key=lambda transfer: transfer.value)
    return Payment(largest.sender, tx_id, ordinal=largest.ordinal, value=largest.value)
