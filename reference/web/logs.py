"""Structured logs of every surface: JSON lines on standard error."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import orjson


@contextmanager
def _hide_module(name: str) -> Iterator[None]:
    """Hide a module that is not imported yet, as if it were not installed."""
    is_hidden = name not in sys.modules
    if is_hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if is_hidden:
            del sys.modules[name]


# structlog imports rich and pygments for coloured traces, which no surface prints. They cost a tenth of a start.
with _hide_module("rich"):
    import structlog

get_logger = structlog.get_logger
_FRAME = re.compile(r'[ |]*File "')
_BANNER = re.compile(r"Traceback \(|The above exception|During handling|[ |+-]*$|[ |+]*Exception Group Traceback")
# Parts of a fault's sentence that may name a caller or a secret: quoted text, user names in addresses, long words.
_SECRET = re.compile(r"'[^']*'?|\"[^\"]*\"?|`[^`]*`?|(?<=://)[^/@\s]*@|[A-Za-z0-9_+/=.~-]{20,}")
_LINE = orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE
_LONGEST_SENTENCE = 300
_LONGEST_TRACEBACK = 16_000


def configure(level: str) -> None:
    """Log structured lines to standard error; no text that a caller sent is ever a member of one."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _with_traceback,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
    # What libraries log, the server's last resort among it, comes in the same form.
    # Libraries log through the standard module; without a handler their lines would have another form.
    logging.basicConfig(level=logging.WARNING, handlers=[_Structured()])


def write_line(event: str, members: dict[str, Any]) -> None:
    """Write a line of level info, of the form that `get_logger` writes, at a fifth of its cost; `members` grows."""
    members["event"], members["level"], members["timestamp"] = event, "info", datetime.now(UTC)
    sys.stderr.write(orjson.dumps(members, option=_LINE).decode())
    sys.stderr.flush()


def traceback_text(fault: BaseException) -> str:
    """Return a fault's traceback: where it came from, its kind, and its sentence without what may be a secret."""
    parts = []
    # Frames are kept and sentences redacted: a sentence may quote what a caller sent (P-CV-12).
    for part in traceback.TracebackException.from_exception(fault).format():
        if _FRAME.match(part) or _BANNER.match(part):
            parts.append(part)
        else:
            kind, colon, sentence = part.partition(": ")
            parts.append(f"{kind.splitlines()[0] if kind else ''}{colon}{redact(sentence)}\n")
    return "".join(parts)[-_LONGEST_TRACEBACK:]


def redact(sentence: str) -> str:
    """Return the first line of a fault's sentence, each part that may be a secret or a caller's as `…`."""
    return _SECRET.sub("…", sentence.partition("\n")[0])[:_LONGEST_SENTENCE]


def _with_traceback(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    fault = event.pop("exc_info", None)
    if fault is True:
        fault = sys.exc_info()[1]
    if isinstance(fault, tuple):
        fault = fault[1]
    if isinstance(fault, BaseException):
        event["traceback"] = traceback_text(fault)
    return event


class _Structured(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Write what a library logged as a structured line."""
        level = "error" if record.levelno >= logging.ERROR else "warning"
        further = {"exc_info": record.exc_info} if record.exc_info else {}
        getattr(get_logger(), level)("library", logger=record.name, message=redact(record.getMessage()), **further)
