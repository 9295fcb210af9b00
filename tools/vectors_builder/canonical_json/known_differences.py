"""Texts on which an unrelated reader or writer is known to disagree with the vector, each with the reason.

The build fails when one of these no longer differs.
"""

from __future__ import annotations

from typing import Final

_LAST_WINS: Final = (
    "orjson and Node read the last of two members; RFC 8785 3.1 and RFC 7493 2.3 forbid both to be there"
)
_NEAREST: Final = "Node reads the nearest number; RFC 7493 2.2 only advises against such an integer (P-CV-20)"

DIFFERENCES: Final[dict[str, str]] = {
    "duplicate_members/same-name/two-values": _LAST_WINS,
    "duplicate_members/same-name/one-value": _LAST_WINS,
    "duplicate_members/same-name/empty": _LAST_WINS,
    "duplicate_members/other-spelling/escaped-letter": _LAST_WINS,
    "duplicate_members/other-spelling/digits-in-both-cases": _LAST_WINS,
    "duplicate_members/other-spelling/surrogate-pair": _LAST_WINS,
    "duplicate_members/nested/in-an-object": _LAST_WINS,
    "duplicate_members/nested/in-an-array": _LAST_WINS,
    "duplicate_members/nested/deeper": _LAST_WINS,
    "number/inexact-integer/two-to-the-53rd": _NEAREST,
    "number/inexact-integer/odd": _NEAREST,
    "number/inexact-integer/thirty-digits": f"{_NEAREST}; orjson does so from 2^64 on",
}
