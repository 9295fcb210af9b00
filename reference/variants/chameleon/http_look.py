"""What may differ in the HTTP of every answer, whatever it says."""

from __future__ import annotations

import os
import secrets
from email.utils import formatdate
from pathlib import Path

from reference.variants.chameleon.shape import Shape
from reference.variants.chameleon.wire import Answer, Asked, Edit
from reference.web.clock import WpClock

_CLOCK = WpClock(Path(os.environ["WP_CLOCK_OFFSET_FILE"]) if os.environ.get("WP_CLOCK_OFFSET_FILE") else None)
_LIMITS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def head_edits(shape: Shape) -> list[Edit]:
    """Return the edits of the head that are made once the body stands."""
    return [
        lambda answer: _retry_after(answer, shape),
        _date,
        lambda answer: _rate_headers(answer, shape),
        lambda answer: _cors(answer, shape),
        lambda answer: _media_type(answer, shape),
        lambda answer: _request_id(answer, shape),
        lambda answer: _further(answer, shape),
        lambda answer: _spelled(answer, shape),
    ]


def _retry_after(answer: Answer, shape: Shape) -> None:
    value = answer.header("retry-after")
    if value is not None and value.isdecimal() and shape.retry_after == "date":
        # A date has no fractions, so one second more makes sure that a client that waits until then waits long enough.
        answer.put("Retry-After", formatdate(_CLOCK.seconds() + int(value) + 1, usegmt=True))


def _date(answer: Answer) -> None:
    """Date the answer by the service's own clock, which is the one that its Retry-After is by."""
    answer.put("Date", formatdate(_CLOCK.seconds(), usegmt=True))


def _rate_headers(answer: Answer, shape: Shape) -> None:
    told = [answer.header(name) for name in _LIMITS]
    if shape.rate_headers == "x-ratelimit" or None in told:
        return
    for name in _LIMITS:
        answer.put(name, None)
    if shape.rate_headers == "ratelimit":
        answer.put("RateLimit-Policy", f'"default";q={told[0]};w=60')
        answer.put("RateLimit", f'"default";r={told[1]}')


def _cors(answer: Answer, shape: Shape) -> None:
    if shape.cors == "none":
        names = [name for name, _ in answer.headers if name.lower().startswith("access-control-")]
        for name in names:
            answer.put(name, None)


def _media_type(answer: Answer, shape: Shape) -> None:
    if answer.media_type == "application/json":
        answer.put("Content-Type", shape.media_type)


def _request_id(answer: Answer, shape: Shape) -> None:
    value = (answer.header("x-request-id") or "").removeprefix("req_")
    if not value or shape.request_id == "prefixed":
        return
    dashed = "-".join((value[:8], value[8:12], value[12:16], value[16:20], value[20:]))
    answer.put("X-Request-Id", dashed if shape.request_id == "uuid" else value[:26].upper())


def _further(answer: Answer, shape: Shape) -> None:
    for name, value in shape.further_headers.items():
        if answer.header(name) is None:
            answer.put(name, value)


def _spelled(answer: Answer, shape: Shape) -> None:
    spell = {"lower": str.lower, "title": str.title, "upper": str.upper}[shape.header_case]
    answer.headers = [(spell(name), value) for name, value in answer.headers]


def own_answer(asked: Asked, shape: Shape) -> Answer | None:
    """Return what a look answers to OPTIONS and HEAD by itself, or None."""
    if asked.method == "OPTIONS" and shape.options == "405":
        return _refused(asked)
    if asked.method == "OPTIONS" and shape.options == "200":
        return Answer(asked, 200, [("Allow", "GET, HEAD, POST, OPTIONS")], b"")
    if asked.method == "HEAD" and shape.head == "405":
        return _refused(asked)
    return None


def _refused(asked: Asked) -> Answer:
    headers = [
        ("Allow", "GET, POST"),
        ("Content-Type", "application/json"),
        ("x-request-id", "req_" + secrets.token_hex(16)),
    ]
    document = {"error": "method_not_allowed", "message": f"{asked.method} is not offered here"}
    return Answer(asked, 405, headers, b"", document)
