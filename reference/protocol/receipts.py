"""The payloads of the three kinds of receipt (2.3), ready for `jws.sign_compact`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from reference.protocol.canonical_json import JsonValue, canonicalise
from reference.protocol.hashes import hash_reference
from reference.protocol.networks import Network, canonical_address
from reference.protocol.service_word import ServiceWord

CANON_VERSION = "jcs-rfc8785-v1"
# The default of 2.3. Their order is kept, because it is part of the signed bytes.
JURISDICTION_FLAGS = ("UK", "EU")

ScreenResult = Literal["ALLOW", "REFER", "DENY"]
SettlementResult = Literal["SETTLED", "PENDING_FINALITY", "REVERSED"]


def payable_receipt(
    *,
    word: ServiceWord,
    provider_did: str,
    issued_at_ms: int,
    service_id: str,
    request_hash: str,
    response_hash: str,
    settled_payment_ref: str,
    payment_reference_hash: str,
    network: str,
    asset: str,
    pay_to: str,
    amount_microunits: int,
) -> dict[str, JsonValue]:
    """Return the payload of a payable receipt: all members of specification 2.3 and no others.

    Args:
        word: Names the kind.
        provider_did: DID of the rail; becomes `iss` and `provider_did`.
        issued_at_ms: Unix milliseconds; `iat` is the same instant in whole seconds.
        service_id: The paid service.
        request_hash: Hash reference by P-RH-01.
        response_hash: Hash reference by P-RH-02.
        settled_payment_ref: Hash reference by P-RH-03.
        payment_reference_hash: Hash reference of the token's text, never the token.
        network: As in the paid `accepts` entry.
        asset: As in the paid `accepts` entry.
        pay_to: As in the paid `accepts` entry.
        amount_microunits: Price paid for, in millionths; becomes a decimal string.
    """
    return {
        "kind": word.receipt_kind,
        "canon_version": CANON_VERSION,
        "iss": provider_did,
        "provider_did": provider_did,
        "iat": issued_at_ms // 1000,
        "issued_at_ms": issued_at_ms,
        "service_id": service_id,
        "request_hash": request_hash,
        "response_hash": response_hash,
        # `payment_reference_hash` and never the token itself: a receipt may be shown to others, and the token is a
        # credential of the payer.
        "settled_payment_ref": settled_payment_ref,
        "payment_reference_hash": payment_reference_hash,
        "network": network,
        "asset": asset,
        "pay_to": pay_to,
        # A string, because receivers in other languages read JSON numbers as binary floats (1.3).
        "amount_microunits": str(amount_microunits),
    }


def settlement_attestation(
    *,
    provider_did: str,
    timestamp_ms: int,
    result: SettlementResult,
    settled_payment_ref: str,
    settlement_chain: str,
    asset_id: str,
    amount_minor: int,
    jurisdiction_flags: Sequence[str] = JURISDICTION_FLAGS,
) -> dict[str, JsonValue]:
    """Return the payload of a settlement attestation (2.3).

    Args:
        provider_did: DID of the signer.
        timestamp_ms: Unix milliseconds at which the settlement was judged.
        result: The state of the settlement.
        settled_payment_ref: Hash reference by P-RH-03.
        settlement_chain: Underscore name of the network.
        asset_id: Asset as text.
        amount_minor: Atomic units; becomes a string of digits.
        jurisdiction_flags: Kept in their order.
    """
    return {
        "canon_version": CANON_VERSION,
        "jurisdiction_flags": list(jurisdiction_flags),
        "settled_payment_ref": settled_payment_ref,
        "settlement_amount": {"amount_minor": str(amount_minor), "asset_id": asset_id},
        "settlement_chain": settlement_chain,
        "settlement_provider_did": provider_did,
        "settlement_result": result,
        "settlement_timestamp_ms": timestamp_ms,
    }


def compliance_receipt(
    *,
    network: Network,
    address: str,
    screen_result: ScreenResult,
    provider_did: str,
    timestamp_ms: int,
    jurisdiction_flags: Sequence[str] = JURISDICTION_FLAGS,
    payment_hash: str | None = None,
) -> dict[str, JsonValue]:
    """Return the payload of a compliance receipt (2.3).

    Args:
        network: Network of the screened address.
        address: The screened address; the receipt carries its hash only.
        screen_result: The verdict.
        provider_did: DID of the signer.
        timestamp_ms: Unix milliseconds of the screening.
        jurisdiction_flags: Kept in their order.
        payment_hash: On the rail, the `settled_payment_ref` of the payment; absent elsewhere.
    """
    receipt: dict[str, JsonValue] = {
        "payer_ref": payer_ref(network, address),
        "screen_result": screen_result,
        "screen_timestamp_ms": timestamp_ms,
        "screen_provider_did": provider_did,
        "jurisdiction_flags": list(jurisdiction_flags),
        "canon_version": CANON_VERSION,
    }
    return receipt if payment_hash is None else receipt | {"payment_hash": payment_hash}


def payer_ref(network: Network, address: str) -> str:
    """Return the hash reference of a screened address (2.3), in the form in which its network compares addresses.

    Raises:
        NotCanonical: The address holds a lone surrogate.
    """
    return hash_reference(canonicalise({"address": canonical_address(network, address), "network": network.key}))


def content_hash(payload: JsonValue) -> str:
    """Return the bare hex SHA-256 of a receipt's RFC 8785 form (2.3).

    Raises:
        NotCanonical: The payload has no RFC 8785 form.
    """
    return hashlib.sha256(canonicalise(payload)).hexdigest()
