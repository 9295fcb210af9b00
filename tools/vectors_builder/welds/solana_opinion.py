"""What solders says of the signatures, ids and derived accounts of Solana transactions."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from solders.pubkey import Pubkey
from solders.token.associated import get_associated_token_address
from solders.transaction import VersionedTransaction

from conformance.oracles.welds.solana.accounts import associated_account
from tools.vectors_builder.drafting import Draft

# Faults in the transaction itself; the others of this stage are about what is reported with it.
_BROKEN_FAULTS: Final = ("signature", "altered", "form", "index")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where it disagrees with the draft about a signature, an id or a derived account."""
    evidence = draft.input
    is_broken = draft.stage == "transaction" and draft.fault_name.split("-")[1] in _BROKEN_FAULTS
    transaction = read(base64.b64decode(evidence["transaction_b64"]))
    holds = transaction is not None and is_signed(transaction)
    if holds is is_broken:
        yield f"solders says that it is {'' if holds else 'not '}signed"
    if transaction is not None and draft.valid and str(transaction.signatures[0]) != draft.values["tx_id"]:
        yield f"solders says that its id is {transaction.signatures[0]}"
    owner, mint = evidence["challenge"]["pay_to"], evidence["challenge"]["asset"]
    derived_account = str(get_associated_token_address(Pubkey.from_string(owner), Pubkey.from_string(mint)))
    if derived_account != associated_account(owner, mint):
        yield f"solders derives {derived_account} for the payee"


def read(raw: bytes) -> VersionedTransaction | None:
    """Return the transaction as solders reads it, when it writes the same bytes again."""
    try:
        transaction = VersionedTransaction.from_bytes(raw)
        return transaction if bytes(transaction) == raw else None
    except Exception:  # noqa: BLE001 - bincode's errors come as several classes
        return None


def is_signed(transaction: VersionedTransaction) -> bool:
    """Return whether its form holds and every signer has signed."""
    try:
        transaction.sanitize()
    except Exception:  # noqa: BLE001 - its refusals come as several classes
        return False
    return all(transaction.verify_with_results())
