"""What section 1.1 of the specification says of every answer: its request id, media type, times and integers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_REQUEST_ID: Final = re.compile(r"req_[0-9a-f]{32}")
_TIME_FORM: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
# A text that begins so is a time in some form of ISO 8601.
_TIME_LIKE: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d", re.ASCII)
_LARGEST_INTEGER: Final = 2**53 - 1
# Media types by the end of a path (P-CV-03), and those that hold in general.
_MEDIA_TYPES: Final = {
    "/.well-known/did.json": "application/did+json",
    "/.well-known/jwks.json": "application/jwk-set+json",
    "/qr": "image/png",
}
_JSON: Final = "application/json"
_PAGE: Final = "text/html; charset=utf-8"


def find_request_id_faults(value: str | None, sent: str | None, seen: set[str]) -> list[str]:
    """Return what is wrong with an X-Request-Id, and add it to those that were seen (P-CV-11).

    Args:
        value: The value of the answer, None without one.
        sent: The value that the request had, None without one.
        seen: The values of earlier answers.
    """
    if value is None:
        return ["no X-Request-Id"]
    faults = [] if _REQUEST_ID.fullmatch(value) else [f"X-Request-Id {value!r}"]
    faults += ["the X-Request-Id that the request had"] if value == sent else []
    faults += ["the X-Request-Id of another answer"] if value in seen else []
    seen.add(value)
    return faults


def find_media_type_faults(path: str, content_type: str | None, *, is_page: bool, is_success: bool) -> list[str]:
    """Return what is wrong with the Content-Type of an answer with a body (P-CV-03).

    Args:
        path: Path of the request.
        content_type: The field's value, None without one.
        is_page: Whether the answer is a page for people.
        is_success: Whether the status is 200; a refusal is JSON or a page, whatever was asked for.
    """
    value = content_type or ""
    if is_page:
        normal = value.lower().replace(" ", "").replace('"', "")
        return [] if normal == _PAGE.replace(" ", "") else [f"Content-Type {content_type!r}, not {_PAGE}"]
    expected = next((name for end, name in _MEDIA_TYPES.items() if is_success and path.endswith(end)), _JSON)
    media_type = value.partition(";")[0].strip().lower()
    return [] if media_type == expected else [f"Content-Type {content_type!r}, not {expected}"]


def find_rate_faults(headers: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the X-RateLimit fields of an answer to a call that a limit counts (1.1)."""
    limit, remaining, reset = (headers.get(f"X-RateLimit-{name}", "") for name in ("Limit", "Remaining", "Reset"))
    faults = [] if limit.isdecimal() and int(limit) >= 1 else [f"X-RateLimit-Limit {limit!r}"]
    is_left = remaining.isdecimal() and (not limit.isdecimal() or int(remaining) <= int(limit))
    faults += [] if is_left else [f"X-RateLimit-Remaining {remaining!r}"]
    # Ten digits are unix seconds of this century, by any clock.
    return faults + ([] if re.fullmatch(r"[1-9]\d{9}", reset) else [f"X-RateLimit-Reset {reset!r}"])


def find_value_faults(document: Any) -> list[str]:
    """Return the members of a JSON document that are no times, milliseconds or integers of P-CV-04 and P-CV-05."""
    return sorted({fault for name, value in _list_members(document, "") if (fault := _find_value_fault(name, value))})


def _find_value_fault(name: str, value: Any) -> str | None:
    if isinstance(value, str) and _TIME_LIKE.match(value) and not _TIME_FORM.fullmatch(value):
        return f"{name} is the time {value[:40]!r}"
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) > _LARGEST_INTEGER:
        return f"{name} is {value}"
    if name.endswith("_ms") and not (isinstance(value, int) and not isinstance(value, bool)) and value is not None:
        return f"{name} is {value!r}, no integer"
    return None


def _list_members(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield every member of a JSON value that is no object and no array, with its name."""
    if isinstance(value, dict):
        for member, inner in value.items():
            yield from _list_members(inner, member)
    elif isinstance(value, list):
        for inner in value:
            yield from _list_members(inner, name)
    else:
        yield name, value
