"""Streams and JSON text without commands of a build service.

GitHub, Azure Pipelines and TeamCity read commands from the output of a job, such as `::error::text` or `##[error]text`.
A target could otherwise control the build of its operator. Many places print text of a target, a node or a file, so the
streams themselves are guarded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, TextIO

from conformance.text.target_text_escaping import UNSHOWABLE, without_commands

_IN_JSON: Final = re.compile(rf"#(?=#[A-Za-z]*\[)|{UNSHOWABLE}")


class CommandFreeStream:
    """A text stream that removes commands from each text and passes it to another stream.

    Every program here writes a line in one call, so each call is searched separately.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: Any) -> int:
        """Write a text; return its length, as the other stream does."""
        if not isinstance(text, str):
            # Only a str is searched; the other stream raises its own TypeError for anything else.
            return self._stream.write(text)
        self._stream.write(without_commands(text))
        # The length of the given text and not of the written one: callers of `write` compare it with what they
        # passed.
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, one after the other."""
        for line in lines:
            self.write(line)


def escape_commands_in_json(data: bytes) -> bytes:
    r"""Return JSON text of the same value, with `##[` as `\u0023#[` and a hidden character as `\u202e`.

    Both occur in strings only, so the escape is valid JSON.
    """
    return _IN_JSON.sub(_escape_in_json, data.decode("utf-8")).encode("utf-8")


def _escape_in_json(match: re.Match[str]) -> str:
    return "\\u0023" if match[0] == "#" else json.dumps(match[0])[1:-1]
