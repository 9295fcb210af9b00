"""Checkout: what a link asks of its chain, and whether a transaction pays it (3.5, P-CK-06, P-CK-08).

Each rule is one function and one line of a table. The first rule that does not hold names the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import StrEnum

from reference.protocol.eip3009 import follows, nonce_of
from reference.protocol.money import atomic_units
from reference.protocol.networks import Network, same_address
from reference.protocol.observed_transaction import ObservedTransaction, Transfer, TxStatus
from reference.protocol.solana_transfers import associated_account, is_address
from reference.protocol.state_table import StateTable
from reference.protocol.transfer_purpose import is_for_a_call

# The selector of ERC-20 `transfer(address,uint256)`, the call of a wallet that pays by EIP-681.
_PLAIN_TRANSFER = bytes.fromhex("a9059cbb")


class LinkState(StrEnum):
    """The state of a link."""

    ACTIVE = "active"
    PAID = "paid"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class LinkEnding(StrEnum):
    """What ends a link."""

    PAYMENT_FINAL = "a payment for it is final"
    TIME_OVER = "its time is over"
    CALLED_OFF = "tenant or payer calls it off"


# The state machine of a link. A link is active until exactly one of three events ends it: a final payment, its
# time, or a cancellation by tenant or payer. Each end is final, so that a link never pays twice and an ended link
# never becomes payable again. A payment that arrives later changes no state; it is listed to the tenant (P-CK-10).
LINK = StateTable(
    LinkState.ACTIVE,
    "the tenant creates it",
    {
        (LinkState.ACTIVE, LinkEnding.PAYMENT_FINAL): LinkState.PAID,
        (LinkState.ACTIVE, LinkEnding.TIME_OVER): LinkState.EXPIRED,
        (LinkState.ACTIVE, LinkEnding.CALLED_OFF): LinkState.CANCELLED,
    },
)


@dataclass(frozen=True, slots=True)
class LinkTerms:
    """What a link asks of its chain.

    Attributes:
        network: Its network.
        pay_to: The tenant's payout address.
        amount_microunits: The price in millionths of the asset.
        memo: The memo text.
        expires_at: Unix seconds; a block of this time still pays.
        suffix_binds: Whether the memo may also follow the call data of a plain transfer (Base, `WP_EVM_SUFFIX_BIND`).
    """

    network: Network
    pay_to: str
    amount_microunits: int
    memo: str
    expires_at: int
    suffix_binds: bool = False

    @property
    def service(self) -> str:
        """The service word in lower case, which the memo begins with."""
        return self.memo.partition(":")[0]

    @property
    def atomic(self) -> int:
        """The amount in atomic units of the asset (P-MN-01)."""
        return atomic_units(self.amount_microunits, self.network.decimals)

    @property
    def credited_address(self) -> str:
        """What a transfer must credit: the payout address, or its associated token account, derived (Solana)."""
        # On Solana a transfer credits a token account and not an owner. The account is derived and never taken from
        # the transaction: an account that the payee owns can be handed over to another owner.
        if self.network.family == "solana":
            return associated_account(self.pay_to, self.network.asset_id)
        return self.pay_to


class NotPaid(Exception):
    """A transaction does not pay a link.

    Attributes:
        reason: One of P-CK-06, or `self_payment`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# Rules of the transaction. Each returns whether it holds.


