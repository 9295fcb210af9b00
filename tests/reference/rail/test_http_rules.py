"""What holds for every answer of the rail: ids, limits of size, CORS, methods (1.1, P-CH-09)."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable

import httpx
import pytest

from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, RECEIPT, RECEIPT_BODY, Rail, header, proof_of

EVERYWHERE: list[tuple[str, str]] = [
    ("GET", "/pay/v1/index"),
    ("GET", "/health"),
    ("GET", "/nowhere"),
    ("DELETE", "/pay/v1/index"),
    ("POST", RECEIPT),
    ("OPTIONS", RECEIPT),
    ("GET", "/" + "x" * 9_000),
]


def test_every_answer_has_a_request_id_of_its_own(rail: Rail) -> None:
    """P-CV-11: `req_` and 32 hex digits; what a client sends is ignored."""
    ids = [
        rail.http.request(method, path, headers={"X-Request-Id": "mine"}).headers["X-Request-Id"]
        for method, path in EVERYWHERE * 2
    ]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"req_[0-9a-f]{32}", one) for one in ids)


def test_every_answer_may_be_read_by_a_browser(rail: Rail) -> None:
    """P-CH-09: any origin, and the headers that a payer needs."""
    for method, path in EVERYWHERE:
        headers = rail.http.request(method, path).headers
        assert headers["Access-Control-Allow-Origin"] == "*"
        assert set(headers["Access-Control-Expose-Headers"].split(", ")) == {
            "PAYMENT-REQUIRED",
            "PAYMENT-RESPONSE",
            "Retry-After",
            "X-Request-Id",
            "Idempotent-Replayed",
        }


def test_a_preflight_is_answered(rail: Rail) -> None:
    """204 with the methods and headers that a paid call needs, and no body."""
    request_headers = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    answer = rail.http.options(RECEIPT, headers=request_headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert {"GET", "POST"} <= set(answer.headers["Access-Control-Allow-Methods"].split(", "))
    allowed = {name.strip().lower() for name in answer.headers["Access-Control-Allow-Headers"].split(",")}
    assert {"content-type", "x-payment", "payment-signature", "x-a2a-extensions"} <= allowed


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"X-Large": "x" * 16_384}, "/health", 431),
        ({"X-Large": "x" * 16_000}, "/health", 200),
        ({}, "/health?" + "x" * 8_192, 414),
        ({}, "/health?" + "x" * 8_000, 200),
        ({"Content-Encoding": "gzip"}, "/health", 415),
        ({"Content-Encoding": "identity"}, "/health", 200),
    ],
)
def test_heads_have_limits(rail: Rail, headers: dict[str, str], path: str, status: int) -> None:
    """P-CV-16: the service itself answers, in its own form."""
    answer = rail.http.get(path, headers={"User-Agent": "t", **headers})
    assert answer.status_code == status
    if status != 200:
        assert set(answer.json()) == {"error", "message", "request_id"}


def test_head_works_where_get_does(rail: Rail) -> None:
    """P-CV-10: the same status and headers, no body; also on a paid path."""
    for path in ("/pay/v1/index", "/health", "/.well-known/jwks.json", "/nowhere"):
        got, head = rail.http.get(path), rail.http.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["Content-Length"] == str(len(got.content))
    head = rail.http.head(RECEIPT)
    assert (head.status_code, head.content) == (402, b"")
    assert head.headers["PAYMENT-REQUIRED"]


@pytest.mark.parametrize("path", ["/pay/v1/index", "/openapi.json", "/discovery/resources", "/health"])
def test_a_wrong_method_is_405(rail: Rail, path: str) -> None:
    """P-CV-10: with `Allow`."""
    for method in ("POST", "DELETE", "BREW"):
        answer = rail.http.request(method, path)
        assert answer.status_code == 405
        assert {"GET", "HEAD"} <= {one.strip() for one in answer.headers["Allow"].split(",")}


def test_a_trace_of_a_paid_path_is_405(rail: Rail) -> None:
    """It asks for the call itself, so nothing is quoted for it; any other method is (P-CH-11)."""
    answer = rail.http.request("TRACE", RECEIPT)

    assert (answer.status_code, "accepts" in answer.json()) == (405, False)
    assert {"GET", "POST"} <= {one.strip() for one in answer.headers["Allow"].split(",")}
    assert "PAYMENT-REQUIRED" not in answer.headers
    assert rail.http.request("BREW", RECEIPT).status_code == 402


@pytest.mark.parametrize("path", ["/", "/pay/v1/", RECEIPT + "/", "/" + RECEIPT, "/pay/v1/verify", "/%00", "/a2a/x"])
def test_an_unknown_path_is_404(rail: Rail, path: str) -> None:
    """No redirect to something near, no 5xx."""
    answer = rail.http.post(path, json=RECEIPT_BODY)
    assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


def test_no_credential_changes_an_answer(rail: Rail) -> None:
    """The payment is the only credential."""
    for headers in ({"Authorization": "Bearer sk_live_1"}, {"X-Tenant-Id": "t", "X-Api-Key": "k"}, {"Cookie": "s=1"}):
        assert rail.http.post(RECEIPT, json=RECEIPT_BODY, headers=headers).status_code == 402


def test_a_head_beyond_reading_ends_the_connection(rail: Rail) -> None:
    """Over 65,536 bytes of head the server answers 4xx or closes; it does not fall over."""
    host, port = "127.0.0.1", int(rail.url.rsplit(":", 1)[1])
    with socket.create_connection((host, port), timeout=30) as raw:
        try:  # it may be closed before all of the head is through
            raw.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n" + b"X-Large: " + b"x" * 80_000)
            report = raw.recv(64)
        except ConnectionError:
            report = b""
    assert not report or report.startswith(b"HTTP/1.1 4")
    assert rail.http.get("/health").status_code == 200


def test_a_caller_s_secrets_are_not_logged(own_rail: Callable[..., Rail]) -> None:
    """P-CV-12: neither a proof nor the node's token shows in log or answer, at the most talkative level."""
    rail = own_rail(WP_LOG_LEVEL="debug")
    proof = proof_of("A" * 52, rail.quote())
    answer = rail.present(proof)
    rail.present("%%%SECRET%%%")
    rail.stop()
    for secret in (header(proof), proof["payment_reference"], "%%%SECRET%%%", rail.chain.token):
        assert secret not in rail.log()
    assert header(proof) not in answer.text


