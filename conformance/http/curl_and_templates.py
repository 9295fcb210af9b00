"""Derived forms of a recorded request: its curl line, its template, and the templates of a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from conformance.log.events import Event
from conformance.text.shell_words import Span, word


def write_curl_line(request: Mapping[str, Any]) -> str:
    """Return the command line that repeats a recorded request; `$NAMES` replace secrets and live values."""
    texts = [text for field in request["headers"] for text in field]
    if any("\0" in text for text in (request["method"], request["url"], request["body"] or "", *texts)):
        return "# not as a command line: the request has a zero byte, which no argument can carry"
    # Only the places that the recording client recorded are variables. Any other `$` is quoted: a target must not
    # choose which of the reader's variables are sent to it.
    names = request.get("names") or {}
    # With -X HEAD, curl would wait for a body that never comes.
    method = ["-X", word(request["method"])] if request["method"] != "HEAD" else ["--head"]
    # -g and --path-as-is keep curl from reading patterns or dot segments into the address.
    words = ["curl", "-sS", "-i", "-g", "--path-as-is", *method]
    words += ["--url", word(request["url"], names.get("url", ()))]
    for place, (name, value) in enumerate(request["headers"]):
        # curl would read a file of that name. No field name begins with @ (RFC 9110, 5.1).
        if not name.startswith("@"):
            words += ["-H", _write_field(name, value, names.get("headers", {}).get(str(place), ()))]
    if request["body"] is not None:
        if not any(name.lower() == "content-type" for name, _ in request["headers"]):
            # curl would otherwise call the body a form, which the request did not.
            words += ["-H", "Content-Type:"]
        # Not --data, which would read a file for a body that begins with @.
        words += ["--data-raw", word(request["body"], names.get("body", ()))]
    return " ".join(words)


def _write_field(name: str, value: str, names: Iterable[Span]) -> str:
    """Return a header field for curl, which would leave out a field `Name:` without a value."""
    begin = f"{name}: " if value else f"{name};"
    return word(begin + value, [(start + len(begin), length) for start, length in names])


def make_template(request: Mapping[str, Any]) -> list[Any]:
    """Return the parts of a request that the seed decides: method, path, header names (lower case, sorted), body."""
    names = sorted(name.lower() for name, _ in request["headers"])
    return [request["method"], request["path"], names, request["body"]]


def count_templates(events: Iterable[Event]) -> Counter[str]:
    """Return the templates of all requests of a run, as JSON text, each with its count."""
    # Repeats that the target asked for depend on its pace, not on the seed.
    exchanges = (event for event in events if event["event"] == "exchange" and not event["retry"])
    return Counter(orjson.dumps(make_template(event["request"])).decode() for event in exchanges)
