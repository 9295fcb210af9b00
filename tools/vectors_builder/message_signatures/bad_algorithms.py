"""Signatures in the other algorithms that must not hold; an agent has no keys for them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from conformance.oracles.message_signatures.algorithms import (
    ECDSA_P256,
    ECDSA_P384,
    RSA_PSS,
    RSA_V1_5,
    SigningKey,
)
from conformance.oracles.message_signatures.faults import Code
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.message_signatures.drafting import (
    OFFLINE,
    Members,
    draft_refusal,
    get,
    replace_signature,
    sign,
    signature_of,
)
from tools.vectors_builder.message_signatures.valid_offline import curve_key, rsa_key, secret_key

_COVER: Final = '"@method" "@authority" "@path"'


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _ecdsa()
    yield from _rsa()
    yield from _hmac()


def _bad(kind: str, variant: str, message: Members, key: dict[str, str], fault: str, why: str, **more: Any) -> Draft:
    policy = {"allowed_algorithms": [key["algorithm"]]}
    members = {"key": key, "policy": policy, "doors": OFFLINE, **more}
    return draft_refusal(
        f"equation/{kind}", variant, message, Code.SIGNATURE_MISMATCH, fault, why, "AGENT-VERIFY-02", **members
    )


def _sign_by(key: SigningKey) -> Members:
    return sign(get(), _COVER, ';created=1735689600;keyid="other"', by=key)


def _ecdsa() -> Iterator[Draft]:
    why = "an ECDSA signature is r and s, each of the curve's size (RFC 9421 3.3.4 and 3.3.5)"
    for algorithm, size in ((ECDSA_P256, 32), (ECDSA_P384, 48)):
        key, members = curve_key(algorithm)
        message = _sign_by(key)
        raw = signature_of(message)
        r, s = raw[:size], raw[size:]
        der = encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
        kind = f"{algorithm}-form"
        for variant, changed_message, fault in (
            ("der", der, "the signature is in DER"),
            ("s-first", s + r, "s comes before r"),
            ("r-zero", bytes(size) + s, "r is zero"),
        ):
            yield _bad(kind, variant, replace_signature(message, changed_message), members, fault, why)


def _rsa() -> Iterator[Draft]:
    key, members = rsa_key()
    message = _sign_by(key)
    pss = {**members, "algorithm": RSA_PSS}
    fault = "the padding is PKCS#1 v1.5, and PSS is expected"
    yield _bad("rsa-padding", "v1_5-as-pss", message, pss, fault, "paddings are not interchangeable")
    raw = signature_of(message)
    for variant, changed_message, fault in (
        ("zero-in-front", b"\x00" + raw, "a zero byte before the signature"),
        ("cut", raw[1:], "the first byte is missing"),
    ):
        yield _bad(
            f"{RSA_V1_5}-form",
            variant,
            replace_signature(message, changed_message),
            members,
            fault,
            "the length is the modulus's",
        )


def _hmac() -> Iterator[Draft]:
    key, members = secret_key()
    message = _sign_by(key)
    raw = signature_of(message)
    secret = base64.b64decode(members["secret_b64"])
    as_text = {**members, "secret_b64": base64.b64encode(members["secret_b64"].encode()).decode()}
    longer = {**members, "secret_b64": base64.b64encode(secret + b"\n").decode()}
    fault, why = "the secret is another", "a secret is its bytes"
    yield _bad("secret", "its-base64-text", message, as_text, fault, why)
    yield _bad("secret", "with-a-line-feed", message, longer, fault, why)
    fault = "only the first half of the code is sent"
    yield _bad(
        "code-cut", "sixteen-bytes", replace_signature(message, raw[:16]), members, fault, "the whole code counts"
    )
