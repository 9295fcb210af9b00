"""What holds for every answer of the agent: documents, ids, limits, methods, CORS (1.1, 6.1)."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from reference.web.clock import WpClock
from tests.reference.agent.conftest import Opener

DOCUMENTS = ("/", "/health", "/a2a", "/openapi.json", "/.well-known/agent-card.json", "/.well-known/agent.json")
POSTED = ("/verify/rfc9421", "/verify/rfc9421/explain", "/verify/rfc9421/sign")
EVERYWHERE = [
    *[("GET", path) for path in (*DOCUMENTS, "/nowhere", "/" + "x" * 9_000)],
    *[("POST", path) for path in (*POSTED, "/a2a", "/")],
    ("OPTIONS", "/a2a"),
    ("DELETE", "/health"),
]


async def test_documents(agent: httpx.AsyncClient) -> None:
    """Health, landing and hint say what the profile has them say."""
    health = (await agent.get("/health")).json()
    document = (await agent.get("/")).json()
    hint = (await agent.get("/a2a")).json()

    assert health == {"status": "ok", "service": "weldproof-agent", "version": "0.1.0"}
    assert (document["name"], document["version"]) == ("Weldproof Verifiable-Comms Agent", "0.1.0")
    assert (hint["method"], hint["url"]) == ("POST", "http://localhost:8403/a2a")
    assert hint["card"] == "http://localhost:8403/.well-known/agent-card.json"


async def test_the_landing_document_s_links_lead_somewhere(agent: httpx.AsyncClient) -> None:
    """Each link is an address of this agent."""
    for link in (await agent.get("/")).json()["links"].values():
        answer = await agent.options(link.removeprefix("http://localhost:8403"))
        assert answer.status_code == 204, link


async def test_the_cards_are_the_same_bytes(opener: Opener) -> None:
    """Both addresses carry one A2A 0.3 card, with the operator's word and address (P-RA-01, 6.6)."""
    agent = await opener(service_word="Acme", agent_public_url="https://agent.acme.example/")
    card, legacy = [await agent.get(path) for path in ("/.well-known/agent-card.json", "/.well-known/agent.json")]

    assert card.content == legacy.content
    document = card.json()
    assert document["name"] == "Acme Verifiable-Comms Agent"
    assert document["url"] == "https://agent.acme.example/a2a"
    assert document["additionalInterfaces"] == [{"url": document["url"], "transport": "JSONRPC"}]
    assert (document["protocolVersion"], document["version"], document["preferredTransport"]) == (
        "0.3.0",
        "0.1.0",
        "JSONRPC",
    )
    assert [skill["id"] for skill in document["skills"]] == ["verify-rfc9421", "explain-rfc9421", "sign-demo"]
    assert all({"id", "name", "description", "tags"} <= set(skill) for skill in document["skills"])
    assert document["capabilities"] == {
        "streaming": False,
        "pushNotifications": False,
        "stateTransitionHistory": False,
        "extensions": [],
    }
    assert "supportedInterfaces" not in document


async def test_every_answer_has_a_request_id_of_its_own(agent: httpx.AsyncClient) -> None:
    """P-CV-11: `req_` and 32 hex digits; what a client sends is ignored."""
    answers = [await agent.request(*one, headers={"X-Request-Id": "mine"}) for one in EVERYWHERE * 2]
    ids = [answer.headers["X-Request-Id"] for answer in answers]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"req_[0-9a-f]{32}", one) for one in ids)
    assert {answer.headers["Access-Control-Allow-Origin"] for answer in answers} == {"*"}


async def test_a_preflight_is_answered(agent: httpx.AsyncClient) -> None:
    """204 with what a browser must know to post JSON."""
    answer = await agent.options(
        "/verify/rfc9421", headers={"Origin": "https://a", "Access-Control-Request-Method": "POST"}
    )

    assert (answer.status_code, answer.content) == (204, b"")
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "content-type" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"X-Large": "x" * 16_384}, "/health", 431),
        ({"X-Large": "x" * 16_000}, "/health", 200),
        ({}, "/health?" + "x" * 8_192, 414),
        ({}, "/health?" + "x" * 8_000, 200),
        ({"Content-Encoding": "gzip"}, "/health", 415),
        ({"Content-Encoding": "Identity"}, "/health", 200),
        ({}, "/nowhere", 404),
        ({}, "/verify/rfc9421", 405),
        ({}, "/verify/rfc9421/", 404),
        ({}, "/verify//rfc9421", 404),
        ({}, "/health/", 404),
        ({}, "/%00", 404),
    ],
)
async def test_refusals_about_the_call_are_a_sentence(
    agent: httpx.AsyncClient, headers: dict[str, str], path: str, status: int
) -> None:
    """P-CV-16 and 6.1: `{"detail": "text"}`, without anything else."""
    answer = await agent.get(path, headers=headers)

    assert answer.status_code == status
    if status != 200:
        assert list(answer.json()) == ["detail"]
        assert isinstance(answer.json()["detail"], str)


