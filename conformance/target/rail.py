"""Names of the rail that the interface leaves open, and the reference's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from conformance.target.tables import Table


class RailBindings(Table):
    """Names of the rail that the interface leaves open. None means: discover it, else the row is `unbound`.

    `a2a_uri` is the payment extension's, and `a2a_request` the data part that asks for a service over A2A: `{service}`
    stands for its name and `{body}` for its request.
    """

    services: Mapping[str, str] | None = None
    bodies: Mapping[str, Any] | None = None
    other_bodies: Mapping[str, Any] | None = None
    receipt_at: str | None = None
    result_at: str | None = None
    request_hash: str | None = None
    response_hash: str | None = None
    settled_payment_ref: str | None = None
    scheme: str | None = None
    challenge_ttl: int | None = None
    token_form: str | None = None
    spent_status: tuple[int, ...] = (409, 402)
    chain_down_status: tuple[int, ...] = (503, 402)
    replay: Literal["stored-answer", "refuse"] | None = None
    price_receipt_verify: str = "10000"
    a2a_uri: str | None = None
    a2a_request: Mapping[str, Any] | None = None


REFERENCE_RAIL = RailBindings(
    services={
        "receipt-verify": "/pay/v1/verify/receipt",
        "rfc9421-verify": "/pay/v1/verify/rfc9421",
        "compliance-receipt": "/pay/v1/compliance/receipt",
    },
    receipt_at="body:payable_receipt",
    result_at="body:result",
    request_hash="jcs-envelope",
    response_hash="jcs-result",
    settled_payment_ref="payable-core",
    scheme="exact",
    challenge_ttl=1800,
    token_form=r"^[1-9][0-9]{9,10}:[0-9a-f]{16}:[0-9a-f]{64}$",  # noqa: S106 - a pattern, not a password
    replay="stored-answer",
    a2a_uri="https://github.com/google-agentic-commerce/a2a-x402/blob/main/spec/v0.2",
    a2a_request={"service_id": "{service}", "request": "{body}"},
)
