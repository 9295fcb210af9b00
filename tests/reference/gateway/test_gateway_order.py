"""The order of checks on every call, and the envelope of what each refuses (3.1, 3.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.web.clock import WpClock
from tests.reference.gateway.gateway_stack import (
    LINK,
    LINKS,
    RESOURCES,
    SCREEN,
    VERIFY,
    Gateway,
    Tenant,
    expect_refusal,
    gateway,
)

POSTS = (LINKS, RESOURCES, VERIFY, SCREEN)
TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}


async def test_every_answer_has_a_request_id_of_its_own(shop: Gateway, seller: Tenant) -> None:
    """Successes and refusals alike; what a client sends is ignored (P-CV-11)."""
    calls: list[tuple[str, str, Mapping[str, str]]] = [
        ("GET", "/health", {}),
        ("GET", "/nowhere", {}),
        ("PATCH", LINKS, {}),
        ("POST", LINKS, {}),
        ("POST", SCREEN, TEXT),
        ("GET", "/openapi.json", {"X-Request-Id": "req_mine"}),
    ]
    answers = [await shop.http.request(method, path, headers=headers) for method, path, headers in calls]
    ids = [answer.headers["X-Request-Id"] for answer in (*answers, await shop.link(seller))]
    assert len(ids) == len(set(ids))
    assert all(len(one) == 36 and one.startswith("req_") and one != "req_mine" for one in ids)


@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v2/payment-links", "/v1/payment-links/", "//v1/payment-links", "/v1/compliance/screen", "/%00"],
)
async def test_an_unknown_path_is_404_before_anything_else(shop: Gateway, path: str) -> None:
    """Paths are literal; nothing of the call is looked at (3.1)."""
    for method in ("GET", "POST", "BREW"):
        request = shop.http.build_request(method, path, content=b"x" * 70_000, headers=TEXT)
        request.url = httpx.URL(f"http://localhost:8090{path}")
        expect_refusal(await shop.http.send(request), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *(("GET", path, ["POST"]) for path in POSTS),
        ("DELETE", LINKS, ["POST"]),
        ("OPTIONS", LINKS, ["POST"]),
        ("BREW", LINKS, ["POST"]),
        ("POST", "/health", ["GET", "HEAD"]),
        ("PUT", "/checkout/x/status", ["GET", "HEAD"]),
        ("GET", "/checkout/x/verify", ["POST"]),
        ("GET", "/internal/tenants", ["POST"]),
    ],
)
async def test_a_wrong_method_is_405_and_names_the_right_ones(
    shop: Gateway, method: str, path: str, allowed: list[str]
) -> None:
    """Before the size, the credential and the media type (P-CV-10)."""
    answer = await shop.http.request(method, path, content=b"x" * 70_000, headers=TEXT)
    expect_refusal(answer, 405, "method_not_allowed", allowed=allowed)
    assert answer.headers["Allow"] == ", ".join(allowed)


async def test_head_works_wherever_get_does(shop: Gateway) -> None:
    """The headers of GET without a body (P-CV-10)."""
    for path in ("/health", "/openapi.json", "/.well-known/jwks.json", "/.well-known/did.json"):
        got, head = await shop.http.get(path), await shop.http.head(path)
        assert (200, b"", got.headers["Content-Type"]) == (head.status_code, head.content, head.headers["Content-Type"])


@pytest.mark.parametrize("path", [LINKS, VERIFY])
async def test_a_large_body_is_413_before_the_credential(shop: Gateway, path: str) -> None:
    """Whether its length is announced or not (P-CV-16)."""

    async def parts() -> Any:
        for _ in range(10):
            yield b" " * 10_000

    expect_refusal(await shop.http.post(path, content=b" " * 65_537), 413, "payload_too_large", limit=65_536)
    expect_refusal(await shop.http.post(path, content=parts()), 413, "payload_too_large", limit=65_536)


async def test_an_oversized_head_is_refused(shop: Gateway) -> None:
    """414 for the request line, 431 for the headers, each with its limit (P-CV-16)."""
    expect_refusal(await shop.http.get("/health?" + "a" * 8200), 414, "uri_too_long", limit=8192)
    expect_refusal(
        await shop.http.get("/health", headers={"X-Long": "a" * 16_400}), 431, "headers_too_large", limit=16_384
    )


async def test_the_credential_comes_before_the_media_type(shop: Gateway) -> None:
    """401 rather than 415, and an unreadable body is not looked at."""
    expect_refusal(await shop.http.post(LINKS, content=b"{", headers=TEXT), 401, "invalid_api_key")


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [("Content-Type", "")],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/xml")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "application/jsonp")],
        [("Content-Type", "application/json; charset=latin-1")],
        [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
        [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
        [("Content-Type", "application/json"), ("Content-Encoding", "identity, br")],
    ],
)
async def test_another_media_type_is_415_before_the_json(
    shop: Gateway, seller: Tenant, fields: list[tuple[str, str]]
) -> None:
    """JSON in UTF-8 without a content coding, and it says so (P-GW-01, P-CV-16)."""
    headers = [*seller.headers().items(), *fields]
    for path in POSTS:
        expect_refusal(await shop.http.post(path, content=b"{", headers=headers), 415, "unsupported_media_type")


async def test_a_media_type_other_than_json_is_415_where_no_body_is_wanted_too(shop: Gateway, seller: Tenant) -> None:
    """On GET as on POST (P-GW-01)."""
    for path in ("/health", "/openapi.json", f"{RESOURCES}/a"):
        answer = await shop.http.get(path, headers={**seller.headers(), **TEXT})
        expect_refusal(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "media",
    [
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/json; profile=x; charset=utf-8",
    ],
)
async def test_parameters_of_the_media_type_are_allowed(shop: Gateway, seller: Tenant, media: str) -> None:
    """A charset may only be utf-8."""
    body = b'{"amount":1,"currency":"USD","label":"x"}'
    answer = await shop.http.post(LINKS, content=body, headers=seller.headers(Content_Type=media))
    assert answer.status_code == 201, answer.text


NOT_JSON = [
    b"",
    b"{",
    b"\xef\xbb\xbf{}",
    b'{"label":"\xff"}',
    b'{"a":1,"a":2}',
    b'{"amount":NaN}',
    b'{"amount":-Infinity}',
    b"[" * 33 + b"]" * 33,
    b"{} {}",
    b"\x00",
]


@pytest.mark.parametrize("path", POSTS)
async def test_what_is_not_json_is_400(shop: Gateway, seller: Tenant, path: str) -> None:
    """Bad UTF-8, BOM, duplicate members, NaN, deep nesting, nothing at all (P-CV-02, P-CV-13)."""
    for body in NOT_JSON:
        answer = await shop.http.post(path, content=body, headers=seller.headers(**JSON))
        expect_refusal(answer, 400, "invalid_request")


WITHOUT_FORM = [b'{"x":9007199254740992}', b'{"x":1e400}', b'{"x":"\\ud800"}', b'{"x":-1' + b"0" * 5000 + b"}"]


@pytest.mark.parametrize("path", POSTS)
async def test_json_that_fits_no_schema_is_422(shop: Gateway, seller: Tenant, path: str) -> None:
    """Also what RFC 8785 has no form for, anywhere in the body (P-CV-20, P-GW-02)."""
    for body in (*WITHOUT_FORM, b"[]", b"null", b'"text"', b"3"):
        answer = await shop.http.post(path, content=body, headers=seller.headers(**JSON))
        expect_refusal(answer, 422, "validation_error")
        assert answer.json()["detail"][0]["loc"][0] == "body"


async def test_the_schema_comes_before_the_idempotency_key(shop: Gateway, seller: Tenant) -> None:
    """A body that fits nothing is 422 although the key is malformed; then the key, then business rules."""
    headers = {"Idempotency_Key": "two words"}
    expect_refusal(await shop.link(seller, label="", headers=headers), 422, "validation_error")
    expect_refusal(await shop.link(seller, currency="CHF", headers=headers), 400, "invalid_request")


async def test_a_query_that_is_not_ascii_is_400(shop: Gateway) -> None:
    """The envelope's code is the gateway's."""
    scope = {"query_string": "ä".encode()}

    async def call_unencoded(scope_: Any, receive: Any, send: Any) -> None:
        await shop.http._transport.app({**scope_, **scope}, receive, send)  # type: ignore[attr-defined]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(call_unencoded), base_url="http://x") as http:
        expect_refusal(await http.get("/health"), 400, "invalid_request")


async def test_an_unplanned_fault_is_500_and_tells_nothing(shop: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """The envelope with the request id, no word of what happened (P-CV-18)."""

    def raise_fault(_: object) -> int:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr(WpClock, "now_ms", raise_fault)
    body = {"recipient_address": "screen-allow", "network": "base_mainnet"}
    answer = await shop.http.post(SCREEN, json=body)
    expect_refusal(answer, 500, "internal_error")
    assert set(answer.json()) == {"error", "message", "request_id"}
    assert "secret reason" not in answer.text


async def test_a_body_that_does_not_come_is_408(shop: Gateway) -> None:
    """A caller who sends nothing more holds nothing up."""
    form_values: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        form_values.append(message)

    envelope = replace(shop.http._transport.app, body_seconds=0.01)  # type: ignore[attr-defined]
    scope = {
        "type": "http",
        "method": "POST",
        "path": SCREEN,
        "query_string": b"",
        "headers": [(b"content-length", b"5")],
        "client": ("127.0.0.1", 1),
    }
    await envelope(scope, receive, send)
    assert (408, b"request_timeout" in form_values[1]["body"]) == (form_values[0]["status"], True)


async def test_an_edge_host_serves_public_reads_only(tmp_path: Path) -> None:
    """GET of checkout, well-known and health paths; everything else is 404 (P-GW-04)."""
    async with gateway(tmp_path) as shop:
        tenant = await shop.tenant()
        link = await shop.make_link(tenant)
    async with gateway(tmp_path, gateway_role="edge") as edge:
        for path in ("/health", "/.well-known/jwks.json", "/.well-known/did.json", f"/checkout/{link['token']}"):
            assert (await edge.http.get(path)).status_code == 200
        assert (await edge.http.get(f"/checkout/{link['token']}/status")).json()["status"] == "active"
        expect_refusal(await edge.link(tenant), 404, "not_found")
        headers = {"Authorization": f"Bearer {edge.admin_key}"}
        for method, path in (
            *(("POST", path) for path in POSTS),
            ("POST", f"/checkout/{link['token']}/abandon"),
            ("GET", "/openapi.json"),
            ("GET", f"/internal/tenants/{tenant.id}"),
            ("DELETE", "/health"),
        ):
            expect_refusal(await edge.http.request(method, path, json=LINK, headers=headers), 404, "not_found")
