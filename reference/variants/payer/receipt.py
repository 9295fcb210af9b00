"""The receipt of a paid call: it is verified against the rail's key, and against the call that was made (10.4)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from reference.protocol.hashes import hash_reference, request_hash, response_hash
from reference.variants.payer.http_call import Answer, NoAnswer, send_request
from reference.variants.payer.settings import Settings

_ALGORITHMS = frozenset({"EdDSA", "Ed25519"})


class BadReceipt(Exception):
    """The call was served, and its receipt is missing or not of this call; the text gives the reason."""


def check_receipt(settings: Settings, entry: Mapping[str, Any], answer: Answer) -> None:
    """Verify the receipt of an answer.

    Raises:
        BadReceipt: It is missing, does not verify, or is of another request, answer or payment.
    """
    receipt = answer.members.get("payable_receipt")
    if not isinstance(receipt, str):
        raise BadReceipt("the answer contains no receipt")
    claims = read_claims(receipt, _fetch_keys(settings))
    extra, address = entry["extra"], settings.address
    # An offer need not name its service. The receipt then does.
    service = str(extra.get("service_id", claims.get("service_id")))
    own_hash = request_hash(body=settings.request, path=address.path, query=address.query, service_id=service)
    expected = {
        "request_hash": own_hash,
        "response_hash": response_hash(answer.members.get("result")),
        "payment_reference_hash": hash_reference(extra["payment_reference"].encode()),
    }
    for name, value in expected.items():
        if claims.get(name) != value:
            raise BadReceipt(f"the receipt is of another call: {name} differs")


def read_claims(receipt: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of a receipt that a published key signed.

    Args:
        receipt: A compact JWS.
        keys: The published key set.

    Raises:
        BadReceipt: It does not verify.
    """
    # Imported here, since many runs refuse an offer and get no receipt.
    from nacl.bindings import crypto_sign_open  # noqa: PLC0415
    from nacl.exceptions import CryptoError  # noqa: PLC0415

    try:
        head, payload, signature = receipt.split(".")
        header = json.loads(_decode(head))
        if header["alg"] not in _ALGORITHMS or "crit" in header:
            raise BadReceipt("the receipt does not verify: its header asks for another algorithm")
        key = choose_key(keys, header.get("kid"))
        crypto_sign_open(_decode(signature) + f"{head}.{payload}".encode("ascii"), _decode(key["x"]))
        claims = json.loads(_decode(payload))
    except (AttributeError, CryptoError, LookupError, TypeError, ValueError) as fault:
        raise BadReceipt(f"the receipt does not verify: {type(fault).__name__}") from fault
    if not isinstance(claims, dict):
        raise BadReceipt("the receipt does not verify: its payload is no object")
    return claims


def choose_key(keys: Mapping[str, Any], kid: object) -> dict[str, Any]:
    """Return the key that a header names; if it names none of the set, the first one (P-RV-01).

    Raises:
        LookupError: There is no key.
    """
    listed = [key for key in keys["keys"] if key.get("kty") == "OKP" and key.get("crv") == "Ed25519"]
    named = [key for key in listed if key.get("kid") == kid]
    return dict((named or listed)[0])


def _decode(text: str) -> bytes:
    """Return the bytes of base64url without padding.

    Raises:
        ValueError: It is another spelling.
    """
    raw = urlsafe_b64decode(text + "==")
    # The decoder ignores foreign characters and spare bits, with which a changed receipt would still verify.
    if urlsafe_b64encode(raw).rstrip(b"=").decode("ascii") != text:
        raise ValueError("the base64url is not canonical")
    return raw


def _fetch_keys(settings: Settings) -> dict[str, Any]:
    address = settings.address._replace(path="/.well-known/jwks.json", query="").geturl()
    try:
        answer = send_request("GET", address)
    except NoAnswer as fault:
        raise BadReceipt(f"the keys cannot be fetched: {fault}") from fault
    return answer.members
