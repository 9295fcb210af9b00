"""Probe of a guessed request body: whether the operation accepts it, before a payment is made for it.

Two faults in one request decide nothing. If the body of a call may be refused rightly, no payment is made and no row is
judged by it until the profile binds a body that the operation accepts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from conformance.discovery.rail import Operation
from conformance.http.client import Answer, Client
from conformance.http.refusal_details import describe_refused_body
from conformance.vocabulary.lanes.registry import FACTS

# Ids of the right form that name no transaction.
_NO_TRANSACTION: Final[Mapping[str, str]] = {
    name: lane.no_transaction for name, lane in FACTS.items() if lane.no_transaction is not None
}


async def probe_body(client: Client, operation: Operation) -> str | None:
    """Return how an operation refuses its body, or None if no refusal is seen.

    Asks for the price, then presents a proof that names no transaction. Nothing is paid.

    Raises:
        Unreachable: It gave no answer.
    """
    unpaid = await client.call("POST", operation.url, json_body=operation.body)
    reason = describe_refused_body(unpaid)
    if reason is not None or unpaid.status != 402:
        return reason
    # Some services look at the body only after they have seen a proof. This proof can buy nothing, and such a
    # service reports the body before it looks for the payment.
    proof = _worthless_proof(unpaid)
    if proof is None:
        return None
    value = base64.b64encode(json.dumps(proof, separators=(",", ":")).encode()).decode()
    # The value contains a token that differs from run to run.
    client.names.name(value, "X_PAYMENT")
    return describe_refused_body(
        await client.call("POST", operation.url, json_body=operation.body, headers={"X-PAYMENT": value})
    )


def _worthless_proof(unpaid: Answer) -> dict[str, Any] | None:
    accepts = unpaid.read_object().get("accepts")
    for entry in accepts if isinstance(accepts, list) else ():
        extra = entry.get("extra") if isinstance(entry, dict) else None
        token = extra.get("payment_reference") if isinstance(extra, dict) else None
        lane = str(entry.get("network", "")).partition(":")[0] if isinstance(entry, dict) else ""
        if isinstance(token, str) and lane in _NO_TRANSACTION:
            return {"tx_id": _NO_TRANSACTION[lane], "payment_reference": token}
    return None
