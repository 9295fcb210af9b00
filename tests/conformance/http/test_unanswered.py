"""What is said of calls that got no HTTP answer."""

from __future__ import annotations

import errno

import aiohttp

from conformance.http.unanswered import because


def test_who_speaks_before_he_is_asked_gives_no_http_answer() -> None:
    """On a slow machine it is heard out before a request is sent, and the client says only that it cannot send one."""
    said = because(aiohttp.ClientConnectionResetError("Cannot write to closing transport"), "http://127.0.0.1:1/")
    assert "there is no HTTP answer" in said
    assert "https://" in said


def test_who_answers_others_is_not_asked_for_another_scheme() -> None:
    """A server that trips over one request closes its connection; what it answered before was no TLS."""
    for fault in (aiohttp.ServerDisconnectedError(), ConnectionResetError(errno.ECONNRESET, "reset")):
        first = because(fault, "http://127.0.0.1:1/")
        later = because(fault, "http://127.0.0.1:1/", answered=True)
        assert first.endswith("if it speaks TLS, its address begins with https://")
        assert later.endswith("others were answered: your server's own log says what became of this one")
