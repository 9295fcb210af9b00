"""The weld: whether a transaction on a chain pays one live challenge (5.5).

Each rule is one function and one line of a table. The first rule that does not hold names the refusal.
"""

from __future__ import annotations

from collections.abc import Callable

from reference.fast_records import record
from reference.protocol.challenge import Terms, Token
from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.protocol.refusals import PaymentRefused
from reference.protocol.transfer_purpose import is_for_links

AGE_SKEW_SECONDS = 60


@record
class Claim:
    """A transaction with the challenge that it claims to pay.

    Attributes:
        transaction: The transaction as the node reports it.
        terms: What the lane asked.
        token: The challenge token.
        ttl: Lifetime of a challenge in seconds.
        destination: The account that must be credited: the payee, or the payee's associated token account (Solana).
        reference: The account that welds (Solana), else empty.
        service: The service word in lower case, which the memos of a checkout begin with (Solana), else empty.
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
    """A payment that satisfies every rule.

    Attributes:
        payer: The payer's address.
        tx_id: The transaction, canonical.
        transfer_key: The unique key of the transfer if a transaction may hold several (Base), else None.
        ordinal: Place of the transfer in its transaction (P-CK-08).
        value: The amount that it moved, in atomic units; 0 if that is exactly the price.
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
    """Its block is not older than the challenge, with a minute of skew."""
    # A transfer from before the challenge cannot have been made for it. The minute of skew covers the difference
    # between the clocks of rail and chain.
    return claim.transaction.block_time >= claim.token.unix - AGE_SKEW_SECONDS


def is_not_later(claim: Claim) -> bool:
    """Its block is not later than the challenge's end, with a minute of skew."""
    # A claim stays valid beyond the lifetime (P-ST-01), but only for a payment that was made in time. Without this
    # rule a client could claim a transaction id in advance, wait, and pay only if the price has risen (decision
    # 0012).
    return claim.transaction.block_time <= claim.token.unix + claim.ttl + AGE_SKEW_SECONDS


def is_plain_transfer(transfer: Transfer, claim: Claim) -> bool:
    """It is a top-level transfer by the holder and not a clawback (P-LN-09)."""
    del claim
    # The asset's clawback account can take back what it moved. So a clawback is no payment of the holder.
    return not transfer.clawback


def is_right_asset(transfer: Transfer, claim: Claim) -> bool:
    """It moves the asset of the challenge, by id; a transfer without an asset is judged by its receiver (Solana)."""
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
    # Exactly these bytes: a note with two tokens would otherwise weld one transfer to two challenges.
    return claim.transaction.note == claim.token.text.encode()


def names_reference(transfer: Transfer, claim: Claim) -> bool:
    """Solana's weld: the token's reference account is a further account of the transfer itself (P-LN-06)."""
    return claim.reference in transfer.accounts


def names_no_other_before(transfer: Transfer, claim: Claim) -> bool:
    """The reference is the first further account (Solana)."""
    # One transfer could name the references of two rails. Only the first further account counts, so that it buys at
    # one of them (decision 0045). "The only account" would be as safe, and would refuse wallets that add an
    # account.
    return claim.reference not in transfer.accounts or transfer.accounts[0] == claim.reference


def is_for_a_call(transfer: Transfer, claim: Claim) -> bool:
    """The transfer does not pay a link whose memo the transaction carries (Solana)."""
    return not is_for_links(transfer, claim.transaction, claim.service)


Rule = Callable[[Claim], bool]
TransferRule = Callable[[Transfer, Claim], bool]

# The tables follow the order of 5.5, so that the refusal names the first fault of a proof. Rules of the transaction go
# first: a transaction that is not final yet may still change, and `tx_not_confirmed` lets the client wait.
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
# A transfer that matches may belong to another purchase as well. The transaction alone decides whether it counts here.
REFERENCE_ALONE: tuple[tuple[TransferRule, str], ...] = (
    (names_no_other_before, "weld_mismatch"),
    (is_for_a_call, "weld_mismatch"),
)


def judge(binding_rules: tuple[tuple[TransferRule, str], ...], claim: Claim, tx_id: str) -> Payment:
    """Return the payment if every rule holds: of the transaction, of one transfer in it, and of the weld.

    Args:
        binding_rules: The rules that weld a transfer of the claim's lane to the challenge, in order.
        claim: The transaction and the challenge.
        tx_id: The transaction, canonical, for the refusal.

    Raises:
        PaymentRefused: The first rule that does not hold, by its code.
    """
    for holds_for, code in TRANSACTION_RULES:
        if not holds_for(claim):
            raise PaymentRefused(code, tx_id, claim.terms.caip2)
    # A transaction may contain several transfers. A transfer that breaks a rule is not examined further. So the
    # refusal names the fault of the transfer that came closest (decision 0014).
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
    """Return the largest payment to the payee for a challenge, at any time and in any amount, or None.

    Args:
        binding_rules: The rules that weld a transfer of the claim's lane to the challenge.
        claim: The transaction and the challenge.
        tx_id: The transaction, canonical.

    Raises:
        PaymentRefused: `tx_not_confirmed`: it has succeeded and is not final yet.
    """
    if claim.transaction.status in {TxStatus.ABSENT, TxStatus.FAILED}:
        return None
    if not is_final(claim):
        raise PaymentRefused("tx_not_confirmed", tx_id, claim.terms.caip2)
    # Money that `judge` refuses for its amount or its time has still arrived. The operator lists it and gives it
    # back (P-ST-11).
    rules = [holds for holds, code in (*TRANSFER_RULES, *binding_rules) if code != "wrong_amount"]
    arrivals = [
        one for one in claim.transaction.transfers if one.value > 0 and all(holds(one, claim) for holds in rules)
    ]
    if not arrivals:
        return None
    largest = max(arrivals, key=lambda transfer: transfer.value)
    return Payment(largest.sender, tx_id, ordinal=largest.ordinal, value=largest.value)
