"""Structured lines on standard error: how every surface logs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _not_there(name: str) -> Iterator[None]:
    """Let a module that nobody has imported yet look as if it were not installed."""
    hidden = name not in sys.modules
    if hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hidden:
            del sys.modules[name]


# structlog imports rich and pygments for traces in colour, which no surface prints: a tenth of what a start costs.
with _not_there("rich"):
    import structlog

get_logger = structlog.get_logger


def configure(level: str) -> None:
    """Log structured lines to standard error; nothing a caller sent is ever a member of one."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
    )
