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
_BROKEN: Final = ("signature", "altered", "encoding", "multisig", "logic", "authorizer")


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where it disagrees with the draft about a signature or an id."""
    text = draft.input["signed_transaction_b64"]
    broken = draft.stage == "transaction" and draft.fault_name.split("-")[1] in _BROKEN
    found = read(text)
    holds = found is not None and is_signed(found)
    if holds is broken:
        yield f"py-algorand-sdk says that it is {'' if holds else 'not '}signed"
    if found is not None and draft.valid and found.transaction.get_txid() != draft.values["tx_id"]:
        yield f"py-algorand-sdk says that its id is {found.transaction.get_txid()}"
    group = draft.input.get("group_b64")
    if group and (draft.valid or draft.fault_name != "algorand-group") and not _is_group(group):
        yield "py-algorand-sdk makes another id of its group"


def read(text: str) -> Any:
    """Return the transaction as the SDK reads it, when it writes the same bytes again."""
    try:
        found = encoding.msgpack_decode(text)
        return found if encoding.msgpack_encode(found) == text else None
    except Exception:  # noqa: BLE001 - the SDK has no error of its own for bytes that it cannot read
        return None


def is_signed(sent: Any) -> bool:
    """Return whether the account that may spend for the sender has signed."""
    message = b"TX" + base64.b64decode(encoding.msgpack_encode(sent.transaction))
    signer = getattr(sent, "authorizing_address", None) or getattr(sent, "auth_addr", None) or sent.transaction.sender
    if isinstance(sent, transaction.LogicSigTransaction):
        program = sent.lsig
        delegated = program.sig and _holds(signer, b"Program" + program.logic, program.sig)
        return bool(delegated if program.sig else program.address() == signer)
    if isinstance(sent, transaction.MultisigTransaction):
        return sent.multisig.address() == signer and bool(sent.multisig.verify(message))
    is_single = isinstance(sent, transaction.SignedTransaction) and bool(sent.signature)
    return is_single and _holds(signer, message, sent.signature)


def _holds(signer: str, message: bytes, signature: str) -> bool:
    try:
        VerifyKey(encoding.decode_address(signer)).verify(message, base64.b64decode(signature))
    except (BadSignatureError, ValueError):
        return False
    return True


def _is_group(group: list[str]) -> bool:
    read = [encoding.msgpack_decode(one).transaction for one in group]
    claimed = [one.group for one in read]
    for one in read:
        one.group = None
    made = transaction.calculate_group_id(read)
    return all(one == made for one in claimed)