def is_known(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """The node knows it."""
    del terms
    return transaction.status is not TxStatus.ABSENT


def has_not_failed(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """The chain did not reject it."""
    del terms
    return transaction.status is not TxStatus.FAILED


def is_final(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """It is in a block that the network's own rule no longer undoes (1.2)."""
    del terms
    return transaction.status is TxStatus.CONFIRMED and transaction.final


def is_in_time(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Its block is no later than the link's expiry."""
    # The block's time is compared, and not the time at which the gateway saw the payment (P-CK-06).
    return transaction.block_time <= terms.expires_at


# Rules of one transfer in it.


def is_right_asset(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """The holder moved the network's USDC; if the instruction names no asset, its receiver decides."""
    del transaction
    # Solana's unchecked Transfer names no mint. Its destination can hold no other asset, so the rule about the
    # receiver covers it (5.5).
    is_usdc = transfer.asset == "" or same_address(terms.network, transfer.asset, terms.network.asset_id)
    return is_usdc and not transfer.clawback


def is_to_payout_address(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """It credits the tenant's payout address."""
    del transaction
    return same_address(terms.network, transfer.receiver, terms.credited_address)


def is_enough(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """It moves the amount or more; parts are not added up."""
    # More than the amount pays the link, and the surplus is listed to the tenant. A smaller transfer is listed as
    # `short` and not added to others (P-CK-10).
    del transaction
    return transfer.value >= terms.atomic


def is_bound(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """It carries the link's memo where its chain keeps one."""
    return any(binds(transfer, transaction, terms) for binds, family in BINDINGS if family == terms.network.family)


def is_for_this_link(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Solana: it is not for a call of a rail (decision 0045)."""
    # On Algorand a note, and on Base a nonce, belongs to one challenge or one link. Only Solana's accounts and
    # memos could claim one transfer for both.
    return terms.network.family != "solana" or not is_for_a_call(transfer, transaction, terms.service)


def is_from_another(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """The payout address does not pay itself."""
    del transaction
    # Without this rule a tenant could mark its links as paid by moving its money in a circle.
    return not same_address(terms.network, transfer.sender, terms.pay_to)


def note_is_memo(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Algorand: the note is the memo's bytes, exactly."""
    del transfer
    return transaction.note == terms.memo.encode()


def has_memo_instruction(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Solana: a top-level memo instruction of the transaction holds the memo's bytes, exactly."""
    del transfer
    return terms.memo.encode() in transaction.memos


def uses_bound_nonce(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Base: it is the log directly after the asset's own use of the authorization whose nonce is the memo's hash."""
    return any(
        same_address(terms.network, used.asset, terms.network.asset_id)
        and used.nonce == nonce_of(terms.memo)
        and follows(transfer.ordinal, used.ordinal)
        and same_address(terms.network, used.authorizer, transfer.sender)
        for used in transaction.authorizations_used
    )


def calldata_ends_in_memo(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Base, where it binds: a plain transfer sent straight to the asset, its call data followed by the memo alone."""
    return terms.suffix_binds and _text_behind(transfer, transaction, terms) == terms.memo.encode()


def _text_behind(transfer: Transfer, transaction: ObservedTransaction, terms: LinkTerms) -> bytes:
    """Base: return what follows the call data of a plain transfer sent straight to the asset; empty for another."""
    # Call data are read only if the lane is set to do so (`WP_EVM_SUFFIX_BIND`), so they are empty in most cases.
    if not transaction.calldata:
        return b""
    plain = _PLAIN_TRANSFER + bytes.fromhex(transfer.receiver[2:]).rjust(32, b"\0") + transfer.value.to_bytes(32, "big")
    # A call through another contract is not counted: there the bytes behind the call are not the payer's statement.
    sent_straight = same_address(terms.network, transaction.called_contract, terms.network.asset_id)
    by_sender = same_address(terms.network, transaction.sender, transfer.sender)
    is_plain = sent_straight and by_sender and transaction.calldata.startswith(plain)
    return transaction.calldata[len(plain) :] if is_plain else b""


Rule = Callable[[ObservedTransaction, LinkTerms], bool]
TransferRule = Callable[[Transfer, ObservedTransaction, LinkTerms], bool]

# The ways in which a transfer can carry a memo, by family of chains. One way that holds is enough. A chain that no
# lane serves has none, so that nothing on it can pay a link.
BINDINGS: tuple[tuple[TransferRule, str], ...] = (
    (note_is_memo, "algorand"),
    (has_memo_instruction, "solana"),
    (uses_bound_nonce, "evm"),
    (calldata_ends_in_memo, "evm"),
)
# The order is that of P-CK-06: a transaction that is unknown or failed has no other reason, whatever else is wrong.
TRANSACTION_RULES: tuple[tuple[Rule, str], ...] = (
    (is_known, "tx_not_found"),
    (has_not_failed, "tx_failed"),
    (is_final, "tx_not_confirmed"),
)
# In the order of P-CK-06. Each rule removes the transfers for which it does not hold.
TRANSFER_RULES: tuple[tuple[TransferRule, str], ...] = (
    (is_right_asset, "wrong_asset"),
    (is_to_payout_address, "wrong_recipient"),
    (is_enough, "wrong_amount"),
    (is_bound, "memo_mismatch"),
    (is_for_this_link, "memo_mismatch"),
    (is_from_another, "self_payment"),
)


def match_transfers(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers that fit a link and carry its memo, whether or not they are final or in time.

    Raises:
        NotPaid: No transfer does; it names the first rule after which no candidate was left.
    """
    # A transaction may contain several transfers. A transfer that breaks a rule is not examined further. So the
    # reason names the fault of the transfer that came closest.
    candidates = transaction.transfers
    for holds, reason in TRANSFER_RULES:
        candidates = tuple(one for one in candidates if holds(one, transaction, terms))
        if not candidates:
            raise NotPaid(reason)
    return candidates


def select_too_small(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers that would pay a link and move less than it asks; parts are not added up."""
    candidates = tuple(one for one in transaction.transfers if one.value > 0)
    for holds, reason in TRANSFER_RULES:
        candidates = tuple(one for one in candidates if holds(one, transaction, terms) is (reason != "wrong_amount"))
    return candidates


def select_bound(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers that fit a link and carry its memo, whatever amount above 0 each moves."""
    return _select_except(transaction, terms, unless={"wrong_amount"})


def select_in_other_assets(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers that go to the payout address and carry the link's memo, in another asset than its own.

    Any account can issue an asset, so the amount says nothing about money.
    """
    transfers: list[Transfer] = []
    for asset in dict.fromkeys(transfer.asset for transfer in transaction.transfers if transfer.asset):
        # The other asset is treated as if it were the link's: the memo binds in the same ways. On Solana the
        # transfer must credit the payout address's associated account for that asset, which only a valid mint
        # address has.
        is_mint = terms.network.family != "solana" or is_address(asset)
        if is_mint and not same_address(terms.network, asset, terms.network.asset_id):
            other_terms = replace(terms, network=replace(terms.network, asset_id=asset))
            transfers_of_asset = tuple(transfer for transfer in transaction.transfers if transfer.asset == asset)
            transfers += _select_except(
                replace(transaction, transfers=transfers_of_asset), other_terms, unless={"wrong_amount"}
            )
    return tuple(transfers)


def select_with_unclear_memo(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers that go to the payout address and name the link without carrying its memo exactly.

    The memo's text is part of a longer one, such as a note with two memos.
    """
    candidates = _select_except(transaction, terms, unless={"wrong_amount", "memo_mismatch"})
    memo = terms.memo.encode()
    # On Base a memo is visible only behind the call data. The other way, a nonce, is a hash and contains no text.
    if terms.network.family == "evm":
        texts = [_text_behind(one, transaction, terms) for one in candidates] if terms.suffix_binds else []
        return tuple(one for one, text in zip(candidates, texts, strict=False) if memo in text and memo != text)
    texts = [transaction.note] if terms.network.family == "algorand" else list(transaction.memos)
    return candidates if any(memo in text and memo != text for text in texts) else ()


def _select_except(
    transaction: ObservedTransaction, terms: LinkTerms, *, unless: Collection[str]
) -> tuple[Transfer, ...]:
    """Return the transfers of more than 0 for which all rules hold, except rules with a reason in `unless`."""
    rules = [holds for holds, reason in TRANSFER_RULES if reason not in unless]
    return tuple(
        one for one in transaction.transfers if one.value > 0 and all(holds(one, transaction, terms) for holds in rules)
    )


def select_paying(transaction: ObservedTransaction, terms: LinkTerms) -> tuple[Transfer, ...]:
    """Return the transfers of a transaction that pay a link, as far as they have not paid another one.

    Raises:
        NotPaid: None does; by the first rule that does not hold.
    """
    for holds, reason in TRANSACTION_RULES:
        if not holds(transaction, terms):
            raise NotPaid(reason)
    transfers = match_transfers(transaction, terms)
    # The time is judged after the transfers: "late" is the reason only of a payment that would otherwise have paid
    # (P-CK-06).
    if not is_in_time(transaction, terms):
        raise NotPaid("late_payment")
    return transfers


def is_on_its_way(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Whether a transaction that is not final yet will pay a link in time if nothing undoes it."""
    if transaction.status not in {TxStatus.PENDING, TxStatus.CONFIRMED} or not is_in_time(transaction, terms):
        return False
    try:
        return bool(match_transfers(transaction, terms))
    except NotPaid:
        return False


def may_be_on_its_way(transaction: ObservedTransaction, terms: LinkTerms) -> bool:
    """Whether a transaction may still pay a link in time, as far as the node shows."""
    # For a transaction that is in no block yet, a node may return no transfers. It counts as on its way, because
    # the link must not be cancelled under a payment (P-CK-07).
    return is_on_its_way(transaction, terms) or (transaction.status is TxStatus.PENDING and not transaction.transfers)


def choose_transfer(transfers: tuple[Transfer, ...], used: Collection[int], terms: LinkTerms) -> Transfer | None:
    """Return the transfer that pays the link: of the unused ones that of exactly its amount, else the lowest (P-CK-08).

    Args:
        transfers: What `select_paying` found.
        used: Ordinals of this transaction that have paid a link.
        terms: Of the link.
    """
    free = [one for one in transfers if one.ordinal not in used]
    # A batched transaction may pay several links. The exact amount goes first, so that a link does not take the
    # transfer that was made for a dearer one (P-CK-08).
    return min(free, key=lambda one: (one.value != terms.atomic, one.ordinal), default=None)
