"""Oracle of section 1.1: which request ids, media types, rate fields and values of JSON are as it says."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.oracles.conventional_answers import (
    find_media_type_faults,
    find_rate_faults,
    find_request_id_faults,
    find_value_faults,
)

ID = "req_" + "0a" * 16
RATE = {"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "59", "X-RateLimit-Reset": "1796025165"}


def test_a_request_id_is_new_and_has_its_form() -> None:
    """An id of another form, of the request or of another answer is a fault."""
    seen: set[str] = set()
    assert find_request_id_faults(ID, "req_" + "0b" * 16, seen) == []
    assert find_request_id_faults(ID, None, seen) == ["the X-Request-Id of another answer"]
    other = "req_" + "0c" * 16
    assert find_request_id_faults(other, other, seen)
    for value in (None, "req_" + "0D" * 16, "req_0d", "0d" * 18):
        assert find_request_id_faults(value, None, seen)


@pytest.mark.parametrize(
    ("path", "content_type", "is_page", "is_success", "is_right"),
    [
        ("/health", "application/json", False, True, True),
        ("/health", "application/json; charset=utf-8", False, True, True),
        ("/health", "text/plain", False, True, False),
        ("/health", None, False, True, False),
        ("/.well-known/did.json", "application/did+json", False, True, True),
        ("/.well-known/did.json", "application/json", False, True, False),
        ("/.well-known/did.json", "application/json", False, False, True),
        ("/.well-known/jwks.json", "application/jwk-set+json", False, True, True),
        ("/checkout/a/qr", "image/png", False, True, True),
        ("/checkout/a", 'text/html; charset="UTF-8"', True, True, True),
        ("/checkout/a", "text/html", True, True, False),
    ],
)
def test_each_kind_of_answer_has_its_media_type(
    path: str, content_type: str | None, *, is_page: bool, is_success: bool, is_right: bool
) -> None:
    """The table of P-CV-03."""
    faults = find_media_type_faults(path, content_type, is_page=is_page, is_success=is_success)
    assert (not faults) is is_right


def test_three_fields_say_how_many_calls_are_left() -> None:
    """A field that is missing or of another form is a fault."""
    assert find_rate_faults(RATE) == []
    for name in RATE:
        assert find_rate_faults({one: value for one, value in RATE.items() if one != name})
    assert find_rate_faults({**RATE, "X-RateLimit-Remaining": "61"})
    assert find_rate_faults({**RATE, "X-RateLimit-Reset": "30"})
    assert find_rate_faults({**RATE, "X-RateLimit-Limit": "0"})


@pytest.mark.parametrize(
    ("document", "is_right"),
    [
        ({"at": "2026-01-01T00:00:00Z", "seen_ms": 5, "n": 2**53 - 1}, True),
        ({"at": "2026-01-01T00:00:00.5Z"}, False),
        ({"at": "2026-01-01T00:00:00+00:00"}, False),
        ({"at": "2026-01-01 00:00:00"}, False),
        ({"seen_ms": 5.5}, False),
        ({"seen_ms": "5"}, False),
        ({"a": [{"n": 2**53}]}, False),
        ([True, None, "text"], True),
    ],
)
def test_times_milliseconds_and_integers(document: Any, *, is_right: bool) -> None:
    """P-CV-04 and P-CV-05, at any depth."""
    assert (find_value_faults(document) == []) is is_right
