"""Text that others wrote, made safe to show: a target under test chooses its bodies, headers and messages.

Every report escapes by its own format's rules as well; what is done here is what no format can carry or show.
"""

from __future__ import annotations

import re
from typing import Final

UNSHOWABLE: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]|"
    "[" + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)) + "]"
)
_UNSHOWABLE: Final = re.compile(UNSHOWABLE)


def visible(text: str) -> str:
    r"""Return `text` with every character that hides, moves or breaks other text written as an escape.

    Control characters (a terminal obeys them, XML 1.0 has no place for them), lone surrogates (UTF-8 has none),
    noncharacters, and the invisible or direction-changing ones become `\x1b`, `\ud800`, `\u202e`. Tab and line feed
    stay.
    """
    return _UNSHOWABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` visible, on one line, at most `limit` characters long and an ellipsis."""
    line = " ".join(visible(text[: 4 * limit]).split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[:limit]}…"


def shown(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, visible, saying how many are left out."""
    return visible(cut(text, limit))


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, saying how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
