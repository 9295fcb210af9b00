"""Encodings of proofs for X-PAYMENT, valid or malformed."""

from __future__ import annotations

import base64
import json
from typing import Any


def encode_base64(data: bytes) -> str:
    """Return standard base64 with padding."""
    return base64.b64encode(data).decode()


def encode_json(value: Any) -> str:
    """Return standard base64 of compact JSON."""
    return encode_base64(json.dumps(value, separators=(",", ":")).encode())
