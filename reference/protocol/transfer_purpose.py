"""The purpose of a Solana transfer, a paid call or a payment link, from its transaction alone (decision 0045)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from reference.protocol.observed_transaction import ObservedTransaction, Transfer
from reference.protocol.solana_transfers import reference_account

_TOKEN = re.compile(rb"[A-Za-z0-9_-]{1,200}")
# A rail finds its weld among the accounts of the transfer, a checkout finds its memo in a separate instruction. One
# transaction may contain both. The purpose follows from the transaction alone, so that two surfaces that know nothing
# of each other come to the same answer: one of them accepts the transfer, and the other refuses it.
#
#     no memo of a checkout in the transaction: a call
#     names no account, or the reference of a link whose memo is present: links
#     names another account, and another transfer is for links: a call, because each memo has its transfer
#     names another account, and no other transfer is for links: links. The account is one that a wallet added, or the
#     transfer was made for two purchases.


def checkout_reference(service: str, token: str) -> str:
    """Return the reference account of a link, by which wallets find its payment; the link's QR code names it.

    Args:
        service: The service word in lower case.
        token: The link's token.
    """
    return reference_account(hashlib.sha256(f"{service}-checkout:solana-ref:{token}".encode()).digest())


def checkout_token(service: str, memo: bytes) -> str | None:
    """Return the token of a memo in the form of a checkout memo, whether or not the link exists."""
    prefix = f"{service}:".encode()
    token = memo.removeprefix(prefix)
    # A rail knows no links, so it can judge only the form of the memo and the service word.
    is_one = memo.startswith(prefix) and _TOKEN.fullmatch(token) is not None
    return token.decode() if is_one else None


def is_for_links(transfer: Transfer, transaction: ObservedTransaction, service: str) -> bool:
    """Return whether a transfer is for links of a checkout, and so for no call of a rail.

    Args:
        transfer: A transfer of `transaction`.
        transaction: Its transaction.
        service: The service word in lower case.
    """
    references = _references(transaction, service)
    # Without a link's memo in the transaction, every transfer is for a call.
    return bool(references) and not _names_other_accounts(transfer, transaction, references)


def is_for_a_call(transfer: Transfer, transaction: ObservedTransaction, service: str) -> bool:
    """Return whether a transfer is for a call although its transaction carries memos of links; see `is_for_links`."""
    references = _references(transaction, service)
    return bool(references) and _names_other_accounts(transfer, transaction, references)


def assign_links(transaction: ObservedTransaction, service: str) -> Mapping[int, str]:
    """Return the link that each transfer is for, for a reader that does not know all links of a transaction.

    Returns:
        The link's token, by the transfer's ordinal.
    """
    references = _references(transaction, service)
    token_by_ordinal = {}
    unnamed_ordinals = []
    for transfer in transaction.transfers:
        reference = next((one for one in references if one in transfer.accounts), None)
        if reference is not None:
            token_by_ordinal[transfer.ordinal] = references[reference]
        elif is_for_links(transfer, transaction, service):
            unnamed_ordinals.append(transfer.ordinal)
    # The transfers without a reference go to the links that no transfer names, in the order of the memos. Two
    # checkouts that each know one of the links assign them in the same way.
    other_tokens = [token for token in references.values() if token not in token_by_ordinal.values()]
    return token_by_ordinal | dict(zip(unnamed_ordinals, other_tokens, strict=False))


def _names_other_accounts(transfer: Transfer, transaction: ObservedTransaction, references: Mapping[str, str]) -> bool:
    """Whether it names other accounts than links do, in a transaction with another transfer that fits a link."""
    if _fits_link_page(transfer, references):
        return False
    return any(_fits_link_page(other, references) for other in transaction.transfers if other != transfer)


def _fits_link_page(transfer: Transfer, references: Mapping[str, str]) -> bool:
    """Whether it has the form that a link's page asks for: no further accounts, or the link's reference."""
    return not transfer.accounts or any(one in references for one in transfer.accounts)


def _references(transaction: ObservedTransaction, service: str) -> dict[str, str]:
    """Return the token of each link whose memo is in a transaction, by its reference, in the order of the memos."""
    tokens = (checkout_token(service, memo) for memo in transaction.memos)
    return {checkout_reference(service, token): token for token in tokens if token is not None}
