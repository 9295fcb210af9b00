"""RAIL-402-22: a 402 that refuses a payment carries x402's header PAYMENT-RESPONSE."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from conformance.assertions.rail.refusals import is_challenged
from conformance.discovery.rail import Operation
from conformance.engine.check import Case, check
from conformance.engine.quick_policy import sample
from conformance.http.client import Answer
from conformance.oracles.challenge_schema import proof_of_another_family
from conformance.surfaces.rail.purchase import header_value
from conformance.surfaces.rail.unpaid_answers import entries

ROW = "RAIL-402-22"
_HEADER = "PAYMENT-RESPONSE"
_NEVER_ISSUED = "1795240615:047652b0a2d99b35:" + "0" * 64


@check(
    ROW,
    surface="rail",
    fix="Send PAYMENT-RESPONSE with each 402 that answers a presented payment. It is base64 of success false, "
    "errorReason, transaction (may be empty) and network, a CAIP-2 name of accepts.",
    quick=sample("operations"),
)
async def refused_payment_is_told_of(case: Case) -> None:
    """A 402 to a presented payment carries PAYMENT-RESPONSE, an x402 settlement response that names a network.

    Presents to each operation five invalid payments: the payload of an ordinary x402 client of version 2 and of version
    1 in X-PAYMENT, that of version 2 in PAYMENT-SIGNATURE, a header that is not base64, and a proof with a token that
    was never issued. Expects 402 with PAYMENT-RESPONSE: base64 of a JSON object with success false, errorReason and
    transaction as texts, and a network that its accepts offers.

    Then presents for each entry of accepts an ordinary payload with the entry's network, and a proof in another lane's
    form with the entry's token. Expects that entry's network, and not another one of accepts (P-ER-01).
    """
    for operation in case.sample(case.session.catalog.operations):
        unpaid = await case.client.call("POST", operation.url, json_body=operation.body)
        accepts = unpaid.read_object().get("accepts")
        entry = accepts[0] if isinstance(accepts, list) and accepts and isinstance(accepts[0], dict) else {}
        payload = {"signature": "0x" + "00" * 65, "authorization": {}}
        version_2 = header_value({"x402Version": 2, "accepted": entry, "payload": payload})
        version_1 = header_value({"x402Version": 1, "scheme": "exact", "network": "avalanche", "payload": payload})
        forged_value = header_value({"tx_id": "A" * 52, "payment_reference": _NEVER_ISSUED})
        payments = {
            "a payload of x402 version 2": {"X-PAYMENT": version_2},
            "a payload of x402 version 1": {"X-PAYMENT": version_1},
            "a payload of x402 version 2 in PAYMENT-SIGNATURE": {"PAYMENT-SIGNATURE": version_2},
            # The five kinds fail at different steps of the redemption. Each step has its own code path that must set
            # the header.
            "a header that is not base64": {"X-PAYMENT": "please"},
            "a token that was never issued": {"X-PAYMENT": forged_value},
        }
        for description, headers in payments.items():
            case.client.names.name(next(iter(headers.values())), "REFUSED_PAYMENT")
            answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
            if not is_challenged(answer):
                case.mark_inconclusive(ROW, f"{description} is not answered 402 with accepts, which other rows judge")
                continue
            fault = _find_fault(answer)
            where = {"operation": operation.path, "payment": description}
            expectation = f"{_HEADER} with success false, errorReason, transaction and a network of accepts"
            case.expect(ROW, fault is None, expectation, fault, exchange=answer, where=where)
        await _judge_networks(case, operation, unpaid)


async def _judge_networks(case: Case, operation: Operation, unpaid: Answer) -> None:
    """Judge for each offered network that the response to its payment names it."""
    for entry in entries(unpaid):
        network, extra = entry.get("network"), entry.get("extra")
        token = extra.get("payment_reference") if isinstance(extra, Mapping) else None
        payload = {"signature": "0x" + "00" * 65, "authorization": {}}
        payments: dict[str, Any] = {
            "a payload of its network": {"x402Version": 2, "accepted": entry, "payload": payload},
            # The token decides the network, because it names the lane. The form of the proof does not (P-ER-01).
            "its token in a proof of another lane": proof_of_another_family(network, token),
        }
        for description, proof in payments.items():
            value = header_value(proof)
            case.client.names.name(value, "REFUSED_PAYMENT")
            headers = {"X-PAYMENT": value}
            answer = await case.client.call("POST", operation.url, json_body=operation.body, headers=headers)
            if not is_challenged(answer):
                case.mark_inconclusive(ROW, f"{description} is not answered 402 with accepts, which other rows judge")
                continue
            fault = _find_fault(answer, of=network)
            where = {"operation": operation.path, "payment": description, "network": str(network)}
            case.expect(ROW, fault is None, f"{_HEADER} with network {network}", fault, exchange=answer, where=where)


def _find_fault(answer: Answer, *, of: object = None) -> str | None:
    """Return the fault of a 402's settlement response, or None. `of` is the network of the payment, if it is known."""
    if _HEADER not in answer.headers:
        return f"no {_HEADER}"
    try:
        response: Any = json.loads(base64.b64decode(answer.headers[_HEADER], validate=True))
    except (ValueError, RecursionError, binascii.Error):
        return "not base64 of JSON"
    if not isinstance(response, dict):
        return "not a JSON object"
    if response.get("success") is not False:
        return f"success {response.get('success')!r}"
    missing_names = [name for name in ("errorReason", "transaction") if not isinstance(response.get(name), str)]
    # The transaction may be the empty text if none was made, but a reason always exists.
    if missing_names or not response["errorReason"]:
        return f"no text as {', '.join(missing_names) or 'errorReason'}"
    accepts = answer.read_object().get("accepts")
    networks = {one.get("network") for one in accepts if isinstance(one, dict)} if isinstance(accepts, list) else set()
    # x402 clients choose the chain to look at by the network, so it must be one that this 402 offers.
    allowed_networks = networks if of is None else {of}
    return None if response.get("network") in allowed_networks else f"network {response.get('network')!r}"
