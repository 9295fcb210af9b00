"""Variants of HTTP in every answer: headers, media type, OPTIONS and HEAD."""

from __future__ import annotations

import os
import secrets
from email.utils import formatdate
from pathlib import Path

from reference.variants.chameleon.answer_rewriter import Answer, Edit, ReceivedRequest
from reference.variants.chameleon.variant_shape import Shape
from reference.web.clock import WpClock

_CLOCK = WpClock(Path(os.environ["WP_CLOCK_OFFSET_FILE"]) if os.environ.get("WP_CLOCK_OFFSET_FILE") else None)
_LIMITS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


def head_edits(shape: Shape) -> list[Edit]:
    """Return the edits of the head that follow after the body is written."""
    return [
        lambda answer: _retry_after(answer, shape),
        _date,
        lambda answer: _rate_headers(answer, shape),
        lambda answer: _cors(answer, shape),
        lambda answer: _media_type(answer, shape),
        lambda answer: _request_id(answer, shape),
        lambda answer: _further(answer, shape),
        lambda answer: _spell_headers(answer, shape),
    ]


def _retry_after(answer: Answer, shape: Shape) -> None:
    value = answer.header("retry-after")
    if value is not None and value.isdecimal() and shape.retry_after == "date":
        # A date has no fractions, so one second more makes sure that a client that waits until then waits long enough.
        answer.set_header("Retry-After", formatdate(_CLOCK.seconds() + int(value) + 1, usegmt=True))


def _date(answer: Answer) -> None:
    """Date the answer by the service's clock."""
    # `Retry-After` as a date is made from this clock. A client that compares it with `Date` must see the difference
    # in seconds that the service meant.
    answer.set_header("Date", formatdate(_CLOCK.seconds(), usegmt=True))


def _rate_headers(answer: Answer, shape: Shape) -> None:
    limits = [answer.header(name) for name in _LIMITS]
    if shape.rate_headers == "x-ratelimit" or None in limits:
        return
    for name in _LIMITS:
        answer.set_header(name, None)
    if shape.rate_headers == "ratelimit":
        answer.set_header("RateLimit-Policy", f'"default";q={limits[0]};w=60')
        answer.set_header("RateLimit", f'"default";r={limits[1]}')


def _cors(answer: Answer, shape: Shape) -> None:
    if shape.cors == "none":
        names = [name for name, _ in answer.headers if name.lower().startswith("access-control-")]
        for name in names:
            answer.set_header(name, None)


def _media_type(answer: Answer, shape: Shape) -> None:
    if answer.media_type == "application/json":
        answer.set_header("Content-Type", shape.media_type)


def _request_id(answer: Answer, shape: Shape) -> None:
    value = (answer.header("x-request-id") or "").removeprefix("req_")
    if not value or shape.request_id == "prefixed":
        return
    uuid_text = "-".join((value[:8], value[8:12], value[12:16], value[16:20], value[20:]))
    answer.set_header("X-Request-Id", uuid_text if shape.request_id == "uuid" else value[:26].upper())


def _further(answer: Answer, shape: Shape) -> None:
    for name, value in shape.further_headers.items():
        if answer.header(name) is None:
            answer.set_header(name, value)


def _spell_headers(answer: Answer, shape: Shape) -> None:
    spell = {"lower": str.lower, "title": str.title, "upper": str.upper}[shape.header_case]
    answer.headers = [(spell(name), value) for name, value in answer.headers]


def own_answer(request: ReceivedRequest, shape: Shape) -> Answer | None:
    """Return the variant's answer to OPTIONS or HEAD, or None if the service answers."""
    if request.method == "OPTIONS" and shape.options == "405":
        return _refuse_method(request)
    if request.method == "OPTIONS" and shape.options == "200":
        return Answer(request, 200, [("Allow", "GET, HEAD, POST, OPTIONS")], b"")
    if request.method == "HEAD" and shape.head == "405":
        return _refuse_method(request)
    return None


def _refuse_method(request: ReceivedRequest) -> Answer:
    headers = [
        ("Allow", "GET, POST"),
        ("Content-Type", "application/json"),
        ("x-request-id", "req_" + secrets.token_hex(16)),
    ]
    document = {"error": "method_not_allowed", "message": f"{request.method} is not offered here"}
    return Answer(request, 405, headers, b"", document)
