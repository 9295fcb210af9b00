"""What follows from a recorded request: its curl line, its template, and the templates of a whole run.

The event log keeps a request once; these are worked out when somebody asks.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from conformance.events import Event


def curl_line(request: Mapping[str, Any]) -> str:
    """Return the command that sends a recorded request once more; `$NAMES` stand for secrets and live values."""
    words = ["curl", "-sS", "-i", "-X", request["method"], _quoted(request["url"])]
    for name, value in request["headers"]:
        words += ["-H", _quoted(f"{name}: {value}")]
    if request["body"] is not None:
        words += ["--data-binary", _quoted(request["body"])]
    return " ".join(words)


def template(request: Mapping[str, Any]) -> list[Any]:
    """Return what a seed decides of a request: method, path, header names (lower case, sorted), body or None."""
    names = sorted(name.lower() for name, _ in request["headers"])
    return [request["method"], request["path"], names, request["body"]]


def templates(events: Iterable[Event]) -> Counter[str]:
    """Return the templates of all requests that a run sent, as JSON text, each with how often it was sent.

    Repeats that the target asked for are left out: they hang on its pace.
    """
    sent = (event for event in events if event["event"] == "exchange" and not event["retry"])
    return Counter(orjson.dumps(template(event["request"])).decode() for event in sent)


def _quoted(text: str) -> str:
    """Quote for a shell, leaving `$NAMES` to be filled in by the reader's environment."""
    if re.search(r"\$[A-Z]", text) is None:
        return shlex.quote(text)
    return '"' + re.sub(r'(["\\`]|\$(?![A-Z]))', r"\\\1", text) + '"'
