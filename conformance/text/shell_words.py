"""Words of a command line that somebody will paste into a shell: exactly what was meant, whoever chose the text.

What a target chose stands in single quotes, in which sh, bash and zsh expand nothing. What a terminal would obey, or
would not show, is made by `printf`, so that the line that is shown is the line that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from conformance.text.untrusted import UNSHOWABLE, has_command

# What no shell does anything with, wherever it stands in a word.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./-]+")
# A tab asks an interactive shell for completion.
_PRINTF_CHARACTERS: Final = re.compile(f"(?:\t|{UNSHOWABLE})+")
# Of a command of a build service in the output of a job, its signs: a text that holds one makes all of them.
_PRINTF_CHARACTERS_OF_COMMAND: Final = re.compile(f"(?:\t|::|##|{UNSHOWABLE})+")
_NAME: Final = re.compile(r"\$[A-Z][A-Z0-9_]*")

# Where a name stands in a text: place of its `$`, and its length with the `$`.
Span = tuple[int, int]


def word(text: str, names: Iterable[Span] = ()) -> str:
    """Return one word for a shell that stands for `text`, in which it fills in the variables at `names` only.

    Args:
        text: Any text without a zero character, which no argument can carry.
        names: Places of variables of the reader's environment, such as `$TOKEN`, in order.
    """
    return "".join(_parts(text, names)) or "''"


def _parts(text: str, names: Iterable[Span]) -> Iterator[str]:
    position = 0
    for start, length in names:
        if _NAME.fullmatch(text, start, start + length):
            yield from _literal(text[position:start])
            yield f'"{text[start : start + length]}"'
            position = start + length
    yield from _literal(text[position:])


def _literal(text: str) -> Iterator[str]:
    contains_command = has_command(text)
    if text.isascii() and text.isprintable() and not contains_command:  # most bodies, some of them of megabytes
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
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