def test_limits_are_told_with_every_answer_under_them(own_rail: Callable[..., Rail]) -> None:
    """X-RateLimit headers stand on served, refused and malformed calls alike; documents outside are not counted."""
    rail = own_rail(WP_RATE_LIMITS="on")
    proof = header(proof_of("A" * 52, rail.quote()))
    answers: list[httpx.Response] = [
        rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY),
        rail.http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers={"X-PAYMENT": proof}),
        rail.http.post(COMPLIANCE, json={}, headers={"X-PAYMENT": proof}),
        rail.http.post(COMPLIANCE, content=b"{}", headers={"X-PAYMENT": proof}),
    ]
    assert [answer.status_code for answer in answers] == [402, 402, 422, 415]
    for answer in answers:
        assert answer.headers["X-RateLimit-Limit"] == "60"
        assert "X-RateLimit-Remaining" in answer.headers
        assert "X-RateLimit-Reset" in answer.headers
    assert "X-RateLimit-Limit" not in rail.http.get("/health").headers


def test_forwarded_addresses_count_only_behind_a_trusted_proxy(own_rail: Callable[..., Rail]) -> None:
    """P-CV-19: from any other peer the header is ignored."""
    slow = {"WP_RATE_LIMITS": "on", "WP_RAIL_RATE": "1"}  # a bucket that nothing trickles into meanwhile
    trusting, wary = own_rail(**slow, WP_TRUSTED_PROXIES="127.0.0.0/8"), own_rail(**slow)
    for rail, expected in ((trusting, "59"), (wary, "57")):
        for address in ("192.0.2.1", "192.0.2.2, 127.0.0.9", "192.0.2.3"):
            answer = rail.http.post(RECEIPT, json=RECEIPT_BODY, headers={"X-Forwarded-For": address})
        assert answer.headers["X-RateLimit-Remaining"] == expected
