"""Output in which nothing is a command of a build service, whoever chose the text.

GitHub, Azure Pipelines and TeamCity read commands from the output of a job, such as `::error::text` or `##[error]text`.
Commands print what a target, a node or a file says in many places, so the streams themselves are guarded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, TextIO

from conformance.text.untrusted import UNSHOWABLE, without_commands

_IN_JSON: Final = re.compile(rf"#(?=#[A-Za-z]*\[)|{UNSHOWABLE}")


class CommandFreeStream:
    """A text stream that writes to another one, without commands; everything else is the other stream's.

    A line is written at once by all commands, so that each write is looked at by itself.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: Any) -> int:
        """Write a text; returns its length, as the other stream does."""
        if not isinstance(text, str):
            return self._stream.write(text)
        self._stream.write(without_commands(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, one after the other."""
        for line in lines:
            self.write(line)


def escape_commands_in_json(data: bytes) -> bytes:
    r"""Return JSON text of the same value that shows as it is: `##[` is `\u0023#[`, a hidden letter `\u202e`.

    Such letters are in strings only.
    """
    return _IN_JSON.sub(_escape_in_json, data.decode("utf-8")).encode("utf-8")


def _escape_in_json(match: re.Match[str]) -> str:
    return "\\u0023" if match[0] == "#" else json.dumps(match[0])[1:-1]
