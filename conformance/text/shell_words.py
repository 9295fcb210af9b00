"""Quoted words for a command line that a reader pastes into a shell.

A text of the target is in single quotes, in which sh, bash and zsh expand nothing. `printf` writes the characters that
a terminal would obey or hide, so that the line that is pasted is the line that was shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from conformance.text.target_text_escaping import UNSHOWABLE, has_command

# Characters without a meaning to any shell, at any place in a word.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+")
# A tab asks an interactive shell for completion.
_PRINTF_CHARACTERS: Final = re.compile(f"(?:\t|{UNSHOWABLE})+")
# Signs of a command of a build service. If a text contains one command, `printf` writes all of its signs.
_PRINTF_CHARACTERS_OF_COMMAND: Final = re.compile(f"(?:\t|::|##|{UNSHOWABLE})+")
_NAME: Final = re.compile(r"\$[A-Z][A-Z0-9_]*")

# Place of a variable's name in a text: the index of its `$`, and the length with the `$`.
Span = tuple[int, int]


def word(text: str, names: Iterable[Span] = ()) -> str:
    """Return one shell word for `text`, in which the shell replaces only the variables at `names`.

    Args:
        text: Any text without a zero character, which no argument can carry.
        names: Places of variables of the reader's environment, such as `$TOKEN`, in order.
    """
    return "".join(_parts(text, names)) or "''"


def _parts(text: str, names: Iterable[Span]) -> Iterator[str]:
    position = 0
    for start, length in names:
        # Spans come from a log that a stranger may have written. A span that is not a variable's name would put
        # that text into double quotes, where a shell runs `$(…)`.
        if _NAME.fullmatch(text, start, start + length):
            yield from _literal(text[position:start])
            yield f'"{text[start : start + length]}"'
            position = start + length
    yield from _literal(text[position:])


def _literal(text: str) -> Iterator[str]:
    contains_command = has_command(text)
    if text.isascii() and text.isprintable() and not contains_command:  # fast path: bodies can have megabytes
        yield _quote(text)
        return
    position = 0
    for match in (_PRINTF_CHARACTERS_OF_COMMAND if contains_command else _PRINTF_CHARACTERS).finditer(text):
        yield _quote(text[position : match.start()])
        octal = "".join(f"\\{byte:03o}" for byte in _bytes(match[0]))
        yield f"\"$(printf '{octal}')\""
        position = match.end()
    yield _quote(text[position:])


def _quote(text: str) -> str:
    if not text or _PLAIN.fullmatch(text):
        return text
    # Within single quotes a shell knows no escape, so a quote ends them, is written within double quotes, and
    # begins them again.
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
