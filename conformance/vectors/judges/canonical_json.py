"""The judge of canonical JSON (RFC 8785 over RFC 7493 and RFC 8259; P-CV-07)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.strict_json import IJsonFault, i_json
from conformance.vectors.judges import Verdict


def judge(question: Mapping[str, Any]) -> Verdict:
    """Return the verdict on `json_b64`; if valid, with the canonical form (base64) and its SHA-256 (hex)."""
    try:
        # The question is in base64: a text in JSON could not contain the malformed bytes of some vectors.
        value = i_json(base64.b64decode(question["json_b64"]))
    except IJsonFault as fault:
        return Verdict.refuse(fault.kind.value)
    canonical = jcs_bytes(value)
    return Verdict.holds(canonical_b64=base64.b64encode(canonical).decode(), sha256=sha256_hex(canonical))
