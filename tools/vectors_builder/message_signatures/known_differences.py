"""Vectors that `http-message-signatures` judges differently than the suite, each with the reason.

The build fails when one of these no longer differs.
"""

from __future__ import annotations

from typing import Final

_ANY_KEY: Final = "it asks OpenSSL alone, which takes points of small order and some encodings that are not canonical"
_LAST_WINS: Final = "it lets the last of two parameters win, as RFC 8941 has it"
_ANY_BASE64: Final = "it reads base64 leniently, as RFC 8941 4.2.7 would have it"
_NO_BODY: Final = "it compares a digest only where one is required"

DIFFERENCES: Final[dict[str, str]] = {
    "valid/method/in-lower-case": "it refuses methods with lower-case letters; RFC 9110 does not",
    "valid/parameter-order/with-unregistered-ones": "it refuses parameters that it does not know",
    "valid/compatibility/created-as-a-component": "RFC 9421 knows no such component (P-AG-07)",
    "valid/digest/beside-an-unknown-one": "it refuses a digest field that names an algorithm it does not know",
    "headers/input-repeated-parameter/keyid": _LAST_WINS,
    "coverage/nothing/with-parameters": "it accepts a signature over nothing, as the RFC's B.2.1",
    "key/small-order/identity": _ANY_KEY,
    "key/small-order-did-key/identity": _ANY_KEY,
    "key/not-canonical/p-plus-one": _ANY_KEY,
    "key/not-canonical/sign-of-zero": _ANY_KEY,
    "digest/another-spelling/spare-bits": _ANY_BASE64,
    "digest/not-required/covered": _NO_BODY,
    "digest/not-required/uncovered": _NO_BODY,
}
