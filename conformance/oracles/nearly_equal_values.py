"""Near misses: values that differ from the right one in one place, so that each careless comparison takes one of them.

A comparison of a beginning, an end, one half or any part leaves some place out. One change in each eighth and one at
the very end find it, whatever the part. What is compared with them: notes, nonces, MACs of tokens, and payees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PARTS: Final = 8
_HEX_DIGITS: Final = "0123456789abcdef"


def list_places(length: int) -> list[int]:
    """Return the first place of each eighth, and the last place."""
    return sorted({*(length * part // _PARTS for part in range(_PARTS)), length - 1})


def list_near_texts(text: str, alphabet: str = _HEX_DIGITS) -> Mapping[str, str]:
    """Return texts with one character replaced by another of its alphabet, by description.

    A character outside of the alphabet, such as a colon, stays as it is, and the next one is replaced.
    """
    found: dict[str, str] = {}
    for place in list_places(len(text)):
        steps = [*range(place, len(text)), *range(place - 1, -1, -1)]
        at = next((step for step in steps if text[step].lower() in alphabet), None)
        if at is not None:
            digit = alphabet[(alphabet.index(text[at].lower()) + 1) % len(alphabet)]
            found[f"character {at + 1} of {len(text)} changed"] = text[:at] + digit + text[at + 1 :]
    return found


def list_near_bytes(value: bytes) -> Mapping[str, bytes]:
    """Return byte strings with one bit changed, by description."""
    return {
        f"a bit of byte {place + 1} of {len(value)} changed": value[:place]
        + bytes([value[place] ^ 1])
        + value[place + 1 :]
        for place in list_places(len(value))
    }
