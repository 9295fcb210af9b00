"""Escapes for text of a target, which chooses its bodies, headers and messages.

Every report also escapes by the rules of its format. This module escapes what no format can carry or show.
"""

from __future__ import annotations

import re
from typing import Final

# Controls except tab and line feed, zero-width and direction-changing characters, separators of lines and
# paragraphs, lone surrogates, tags, and the noncharacters of every plane.
UNSHOWABLE: Final = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]|"
    "[" + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)) + "]"
)
_UNSHOWABLE: Final = re.compile(UNSHOWABLE)
# Commands of a build service in the output of a job, up to the letter that is escaped. GitHub reads `::error …` at the
# beginning of a line, which a carriage return begins too, and `##[error]` anywhere; Azure Pipelines reads `##vso[…]`
# and TeamCity `##teamcity[…]` anywhere.
_COMMAND: Final = re.compile(r"(?m:^|(?<=\r))([^\S\r\n]*):(?=:[A-Za-z])|#(?=#[A-Za-z]*\[)")


def visible(text: str) -> str:
    r"""Return `text` with every character that hides, moves or breaks other text written as an escape.

    Control characters (a terminal obeys them, XML 1.0 has no place for them), lone surrogates (UTF-8 has none),
    noncharacters, and the invisible or direction-changing ones become `\x1b`, `\ud800`, `\u202e`. Tab and line feed
    stay. So does what a build service would take for a command in the output of a job: `\x3a:error`, `\x23#[error]`.
    """
    return without_commands(_UNSHOWABLE.sub(_escape_character, text))


def without_commands(text: str) -> str:
    r"""Return `text` with `\x3a` and `\x23` where a build service would see a command in the output of a job."""
    return _COMMAND.sub(_escape_command, text) if "::" in text or "##" in text else text


def has_command(text: str) -> bool:
    """Return whether a build service would see a command in a text, at its beginning or further on."""
    return ("::" in text or "##" in text) and _COMMAND.search(text) is not None


def _escape_command(match: re.Match[str]) -> str:
    return "\\x23" if match[1] is None else f"{match[1]}\\x3a"


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` visible, on one line, with an ellipsis after `limit` characters."""
    # The text can have megabytes. It is cut before the escape, with room for white space that `split` removes.
    line = " ".join(visible(text[: 4 * limit]).split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[:limit]}…"


def show_shortened(text: str, limit: int) -> str:
    """Return the first `limit` characters of `text`, visible, with the number of those left out."""
    return visible(shorten(text, limit))


def shorten(text: str, limit: int) -> str:
    """Return the first `limit` characters of `text`, with the number of those left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"
