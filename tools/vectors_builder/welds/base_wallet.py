"""Authorizations, and complete signed transactions that settle them, made with eth-account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from conformance.lanes.base.authorization import Authorization, Domain, nonce_of
from conformance.lanes.base.eth_account_import import Signer
from tools.vectors_builder.challenges.drafting import UNIX
from tools.vectors_builder.welds.drafting import MINED_AT, PRICE, challenge, draw

USDC: Final = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
TEST_USDC: Final = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
NOW: Final = MINED_AT
BLOCK: Final = 40_123_456
CONFIRMATIONS: Final = 3
LATER: Final = UNIX + 1_800


@dataclass(frozen=True, slots=True)
class Account:
    """An account drawn by name."""

    name: str

    @property
    def key(self) -> bytes:
        """Its private key."""
        return draw(f"base {self.name}")

    @property
    def address(self) -> str:
        """Its address, with the checksum of EIP-55."""
        return str(Signer.from_key(self.key).address)


PAYER, PAYEE, STRANGER, SETTLER = (Account(name) for name in ("payer", "payee", "stranger", "settler"))
TERMS: Final = {"caip2": "eip155:8453", "asset": USDC, "amount": str(PRICE), "pay_to": PAYEE.address}
CHALLENGE: Final = challenge(TERMS, name="USD Coin", version="2")
TOKEN: Final[str] = CHALLENGE["token"]
DOMAIN: Final = Domain("USD Coin", "2", 8453, USDC)


def offer(**changes: Any) -> Authorization:
    """Return the authorization that pays the challenge, with members changed, not signed yet."""
    authorization = Authorization(
        PAYER.address, PAYEE.address, PRICE, 0, LATER, nonce_of(TOKEN), DOMAIN, TOKEN, signature=b""
    )
    return authorization.with_changes(**changes)


def sign(**changes: Any) -> Authorization:
    """Return the authorization that pays the challenge, with members changed, signed by the payer."""
    return offer(**changes).sign(PAYER.key)


def build_evidence(authorization: Authorization, *, signature: str | None = None, **members: Any) -> dict[str, Any]:
    """Return what a verifier is given of an authorization."""
    proof = authorization.proof()
    evidence = {
        "lane": "base",
        "challenge": CHALLENGE,
        "authorization": proof["authorization"],
        "signature": proof["signature"] if signature is None else signature,
        "now": NOW,
    }
    return {**evidence, **members}


def values(authorization: Authorization) -> dict[str, Any]:
    """Return what a verifier may tell of an authorization that is right, by eth-account."""
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - py_ecc comes with it, see evm_sdk

    types = [("from", "address"), ("to", "address"), ("value", "uint256"), ("validAfter", "uint256")]
    types += [("validBefore", "uint256"), ("nonce", "bytes32")]
    members = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in types]}
    message = encode_typed_data(authorization.domain.data(), members, authorization.message)
    digest = keccak(b"\x19" + message.version + message.header + message.body)
    return {"payer": authorization.sender.lower(), "digest": "0x" + digest.hex()}


# Settlement.

_TYPES: Final = ("address", "address", "uint256", "uint256", "uint256", "bytes32")
_SPLIT: Final = (*_TYPES, "uint8", "bytes32", "bytes32")
_WHOLE: Final = (*_TYPES, "bytes")


def call(authorization: Authorization, *, whole: bool = False) -> bytes:
    """Return the call data that uses an authorization, by the overload with (v, r, s) or the one with bytes."""
    types = _WHOLE if whole else _SPLIT
    signature = authorization.signature
    signature_arguments: tuple[Any, ...] = (signature,) if whole else (signature[64], signature[:32], signature[32:64])
    selector = keccak(f"transferWithAuthorization({','.join(types)})".encode())[:4]
    return bytes(selector + encode(types, (*authorization.message.values(), *signature_arguments)))


def sign_transaction(data: bytes, *, to: str = USDC, kind: int = 2, chain_id: int | None = 8453) -> bytes:
    """Return a signed transaction of the settler: of type 1, 2 or 4, or 0 for a legacy one, with or without a chain."""
    members: dict[str, Any] = {"nonce": 7, "gas": 120_000, "to": to, "value": 0, "data": data}
    members |= {} if chain_id is None else {"chainId": chain_id}
    match kind:
        case 2:
            members |= {"type": 2, "maxFeePerGas": 50_000_000, "maxPriorityFeePerGas": 1_000_000}
        case 4:
            arguments = {"chainId": chain_id, "address": STRANGER.address, "nonce": 8}
            authorization_list = [Signer.sign_authorization(arguments, SETTLER.key)]
            members |= {"type": 4, "maxFeePerGas": 50_000_000, "maxPriorityFeePerGas": 1_000_000}
            members |= {"accessList": [], "authorizationList": authorization_list}
        case 1:
            members |= {"type": 1, "gasPrice": 50_000_000, "accessList": []}
        case _:
            members |= {"gasPrice": 50_000_000}
    return bytes(Signer.sign_transaction(members, SETTLER.key).raw_transaction)


def log(signature: str, *topics: str, data: str = "0x", contract: str = USDC) -> dict[str, Any]:
    """Return an event with indexed addresses and words."""
    padded_topics = ["0x" + topic.lower().removeprefix("0x").rjust(64, "0") for topic in topics]
    return {"address": contract, "topics": ["0x" + keccak(signature.encode()).hex(), *padded_topics], "data": data}


def used(authorizer: str = PAYER.address, nonce: bytes | None = None, contract: str = USDC) -> dict[str, Any]:
    """Return an AuthorizationUsed."""
    used_nonce = nonce_of(TOKEN) if nonce is None else nonce
    return log("AuthorizationUsed(address,bytes32)", authorizer, used_nonce.hex(), contract=contract)


def transfer_log(
    sender: str = PAYER.address, to: str = PAYEE.address, value: int = PRICE, contract: str = USDC
) -> dict[str, Any]:
    """Return a Transfer."""
    return log("Transfer(address,address,uint256)", sender, to, data=f"0x{value:064x}", contract=contract)


def settlement(
    raw: bytes, logs: Sequence[dict[str, Any]], *, first: int = 17, depth: int = CONFIRMATIONS, **receipt: Any
) -> dict[str, Any]:
    """Return what a node reports of a mined transaction: `depth` blocks with its own, logs counted from `first`."""
    numbered_logs = [{**one, "logIndex": hex(first + place)} for place, one in enumerate(logs)]
    settlement_receipt = {
        "transactionHash": "0x" + keccak(raw).hex(),
        "status": "0x1",
        "blockNumber": hex(BLOCK),
        "logs": numbered_logs,
    }
    return {
        "transaction": "0x" + raw.hex(),
        "receipt": {**settlement_receipt, **receipt},
        "head_block": BLOCK + depth - 1,
        "confirmations": CONFIRMATIONS,
    }


def settled_values(authorization: Authorization, raw: bytes, log_index: int) -> dict[str, Any]:
    """Return what a verifier may tell of a settlement that is right."""
    further = {"tx_id": "0x" + keccak(raw).hex(), "settler": SETTLER.address.lower(), "log_index": log_index}
    return {**values(authorization), **further}
