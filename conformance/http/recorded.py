"""What follows from a recorded request: its curl line, its template, and the templates of a whole run.

The event log keeps a request once; these are worked out when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from conformance.log.events import Event
from conformance.text.shell_words import Span, word


def write_curl_line(request: Mapping[str, Any]) -> str:
    """Return the command that sends a recorded request once more, for sh and shells of its kind.

    `$NAMES` stand for secrets and live values, where the recording client put them (`names` of the request). A `$` that
    somebody else wrote is a `$`: a target must not choose which of the reader's variables are sent to it. Nor does curl
    read anything into what it is given: no patterns in the address, no file for a body that begins with `@`; nor does
    it call a body a form that the request called nothing, or wait for the body of an answer to HEAD.
    """
    texts = [text for field in request["headers"] for text in field]
    if any("\0" in text for text in (request["method"], request["url"], request["body"] or "", *texts)):
        return "# not as a command line: the request has a zero byte, which no argument can carry"
    names = request.get("names") or {}
    method = ["-X", word(request["method"])] if request["method"] != "HEAD" else ["--head"]
    words = ["curl", "-sS", "-i", "-g", "--path-as-is", *method]
    words += ["--url", word(request["url"], names.get("url", ()))]
    for place, (name, value) in enumerate(request["headers"]):
        # curl would read a file of that name; no field's name begins so (RFC 9110, 5.1).
        if not name.startswith("@"):
            words += ["-H", _write_field(name, value, names.get("headers", {}).get(str(place), ()))]
    if request["body"] is not None:
        if not any(name.lower() == "content-type" for name, _ in request["headers"]):
            words += ["-H", "Content-Type:"]
        words += ["--data-raw", word(request["body"], names.get("body", ()))]
    return " ".join(words)


def _write_field(name: str, value: str, names: Iterable[Span]) -> str:
    """Return a header field as curl takes it: it would leave out `Name:`."""
    begin = f"{name}: " if value else f"{name};"
    return word(begin + value, [(start + len(begin), length) for start, length in names])


def make_template(request: Mapping[str, Any]) -> list[Any]:
    """Return what a seed decides of a request: method, path, header names (lower case, sorted), body or None."""
    names = sorted(name.lower() for name, _ in request["headers"])
    return [request["method"], request["path"], names, request["body"]]


def count_templates(events: Iterable[Event]) -> Counter[str]:
    """Return the templates of all requests that a run sent, as JSON text, each with how often it was sent.

    Repeats that the target asked for are left out: they hang on its pace.
    """
    exchanges = (event for event in events if event["event"] == "exchange" and not event["retry"])
    return Counter(orjson.dumps(make_template(event["request"])).decode() for event in exchanges)
