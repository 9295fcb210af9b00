"""Payments that no account signed, for the offers of a 402. Nothing in them can ever move money.

A server that serves one does not verify signatures. Each has the form that stock clients send for scheme `exact`
of x402 version 2. Its payer is an address without a key, and its signature is no signature of any key: no contract and
no node takes it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import base58
import msgpack

from conformance.oracles.addresses import is_address
from conformance.oracles.challenge_schema import atomic_amount
from conformance.oracles.welds.solana.accounts import TOKEN_PROGRAM, associated_account, text_of

# A hash of a text as a public key: its private key is not known.
_NO_ACCOUNT: Final = hashlib.sha256(b"an account without a key").digest()
_COMPUTE_BUDGET: Final = "ComputeBudget111111111111111111111111111111"
_UINT64: Final = 2**64
_USDC_DECIMALS: Final = 6
_ALGORAND_ROUNDS: Final = 1000

Payload = Mapping[str, Any]


def forged_payments(offers: Sequence[Mapping[str, Any]], resource: Any) -> dict[str, str]:
    """Return values of PAYMENT-SIGNATURE by network, one for each offered family of chains.

    Args:
        offers: Offers of a 402; the first of scheme `exact` on each family counts.
        resource: The member of that name in the 402, which a payment repeats.
    """
    payments: dict[str, str] = {}
    families: set[str] = set()
    for offer in offers:
        network = offer.get("network")
        family = network.partition(":")[0] if isinstance(network, str) and ":" in network else ""
        if offer.get("scheme") != "exact" or family in families or family not in _FORGERS:
            continue
        payload = _FORGERS[family](offer)
        if payload is not None:
            families.add(family)
            document = {"x402Version": 2, "resource": resource, "accepted": offer, "payload": payload}
            payments[str(network)] = base64.b64encode(json.dumps(document).encode()).decode("ascii")
    return payments


def _evm(offer: Mapping[str, Any]) -> Payload:
    """Return an authorization of EIP-3009 whose signature is zeros."""
    authorization = {
        "from": "0x000000000000000000000000000000000000dEaD",
        "to": offer.get("payTo"),
        "value": offer.get("amount"),
        "validAfter": "0",
        "validBefore": "4102444800",
        # A nonce and a validity that a server has no reason to reject, so that only the signature
        # is wrong.
        "nonce": "0x" + "11" * 32,
    }
    return {"signature": "0x" + "00" * 65, "authorization": authorization}


def _solana(offer: Mapping[str, Any]) -> Payload | None:
    """Return a version 0 transaction with a checked transfer, zeros for its signatures and its recent block."""
    extra = offer.get("extra")
    fees = extra.get("feePayer") if isinstance(extra, dict) else None
    amount, mint, payee = atomic_amount(offer.get("amount")), offer.get("asset"), offer.get("payTo")
    addresses = [one for one in (fees, mint, payee) if isinstance(one, str) and is_address("solana", one)]
    if amount is None or amount >= _UINT64 or len(addresses) < 3:
        return None
    fee_payer, mint, payee = addresses
    owner = text_of(_NO_ACCOUNT)
    source, destination = associated_account(owner, mint), associated_account(payee, mint)
    accounts = [fee_payer, owner, source, destination, mint, _COMPUTE_BUDGET, TOKEN_PROGRAM]
    instructions = (
        _instruction(5, (), struct.pack("<BI", 2, 20_000)),
        _instruction(5, (), struct.pack("<BQ", 3, 1)),
        _instruction(6, (2, 4, 3, 1), struct.pack("<BQB", 12, amount, _USDC_DECIMALS)),
    )
    # Two of the seven accounts sign. The second signer and the last three are read-only. There are no address tables.
    message = b"".join(
        (
            bytes((0x80, 2, 1, 3, len(accounts))),
            *map(base58.b58decode, accounts),
            bytes(32),
            bytes((len(instructions),)),
            *instructions,
            bytes(1),
        )
    )
    signatures = bytes((2,)) + bytes(2 * 64)
    return {"transaction": base64.b64encode(signatures + message).decode("ascii")}


def _instruction(program: int, accounts: Sequence[int], data: bytes) -> bytes:
    return bytes((program, len(accounts), *accounts, len(data))) + data


def _algorand(offer: Mapping[str, Any]) -> Payload | None:
    """Return a group of one asset transfer with an invalid signature."""
    amount, asset, payee = atomic_amount(offer.get("amount")), atomic_amount(offer.get("asset")), offer.get("payTo")
    if amount is None or asset is None or max(amount, asset) >= _UINT64:
        return None
    if not (isinstance(payee, str) and is_address("algorand", payee)):
        return None
    transfer = {
        "aamt": amount,
        "arcv": base64.b32decode(payee + "======")[:32],
        "fee": 1000,
        "fv": 1,
        "gh": _genesis_hash(str(offer["network"])),
        "lv": 1 + _ALGORAND_ROUNDS,
        "snd": _NO_ACCOUNT,
        "type": "axfer",
        "xaid": asset,
    }
    # The canonical encoding of Algorand omits members that are zero.
    members = {name: value for name, value in transfer.items() if value}
    signed_transaction = msgpack.packb({"sig": b"\x11" * 64, "txn": members}, use_bin_type=True)
    return {"paymentGroup": [base64.b64encode(signed_transaction).decode("ascii")], "paymentIndex": 0}


def _genesis_hash(network: str) -> bytes:
    """Return 32 bytes that begin with the known part of the genesis hash: CAIP-2 contains its first 24 bytes."""
    reference = network.partition(":")[2]
    try:
        prefix = base64.urlsafe_b64decode(reference + "=" * (-len(reference) % 4))
    except ValueError:
        prefix = b""
    return prefix[:32].ljust(32, b"\x11")


_FORGERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Payload | None]]] = {
    "eip155": _evm,
    "solana": _solana,
    "algorand": _algorand,
}
