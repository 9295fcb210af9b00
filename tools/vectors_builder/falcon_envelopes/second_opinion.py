"""What pqcrypto and Python's own base64 and JSON say of the same envelopes; none shares code with the suite's judge."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.falcon_envelopes.signing import pqcrypto_holds

# The code if the fault is in the signature. At the stages of `_CODES_AFTER_SIGNATURE` the fault is elsewhere, and the
# signature must hold.
_UNSIGNED_CODE: Final = "sig_invalid"
_UNREADABLE: Final = "envelope_decode"
_CODES_AFTER_SIGNATURE: Final = frozenset(
    {
        "valid",
        "unsupported_alg",
        "wrong_issuer",
        "kid_mismatch",
        "timestamp_parse",
        "expired",
        "score_too_low",
        "not_passed",
        "wrong_audience",
        "unknown_proof_system",
        "proof_invalid",
    }
)


def complaints(draft: Draft) -> Iterator[str]:
    """Yield where the second verifier disagrees with a draft."""
    yield from said_of(draft, str(draft.input["envelope"]))


def said_of(draft: Draft, text: str) -> Iterator[str]:
    """Yield the disagreements about an envelope that is in a draft's input."""
    try:
        members = read(text)
    except ValueError as fault:
        if draft.stage != _UNREADABLE:
            yield f"a lenient reader cannot read it: {fault}"
        return
    if draft.stage == _UNREADABLE:
        yield "a lenient reader reads it"
    elif draft.stage in {_UNSIGNED_CODE, *_CODES_AFTER_SIGNATURE}:
        holds = _signature_holds(members, draft.input["keys"])
        if holds != (draft.stage != _UNSIGNED_CODE):
            yield f"by pqcrypto the signature {'holds' if holds else 'does not hold'}"


def read(text: str) -> Any:
    """Return the value of an envelope's text, as who takes what Python's libraries take by themselves has it."""
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def _signature_holds(members: Mapping[str, Any], keys: Mapping[str, str]) -> bool:
    """Return whether the signature holds under the trusted key that the envelope names, or under any for want of it."""
    message = canonical(members["payload"]).encode()
    signature = base64.urlsafe_b64decode(str(members["sig"]) + "==")
    keys_in_set = [base64.b64decode(key) for key in keys.values()]
    keys_of_kid = [key for key in keys_in_set if hashlib.sha256(key).hexdigest().startswith(str(members["kid"]))]
    return any(pqcrypto_holds(key, message, signature) for key in keys_of_kid or keys_in_set)


def canonical(value: Any) -> str:
    """Return the RFC 8785 form of a value, written from section 3.2 for the numbers that payloads have."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{_text(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
