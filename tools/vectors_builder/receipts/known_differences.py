"""Vectors that second libraries are known to judge differently, each with the libraries' names and the reason.

The build fails when one of these no longer differs; a test holds that exactly the libraries that are named differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_BOTH_LIBRARIES: Final = "PyJWT, joserfc"
_PYTHON_JSON: Final = f"{_BOTH_LIBRARIES}: they read headers with Python's json, which takes NaN and any depth"
_MARK: Final = f"{_BOTH_LIBRARIES}: they read headers with Python's json, which skips a byte order mark in bytes"
_LAST_WINS: Final = f"{_BOTH_LIBRARIES}: the last of two members wins, as RFC 7515 section 4 allows"
_OWN_SET: Final = f"{_BOTH_LIBRARIES}: they are asked with the selected key alone, and never see the set"
_ANY_KEY: Final = "they ask OpenSSL alone, which takes points of small order and encodings that are not canonical"
_OPENSSL: Final = f"{_BOTH_LIBRARIES}: {_ANY_KEY}"
_AND_PYCRYPTODOME: Final = f"PyCryptodome, {_BOTH_LIBRARIES}: {_ANY_KEY}; PyCryptodome takes these, too"
_PADDED_REASON: Final = "PyJWT: it takes padded base64url"
_EMPTY: Final = f"{_BOTH_LIBRARIES}: a JWS may have an empty payload, a receipt may not"
_ANY_LENGTH: Final = f"{_BOTH_LIBRARIES}: they set no such limit, nor does RFC 7515"
_DEEP: Final = "orjson: it reads 1,024 levels; 32 are the profile's limit (P-CV-02)"
_SURROGATE: Final = "orjson: it refuses half a surrogate pair as JSON, RFC 8259 section 8.2 leaves it open"
_BINARY64: Final = "orjson: it refuses a number outside binary64 as JSON, RFC 8259 section 6 leaves it open"


def _of(reason: str, kind: str, *variants: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{kind}/{variant}", reason) for variant in variants)


DIFFERENCES: Final[dict[str, str]] = dict(
    (
        *_of(_EMPTY, "format/no_payload", "empty"),
        *_of(_ANY_LENGTH, "format/too_long", "header", "payload"),
        *_of(_PADDED_REASON, "format/padding", "header", "payload", "signature"),
        *_of(_MARK, "format/header_not_strict", "bom"),
        *_of(_PYTHON_JSON, "format/header_not_strict", "nan"),
        *_of(_PYTHON_JSON, "format/header_depth", "33"),
        *_of(_LAST_WINS, "format/header_member_twice", "alg_first_none", "kid_twice", "unknown_twice"),
        *_of(f"{_BOTH_LIBRARIES}: they know b64 of RFC 7797", "format/crit_known", "b64_true"),
        *_of("joserfc: it takes crit with a name that RFC 7515 defines", "format/crit_known", "alg"),
        *_of("joserfc: it takes an empty crit", "format/crit_form", "empty"),
        *_of(
            "joserfc: it takes the payload's text for the payload itself, as RFC 7797 has it",
            *("format/b64", "false_and_critical"),
        ),
        *_of("PyJWT: it takes any b64 that is not false for true", "format/b64", "text"),
        *_of(_OWN_SET, "format/key_beside", "null", "text", "number"),
        *_of("PyJWT: it takes padded x", "format/key_x_spelling", "padding"),
        *_of("PyJWT: it takes spare bits in x", "format/key_x_spelling", "spare_bits"),
        *_of("joserfc: EdDSA is also Ed448 to it, as in RFC 8037", "algorithm/ed448", "as_eddsa"),
        *_of(_OPENSSL, "signature/key_of_small_order", "two", "four"),
        *_of(_AND_PYCRYPTODOME, "signature/key_of_small_order", "identity"),
        *_of(_AND_PYCRYPTODOME, "signature/key_of_order_eight", "eight"),
        *_of(_OPENSSL, "signature/key_not_canonical", "p_plus_one", "p"),
        *_of(_AND_PYCRYPTODOME, "signature/key_not_canonical", "sign_of_zero"),
        *_of(_DEEP, "payload/depth", "arrays", "objects"),
        *_of(_BINARY64, "canonical/number_outside", "exponent", "minus"),
        *_of(_SURROGATE, "canonical/lone_surrogate", "high", "low", "swapped"),
        *_of(_SURROGATE, "canonical/lone_surrogate_in_name", "nested"),
    )
)
