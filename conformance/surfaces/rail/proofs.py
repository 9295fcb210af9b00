"""Encodings of proofs for X-PAYMENT, valid or malformed."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

# An ordinary x402 payload, which is not welded.
STOCK_PAYMENT: Final = {"x402Version": 2, "payload": {"signature": "0x" + "00" * 65, "authorization": {}}}


def encode_base64(data: bytes) -> str:
    """Return standard base64 with padding."""
    return base64.b64encode(data).decode()


def encode_json(value: Any) -> str:
    """Return standard base64 of compact JSON."""
    return encode_base64(json.dumps(value, separators=(",", ":")).encode())
