"""Envelopes that a second library is known to read differently, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PADDING: Final = "Python's base64 ignores padding beyond what it needs"
_SPARE: Final = "Python's base64 drops the spare bits of the last letter"
_LAST: Final = "Python's json takes the last of two members of one name"

DIFFERENCES: Final[Mapping[str, str]] = {
    "sig_invalid/zeros_after_the_end/padded_form": (
        "pqcrypto takes the padded form beside the compressed one: zeros up to 1280 bytes, and no other number of them"
    ),
    "envelope_decode/padding/needed": _PADDING,
    "envelope_decode/padding/beyond": _PADDING,
    "envelope_decode/spare_bits/last_letter": _SPARE,
    "envelope_decode/duplicate/in_the_envelope": _LAST,
    "envelope_decode/duplicate/in_the_payload": _LAST,
    "envelope_decode/duplicate/of_the_payload": _LAST,
    "envelope_decode/byte_order_mark/utf8": "Python's json leaves it out where it is given bytes",
    "envelope_decode/literal/nan": "Python's json knows NaN",
    "envelope_decode/literal/infinity": "Python's json knows Infinity",
    "envelope_decode/depth/thirty_three": "Python's json goes as deep as its stack",
}
