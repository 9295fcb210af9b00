"""Receipt verification, POST /v1/receipt/verify: free, stateless, without a credential (3.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reference.gateway.call_admission import Call
from reference.gateway.error_replies import json_reply
from reference.protocol.receipt_verification import verify_receipt
from reference.web.errors import Refused
from reference.web.http.exchange import Reply

_MISSING_JWS = {"loc": ["body", "jws"], "msg": "Field required", "type": "missing"}


class ReceiptVerification:
    """Verifies receipts."""

    def __init__(self, platform_keys: Callable[[], Sequence[Mapping[str, Any]]]) -> None:
        """Take the function that returns the platform's public keys, as JWK, the active one first (P-RV-01)."""
        self._platform_keys = platform_keys

    async def verify(self, call: Call) -> Reply:
        """Answer a verification: 200 with the report if the receipt is valid.

        Raises:
            Refused: 422 with the report if it is invalid (P-GR-02, P-GR-03).
        """
        request = call.content
        report: Mapping[str, Any] = verify_receipt(
            jws=request.jws,
            jwks=request.jwks,
            expected_payment_hash=request.expected_payment_hash,
            platform_keys=self._platform_keys(),
        )
        if report["verified"]:
            return json_reply(200, report)
        # A body without the member is judged like an empty receipt, and names the missing member as a schema would.
        detail = {} if "jws" in request.model_fields_set else {"detail": [_MISSING_JWS]}
        message = str(report["error_message"])
        raise Refused(422, "receipt_verification_failed", message, context={**report, **detail})