async def test_a_wrong_method_is_405(agent: httpx.AsyncClient) -> None:
    """P-CV-10: with `Allow`; at /a2a both GET and POST are right."""
    for path, allowed in (("/health", {"GET", "HEAD"}), (POSTED[0], {"POST"}), ("/a2a", {"GET", "HEAD", "POST"})):
        for method in ("PUT", "DELETE", "BREW"):
            answer = await agent.request(method, path)
            assert answer.status_code == 405
            assert {one.strip() for one in answer.headers["Allow"].split(",")} == {*allowed, "OPTIONS"}


async def test_head_works_where_get_does(agent: httpx.AsyncClient) -> None:
    """P-CV-10: the same status and length, no body."""
    for path in (*DOCUMENTS, "/nowhere"):
        answer, head = await agent.get(path), await agent.head(path)
        assert (head.status_code, head.content) == (answer.status_code, b"")
        assert head.headers["Content-Length"] == str(len(answer.content))


async def test_documents_have_entity_tags(agent: httpx.AsyncClient) -> None:
    """A card that has not changed is not sent again."""
    answer = await agent.get("/.well-known/agent-card.json")
    again = await agent.get("/.well-known/agent-card.json", headers={"If-None-Match": answer.headers["ETag"]})

    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", [*POSTED, "/a2a"])
async def test_a_body_has_its_limit(agent: httpx.AsyncClient, path: str) -> None:
    """P-CV-16: 262,144 bytes are read, one more is 413."""
    whole, over = await agent.post(path, content=b" " * 262_144), await agent.post(path, content=b" " * 262_145)

    assert whole.status_code == (200 if path == "/a2a" else 422)
    assert (over.status_code, list(over.json())) == (413, ["detail"])


@pytest.fixture
def freeze_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that nothing trickles into a bucket."""
    monkeypatch.setattr(WpClock, "seconds", lambda _: 1_800_000_000.5)


async def test_the_limit_of_an_address(opener: Opener, freeze_time: None) -> None:
    """P-RL-06: 60 from rest, then 429 with Retry-After; the headers are in every answer, whatever the call."""
    del freeze_time
    agent = await opener(rate_limits=True)
    answers = [await agent.get("/health" if n % 2 else "/nowhere") for n in range(60)]
    reply = await agent.post("/verify/rfc9421", content=b"{}")

    assert {answer.status_code for answer in answers} == {200, 404}
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"60"}
    assert [answers[0].headers["X-RateLimit-Remaining"], answers[-1].headers["X-RateLimit-Remaining"]] == ["59", "0"]
    assert (reply.status_code, list(reply.json())) == (429, ["detail"])
    assert int(reply.headers["Retry-After"]) >= 1
    rpc_reply = await agent.post("/a2a", json={"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "a"}})
    assert (rpc_reply.status_code, "Retry-After" in rpc_reply.headers) == (429, True)


async def test_forwarded_addresses_count_only_behind_a_trusted_proxy(opener: Opener, freeze_time: None) -> None:
    """P-CV-19: from any other peer the header is ignored."""
    del freeze_time
    for proxies, expected in ((("127.0.0.0/8",), "59"), ((), "57")):
        agent = await opener(rate_limits=True, trusted_proxies=proxies)
        for address in ("192.0.2.1", "192.0.2.2, 127.0.0.9", "192.0.2.3"):
            answer = await agent.get("/health", headers={"X-Forwarded-For": address})
        assert answer.headers["X-RateLimit-Remaining"] == expected


async def test_no_credential_changes_an_answer(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """AGENT-HTTP-03: nothing needs one, and one that is sent is noise."""
    plain = await agent.post("/verify/rfc9421", json=signed_request)
    for headers in ({"Authorization": "Bearer sk_live_1"}, {"Cookie": "s=1"}, {"X-Api-Key": "k"}):
        assert (await agent.post("/verify/rfc9421", json=signed_request, headers=headers)).content == plain.content


async def test_the_media_type_of_a_body_does_not_matter(
    agent: httpx.AsyncClient, signed_request: dict[str, Any]
) -> None:
    """The interface asks for JSON and for no header that says so."""
    for kind in ("text/plain", "application/json; charset=utf-8", "nonsense"):
        answer = await agent.request("POST", "/verify/rfc9421", json=signed_request, headers={"Content-Type": kind})
        assert answer.json()["valid"] is True


@pytest.mark.usefixtures("freeze_time")
async def test_one_line_at_home_is_one_caller(opener: Opener) -> None:
    """A client with an IPv6 address has a /64 of them: all of it counts as one (P-CV-19)."""
    agent = await opener(rate_limits=True, trusted_proxies=("127.0.0.1/32",))
    statuses = [
        (await agent.get("/health", headers={"X-Forwarded-For": f"2001:db8:1:2::{number:x}"})).status_code
        for number in range(300)
    ]

    assert statuses.count(200) == 60
    neighbour = await agent.get("/health", headers={"X-Forwarded-For": "2001:db8:1:3::1"})
    assert neighbour.status_code == 200
