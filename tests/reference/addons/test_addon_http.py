"""What holds for every answer of every addon: ids, limits, methods, faults (1.1, 8.1)."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import Any

import httpx
import pytest
import structlog.testing

from reference.addons.kit import Addon, Call, Context, Handler
from tests.reference.addons.conftest import BUNDLED, Opener

EVERYWHERE = [("GET", "/health"), ("GET", "/nowhere"), ("DELETE", "/health"), ("GET", "/" + "x" * 9_000)]
POSTED = {"atb": "/v1/verify", "federation": "/v1/validate", "zkp": "/v1/receipts/verify"}


async def test_health(opener: Opener) -> None:
    """P-AD-01: five members; the hub's state and the issuers that count now."""
    for name, addon in BUNDLED.items():
        document = (await (await opener(addon)).get("/health")).json()
        service = {"service": f"weldproof-{addon.name}", "version": version("weldproof")}
        notice = {"notice": addon.notice} if addon.notice else {}
        assert document == {"status": "ok", **service, "hub": "connected", "issuers": 1, **notice}
        acme = await opener(addon, None, service_word="Acme")
        away = (await acme.get("/health")).json()
        assert (away["service"], away["hub"], away["issuers"]) == (f"acme-{addon.name}", "unreachable", 0), name


async def test_every_answer_has_a_request_id_of_its_own(either: httpx.AsyncClient) -> None:
    """P-CV-11: `req_` and 32 hex digits; what a client sends is ignored."""
    answers = [await either.request(*one, headers={"X-Request-Id": "mine"}) for one in EVERYWHERE * 2]
    ids = [answer.headers["X-Request-Id"] for answer in answers]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"req_[0-9a-f]{32}", one) for one in ids)


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"X-Large": "x" * 16_384}, "/health", 431),
        ({"X-Large": "x" * 16_000}, "/health", 200),
        ({}, "/health?" + "x" * 8_192, 414),
        ({"Content-Encoding": "gzip"}, "/health", 415),
        ({}, "/nowhere", 404),
        ({}, "/health/", 404),
        ({}, "//health", 404),
        ({}, "/%00", 404),
    ],
)
async def test_refusals_about_the_call_are_a_sentence(
    either: httpx.AsyncClient, headers: dict[str, str], path: str, status: int
) -> None:
    """P-CV-16: `{"detail": "text"}`, without anything else."""
    answer = await either.get(path, headers=headers)
    assert answer.status_code == status
    if status != 200:
        assert list(answer.json()) == ["detail"]
        assert isinstance(answer.json()["detail"], str)


async def test_methods(either: httpx.AsyncClient) -> None:
    """P-CV-10: 405 with `Allow`; HEAD wherever GET is."""
    for method in ("PUT", "OPTIONS", "BREW"):
        answer = await either.request(method, "/health")
        assert answer.status_code == 405
        assert {one.strip() for one in answer.headers["Allow"].split(",")} == {"GET", "HEAD"}
    answers, head = await either.get("/health"), await either.head("/health")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answers.content))


async def test_documents_have_entity_tags(either: httpx.AsyncClient) -> None:
    """A document that has not changed is not sent again."""
    answer = await either.get("/openapi.json")
    again = await either.get("/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", BUNDLED)
async def test_a_body_has_its_limit(opener: Opener, name: str) -> None:
    """P-CV-16: 65,536 bytes are read, one more is 413."""
    client = await opener(BUNDLED[name])
    whole = await client.post(POSTED[name], content=b" " * 65_536)
    over = await client.post(POSTED[name], content=b" " * 65_537)
    assert whole.status_code == 422
    assert (over.status_code, list(over.json())) == (413, ["detail"])


async def test_the_limit_of_an_address(opener: Opener) -> None:
    """P-RL-07: 120 a minute; 60 from rest, then 429 with Retry-After, whatever the call."""
    for addon in BUNDLED.values():
        usual = await (await opener(addon, rate_limits=True)).get("/health")
        assert usual.headers["X-RateLimit-Limit"] == "60"
        client = await opener(addon, rate_limits=True, addon_rate=1)  # a bucket that nothing trickles into meanwhile
        answers = [await client.get("/health" if n % 2 else "/nowhere") for n in range(60)]
        reply = await client.post("/v1/verify", content=b"{}")
        assert {answer.status_code for answer in answers} == {200, 404}
        assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"60"}
        assert (reply.status_code, list(reply.json())) == (429, ["detail"])
        assert int(reply.headers["Retry-After"]) >= 1


def _fail(_: Context) -> dict[str, Handler]:
    async def fail(_: Call) -> Any:
        raise RuntimeError("s3cret")

    return {"GET /v1/fail": fail}


async def test_an_unplanned_fault(opener: Opener) -> None:
    """P-CV-18: 500 with the request id, and nothing of what happened; the log has it."""
    client = await opener(Addon("failing", 0, _fail))
    with structlog.testing.capture_logs() as log_entries:
        answer = await client.get("/v1/fail")
    assert (answer.status_code, set(answer.json())) == (500, {"error", "message", "request_id"})
    assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
    assert "s3cret" not in answer.text
    assert [(one["event"], one["request_id"]) for one in log_entries] == [
        ("unplanned_fault", answer.json()["request_id"])
    ]
