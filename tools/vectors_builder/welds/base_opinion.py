"""What eth-account, with the curve in pure Python, and revm say of authorizations and of what settled them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from tools.vectors_builder.challenges.revm_crypto import keccak256, recover_address
from tools.vectors_builder.drafting import Draft

_TYPES: Final = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where they disagree with the draft about nonce, digest, signer or transaction."""
    evidence = draft.input
    offer, token = evidence["authorization"], evidence["challenge"]["token"]
    is_welded = offer["nonce"].lower() == "0x" + keccak256(token.encode()).hex()
    if is_welded is (draft.stage == "weld"):
        yield f"revm says that the nonce is {'' if is_welded else 'not '}the token's keccak256"
    digest = _digest(evidence)
    if draft.values.get("digest", "0x" + digest.hex()) != "0x" + digest.hex():
        yield f"eth-account and revm say that 0x{digest.hex()} is signed"
    holds = _signer(digest, evidence["signature"]) == offer["from"].lower()
    if holds is (draft.stage == "signature"):
        yield f"revm says that the payer has {'' if holds else 'not '}signed"
    if "settlement" in evidence:
        yield from _of_settlement(draft, evidence["settlement"])


def _digest(evidence: Mapping[str, Any]) -> bytes:
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - py_ecc comes with it, see payers.evm_sdk

    challenge, offer = evidence["challenge"], evidence["authorization"]
    domain = {
        "name": challenge["name"],
        "version": challenge["version"],
        "chainId": int(challenge["caip2"].removeprefix("eip155:")),
        "verifyingContract": challenge["asset"],
    }
    members: dict[str, Any] = {
        name: int(offer[name]) if kind == "uint256" else offer[name].lower() for name, kind in _TYPES
    }
    members["nonce"] = bytes.fromhex(members["nonce"].removeprefix("0x"))
    types = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in _TYPES]}
    message = encode_typed_data(domain, types, members)
    return keccak256(b"\x19" + message.version + message.header + message.body)


def _signer(digest: bytes, text: str) -> str | None:
    try:
        raw = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return None
    if len(raw) != 65:
        return None
    return recover_address(digest, raw[:64] + bytes([raw[64] + 27 if raw[64] < 2 else raw[64]]))


def _of_settlement(draft: Draft, settlement: Mapping[str, Any]) -> Iterator[str]:
    raw = bytes.fromhex(settlement["transaction"].removeprefix("0x"))
    tx_id = hash_of(raw)
    sender = sender_of(raw)
    is_broken = draft.stage == "transaction" and draft.fault_name.split("-")[1] in {"settling", "high"}
    if (sender is None) is not is_broken:
        yield f"eth-account says that {sender or 'nobody'} has signed the settlement"
    computed_values = {"tx_id": tx_id, "settler": sender}
    for name in computed_values.keys() & draft.values.keys():
        if computed_values[name] != draft.values[name]:
            yield f"{name} is {computed_values[name]}, not {draft.values[name]}"


def hash_of(raw: bytes) -> str:
    """Return a transaction's id."""
    return "0x" + keccak256(raw).hex()


@cache
def sender_of(raw: bytes) -> str | None:
    """Return who signed a transaction, lower-case hex; None where eth-account cannot tell."""
    try:
        return str(_account().recover_transaction(raw)).lower()
    except Exception:  # noqa: BLE001 - a broken transaction fails in many classes
        return None


@cache
def _account() -> Any:
    from eth_account import Account  # noqa: PLC0415
    from eth_keys.backends.native.main import NativeECCBackend  # noqa: PLC0415

    account = Account()
    account.set_key_backend(NativeECCBackend())
    return account
