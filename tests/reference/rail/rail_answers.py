"""What the rail's refusals look like, checked the same way by every test (P-ER-01, P-ER-04)."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """Return status and code of a refusal."""
    return answer.status_code, answer.json()["error"]


def refused_402(answer: httpx.Response, code: str) -> dict[str, Any]:
    """Check what every 402 has, and return the body."""
    assert (402, code) == code_of(answer)
    body: dict[str, Any] = answer.json()
    repeated = {name: value for name, value in body.items() if name != "error_detail"}
    assert json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"])) == repeated
    assert answer.headers["Cache-Control"] == "no-store"
    assert len(body["accepts"]) == 1
    return body


def refused_payment(answer: httpx.Response, code: str, tx_id: str = "") -> None:
    """Check a 402 that judged a proof: fresh tokens, and PAYMENT-RESPONSE by P-ER-01."""
    body = refused_402(answer, code)
    document = json.loads(base64.b64decode(answer.headers["PAYMENT-RESPONSE"]))
    assert (document["success"], document["errorReason"]) == (False, code)
    assert document["network"] == body["accepts"][0]["network"]
    if tx_id:
        assert document["transaction"] == tx_id


def refused_otherwise(answer: httpx.Response, status: int, code: str) -> None:
    """Check the body of every other refusal (P-ER-04)."""
    assert (status, code) == code_of(answer)
    assert set(answer.json()) == {"error", "message", "request_id"}
    assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
