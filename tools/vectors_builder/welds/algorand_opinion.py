"""What py-algorand-sdk, with libsodium, says of the signatures and ids of Algorand transactions."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from algosdk import encoding, transaction
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from tools.vectors_builder.drafting import Draft

# Faults of signature and encoding; the others of this stage are about what a chain holds against an intact transaction.
_BROKEN_FAULTS: Final = ("signature", "altered", "encoding", "multisig", "logic", "authorizer")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where it disagrees with the draft about a signature or an id."""
    text = draft.input["signed_transaction_b64"]
    is_broken = draft.stage == "transaction" and draft.fault_name.split("-")[1] in _BROKEN_FAULTS
    transactions = read(text)
    holds = transactions is not None and is_signed(transactions)
    if holds is is_broken:
        yield f"py-algorand-sdk says that it is {'' if holds else 'not '}signed"
    if transactions is not None and draft.valid and transactions.transaction.get_txid() != draft.values["tx_id"]:
        yield f"py-algorand-sdk says that its id is {transactions.transaction.get_txid()}"
    group = draft.input.get("group_b64")
    if group and (draft.valid or draft.fault_name != "algorand-group") and not _is_group(group):
        yield "py-algorand-sdk makes another id of its group"


def read(text: str) -> Any:
    """Return the transaction as the SDK reads it, when it writes the same bytes again."""
    try:
        transaction_object = encoding.msgpack_decode(text)
        return transaction_object if encoding.msgpack_encode(transaction_object) == text else None
    except Exception:  # noqa: BLE001 - the SDK has no error of its own for bytes that it cannot read
        return None


def is_signed(signed_transaction: Any) -> bool:
    """Return whether the account that may spend for the sender has signed."""
    message = b"TX" + base64.b64decode(encoding.msgpack_encode(signed_transaction.transaction))
    signer = (
        getattr(signed_transaction, "authorizing_address", None)
        or getattr(signed_transaction, "auth_addr", None)
        or signed_transaction.transaction.sender
    )
    if isinstance(signed_transaction, transaction.LogicSigTransaction):
        program = signed_transaction.lsig
        is_delegated = program.sig and _holds(signer, b"Program" + program.logic, program.sig)
        return bool(is_delegated if program.sig else program.address() == signer)
    if isinstance(signed_transaction, transaction.MultisigTransaction):
        return signed_transaction.multisig.address() == signer and bool(signed_transaction.multisig.verify(message))
    is_single = isinstance(signed_transaction, transaction.SignedTransaction) and bool(signed_transaction.signature)
    return is_single and _holds(signer, message, signed_transaction.signature)


def _holds(signer: str, message: bytes, signature: str) -> bool:
    try:
        VerifyKey(encoding.decode_address(signer)).verify(message, base64.b64decode(signature))
    except (BadSignatureError, ValueError):
        return False
    return True


def _is_group(group: list[str]) -> bool:
    read = [encoding.msgpack_decode(transaction_object).transaction for transaction_object in group]
    claimed_ids = [transaction_object.group for transaction_object in read]
    for transaction_object in read:
        transaction_object.group = None
    group_id = transaction.calculate_group_id(read)
    return all(transaction_object == group_id for transaction_object in claimed_ids)
