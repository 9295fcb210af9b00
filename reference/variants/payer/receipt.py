"""The receipt of a paid call: it is verified against the rail's key, and against the call that was made (10.4)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

from reference.protocol.hashes import response_hash
from reference.variants.payer.http_call import Answer, NoAnswer, send_request
from reference.variants.payer.settings import Settings


class BadReceipt(Exception):
    """The call was served, and its receipt is missing or not of this call; the text gives the reason."""


def check_receipt(settings: Settings, entry: Mapping[str, Any], answer: Answer) -> None:
    """Verify the receipt of an answer.

    Raises:
        BadReceipt: It is missing, does not verify, or is of another request, answer or payment.
    """
    # Imported here, since most runs refuse an offer and get no receipt: these imports take as long as all others.
    from reference.protocol.challenge import payment_reference_hash  # noqa: PLC0415
    from reference.protocol.receipt_verification import verify_receipt  # noqa: PLC0415

    receipt = answer.members.get("payable_receipt")
    if not isinstance(receipt, str):
        raise BadReceipt("the answer contains no receipt")
    report = verify_receipt(jws=receipt, jwks=_fetch_keys(settings), expected_payment_hash=None, platform_keys=())
    if not report["verified"]:
        raise BadReceipt(f"the receipt does not verify: {report['error_code']}")
    claims = json.loads(urlsafe_b64decode(receipt.split(".")[1] + "=="))
    expected = {
        "request_hash": entry["extra"].get("request_hash"),
        "response_hash": response_hash(answer.members.get("result")),
        "payment_reference_hash": payment_reference_hash(entry["extra"]["payment_reference"]),
    }
    for name, value in expected.items():
        if value is not None and claims.get(name) != value:
            raise BadReceipt(f"the receipt is of another call: {name} differs")


def _fetch_keys(settings: Settings) -> Any:
    address = settings.address._replace(path="/.well-known/jwks.json", query="").geturl()
    try:
        answer = send_request("GET", address)
    except NoAnswer as fault:
        raise BadReceipt(f"the keys cannot be fetched: {fault}") from fault
    return answer.members
