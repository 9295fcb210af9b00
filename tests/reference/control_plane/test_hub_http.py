"""What every call meets: the admin token, routes, methods, limits, request ids, faults (1.1, 7.1)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reference.store.audit_log import Audit
from reference.store.database import DatabaseUnavailable
from reference.store.services import Services
from tests.reference.control_plane.hub_stack import DID, Hub, falcon_key, hub

ISSUER = {"did": DID, "public_key_b64": falcon_key(1)}
SERVICE = {"name": "a", "base_url": "http://127.0.0.1:9"}
ADMIN: list[tuple[str, str, Any]] = [
    ("POST", "/v1/issuers", ISSUER),
    ("DELETE", "/v1/issuers/did:web:there.example", None),
    ("POST", "/v1/services", SERVICE),
    ("DELETE", "/v1/services/there", None),
    ("GET", "/v1/audit", None),
]
OPEN = (
    "/health",
    "/v1/issuer-pks",
    "/.well-known/atb-keys.json",
    "/.well-known/pqc-keys.json",
    "/v1/posture",
    "/openapi.json",
)


@pytest.mark.parametrize(("method", "path", "body"), ADMIN)
async def test_without_the_token_nothing_is_changed_and_nothing_told(
    plane: Hub, method: str, path: str, body: Any
) -> None:
    """401 with a challenge, whatever is sent for a token; the same for a body that is malformed."""
    await plane.register("did:web:there.example")
    await plane.serve("there")
    before = await plane.state()
    token = plane.token
    wrong: list[dict[str, str]] = [{}]
    wrong += [{"Authorization": one} for one in ("", "Bearer", "Bearer ", f"Bearer {token[:-1]}", f"Bearer {token}x")]
    wrong += [{"Authorization": one} for one in (token, f"Basic {token}", f"Bearer {token} x", f"Bearer {token},")]
    wrong += [{"Authorization": f"Bearer {token.swapcase()}"}, {"X-Admin-Token": token}]
    for headers in wrong:
        for request_body in ({"json": body}, {"content": b"{"}) if body else ({},):
            answer = await plane.http.request(method, path, headers=headers, **request_body)
            assert (answer.status_code, answer.json()) == (401, {"detail": "Unauthorized"})
            assert answer.headers["www-authenticate"] == "Bearer"
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer x")]
    assert (await plane.http.request(method, path, headers=twice, json=body)).status_code == 401
    assert (await plane.http.request(method, f"{path}?token={token}", json=body)).status_code == 401
    assert await plane.state() == before


async def test_the_scheme_is_read_in_any_case(plane: Hub) -> None:
    """RFC 9110: `bearer` is `Bearer`."""
    assert (await plane.http.get("/v1/audit", headers={"Authorization": f"bEARER  {plane.token}"})).status_code == 200


@pytest.mark.parametrize("path", OPEN)
async def test_reads_want_no_credential(either: Hub, path: str) -> None:
    """With one that is wrong, too; HEAD is the same without a body; an own id for each answer."""
    await either.register()
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = await either.http.get(path, headers=headers)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert isinstance(answer.json(), dict)
    head = await either.http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    ids = {answer.headers["x-request-id"], head.headers["x-request-id"]}
    assert len(ids) == 2
    assert all(re.fullmatch("req_[0-9a-f]{32}", one) for one in ids)


async def test_health_counts_issuers_and_services(either: Hub) -> None:
    """Registering raises a count, revoking lowers it."""
    await either.wait_for_check()
    await either.register("did:web:a.example")
    await either.register("did:web:b.example")
    await either.serve("a")
    await either.revoke("did:web:a.example")
    document = (await either.http.get("/health")).json()
    service = {"status": "ok", "service": "weldproof-controlplane", "version": "0.1.0"}
    assert document == {**service, "issuers": 1, "services": 1}


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "/v1",
            "/v1/issuers/",
            "/v1/services/",
            "/v1/issuers/a/b",
            "//health",
            "/health/",
            "/HEALTH",
            "/v1%2Fhealth",
        ),
        *(
            "/%68ealth",
            "/v1/issuer-pks/",
            "/v1/audit/",
            "/.well-known/",
            "/.well-known/jwks.json",
            "/docs",
            "/static/x",
        ),
    ],
)
async def test_other_paths_are_404(plane: Hub, path: str) -> None:
    """With `detail`; paths are literal."""
    for headers in ({}, plane.admin):
        answer = await plane.http.get(path, headers=headers)
        assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})
        assert "x-request-id" in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "allowed_value"),
    [
        ("POST", "/health", "GET, HEAD"),
        ("OPTIONS", "/health", "GET, HEAD"),
        ("DELETE", "/v1/issuer-pks", "GET, HEAD"),
        ("GET", "/v1/issuers", "POST"),
        ("PUT", "/v1/issuers", "POST"),
        ("GET", "/v1/issuers/did:web:a", "DELETE"),
        ("HEAD", "/v1/services/a", "DELETE"),
        ("PATCH", "/v1/services", "POST"),
        ("POST", "/v1/audit", "GET, HEAD"),
        ("TRACE", "/v1/posture", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_405_with_what_is_right(plane: Hub, method: str, path: str, allowed_value: str) -> None:
    """P-CV-10."""
    answer = await plane.http.request(method, path, headers=plane.admin)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed_value)
    assert method == "HEAD" or answer.json() == {"detail": "Method Not Allowed"}


async def test_limits_of_size(plane: Hub) -> None:
    """P-CV-16: 413, 414, 431, 415, each as `detail`."""
    body = {**ISSUER, "more": "x" * 65536}
    for answer, status in (
        (await plane.http.post("/v1/issuers", json=body, headers=plane.admin), 413),
        (await plane.http.get("/health?" + "x" * 8192), 414),
        (await plane.http.get("/health", headers={"X": "x" * 16384}), 431),
        (await plane.http.post("/v1/issuers", json=ISSUER, headers={**plane.admin, "Content-Encoding": "gzip"}), 415),
    ):
        assert (answer.status_code, list(answer.json())) == (status, ["detail"])
    assert await plane.trust_set() == {}


async def test_the_body_limit_is_a_setting(tmp_path: Path) -> None:
    """WP_BODY_LIMIT."""
    async with hub(tmp_path, body_limit=100) as plane:
        assert (await plane.register()).status_code == 413
        assert (await plane.serve("a")).status_code == 201


async def test_calls_without_the_token_are_limited_by_address(tmp_path: Path) -> None:
    """P-RL-07: sixty at once, then 429 with Retry-After; with the right token there is no limit."""
    async with hub(tmp_path, rate_limits=True, rate=1) as plane:
        answers = [await plane.http.get("/health") for _ in range(60)]
        assert {answer.status_code for answer in answers} == {200}
        assert answers[0].headers["x-ratelimit-limit"] == "60"
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            reply = await plane.http.get("/v1/issuer-pks", headers=headers)
            assert (reply.status_code, list(reply.json())) == (429, ["detail"])
            assert int(reply.headers["retry-after"]) >= 1
        for _ in range(70):
            free = await plane.http.get("/v1/issuer-pks", headers=plane.admin)
            assert (free.status_code, "x-ratelimit-limit" in free.headers) == (200, False)


async def test_a_database_that_is_away_is_503(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call that needs it, health too, with Retry-After and without a word of what happened."""

    async def away(*_: Any, **__: Any) -> Any:
        raise DatabaseUnavailable("secret place")

    for kind, name in ((Audit, "head"), (Audit, "last_trust_change"), (Services, "counts"), (Services, "list_all")):
        monkeypatch.setattr(kind, name, away)
    calls: list[tuple[str, str, Any]] = [("GET", path, None) for path in OPEN[:-1]]
    for method, path, body in [*calls, *ADMIN]:
        answer = await plane.http.request(method, path, json=body, headers=plane.admin)
        assert (answer.status_code, answer.json()) == (503, {"detail": "store_unavailable"}), path
        assert answer.headers["retry-after"] == "5"


async def test_an_unplanned_fault_tells_nothing(plane: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-CV-18: 500 with the request id."""

    async def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("secret place")

    monkeypatch.setattr(Services, "counts", fail)
    answer = await plane.http.get("/health")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "secret" not in answer.text
