"""What is said of calls that got no HTTP answer."""

from __future__ import annotations

import aiohttp

from conformance.http.unanswered import because


def test_who_speaks_before_he_is_asked_gives_no_http_answer() -> None:
    """On a slow machine it is heard out before a request is sent, and the client says only that it cannot send one."""
    said = because(aiohttp.ClientConnectionResetError("Cannot write to closing transport"), "http://127.0.0.1:1/")
    assert "there is no HTTP answer" in said
    assert "https://" in said
