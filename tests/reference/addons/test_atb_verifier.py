"""POST /v1/verify of the ATB credential verifier (8.2); the rules are tested in test_credentials.py."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import rfc8785

from reference.addons.atb_verifier.verifier import ADDON
from reference.protocol.time_text import utc_text
from tests.reference.addons.conftest import ISSUER, Opener
from tests.reference.falcon_issuer import DURING_VALIDITY, Issuer


async def post_verify(client: httpx.AsyncClient, credential: str, **request: Any) -> dict[str, Any]:
    answer = await client.post("/v1/verify", json={"credential": credential, "now": DURING_VALIDITY, **request})
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_an_active_certificate(atb: httpx.AsyncClient) -> None:
    """Every member of the answer."""
    payload = ISSUER.certificate()
    assert await post_verify(atb, ISSUER.issue(payload), expected_issuer=ISSUER.did, min_score=0.9) == {
        "valid": True,
        "status": "active",
        "reason": None,
        "type": "atb_certificate",
        "issuer": ISSUER.did,
        "kid": ISSUER.kid,
        "payload": payload,
        "content_hash": hashlib.sha256(rfc8785.dumps(payload)).hexdigest(),
    }


async def test_an_altered_certificate(atb: httpx.AsyncClient) -> None:
    """200 and a negative result; an unsigned payload is not returned."""
    verdict = await post_verify(atb, ISSUER.issue(ISSUER.certificate(), sig=ISSUER.envelope(ISSUER.passport())["sig"]))
    assert (verdict["valid"], verdict["status"], verdict["reason"]) == (False, "invalid", "sig_invalid")
    assert (verdict["payload"], verdict["issuer"], verdict["type"]) == (None, ISSUER.did, "atb_certificate")


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"expected_issuer": "did:web:x"}, "wrong_issuer"),
        ({"min_score": 0.95}, "score_too_low"),
        ({"min_score": 1}, "score_too_low"),
        ({"now": "2027-01-01T00:01:01Z"}, "expired"),
        ({"now": "2027-01-01T01:01:01+01:00"}, "expired"),
        ({"expected_issuer": None, "min_score": None, "now": None, "unknown": 1}, None),
    ],
)
async def test_what_is_asked_for(atb: httpx.AsyncClient, question: dict[str, Any], reason: str | None) -> None:
    """Issuer, score and time; a member that is null asks for nothing."""
    lasting = ISSUER.certificate(expires_at="2127-01-01T00:00:00Z") if reason is None else ISSUER.certificate()
    assert (await post_verify(atb, ISSUER.issue(lasting), **question))["reason"] == reason


async def test_the_service_s_own_time(opener: Opener, clock_file: Path) -> None:
    """Without `now` it is the WP clock's, with the skew that is set."""
    atb = await opener(ADDON, clock_offset_file=clock_file, skew_seconds=0)
    soon = ISSUER.issue(ISSUER.certificate(expires_at=utc_text(int(time.time()) + 3600)))
    assert (await post_verify(atb, soon, now=None))["status"] == "active"
    clock_file.write_text("3700\n", "ascii")
    assert (await post_verify(atb, soon, now=None))["status"] == "expired"


async def test_the_credential_may_come_in_a_header(atb: httpx.AsyncClient) -> None:
    """Alone, beside a body that asks for more, and beside the same credential."""
    credential = ISSUER.issue(ISSUER.certificate(expires_at="2127-01-01T00:00:00Z"))
    headers = {"X-ATB-Credential": credential}
    for answer in (
        await atb.post("/v1/verify", headers=headers),
        await atb.post("/v1/verify", headers=headers, json={"min_score": 0.5}),
        await atb.post("/v1/verify", headers=headers, json={"credential": credential}),
    ):
        assert (answer.status_code, answer.json()["valid"]) == (200, True)
    reply = await atb.post("/v1/verify", headers=headers, json={"min_score": 0.95})
    assert reply.json()["reason"] == "score_too_low"
    for other in (
        await atb.post("/v1/verify", headers=headers, json={"credential": "other"}),
        await atb.post("/v1/verify", headers=[("X-ATB-Credential", "a"), ("X-ATB-Credential", "b")]),
    ):
        assert other.status_code == 422


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xef\xbb\xbf{}", b'{"credential":"a","credential":"b"}'),
        *(b'{"credential":%s}' % value for value in (b"null", b"5", b"[]", b"{}", b"true", b'"\\ud800"')),
        *(b'{"credential":"a","min_score":%s}' % value for value in (b'"0.5"', b"-0.1", b"1.1", b"true", b"1e999")),
        *(b'{"credential":"a","now":%s}' % value for value in (b"5", b'"now"', b'"2026-01-01"', b'""')),
        b'{"credential":"a","expected_issuer":5}',
        *(b'{"credential":"a","unknown":%s}' % value for value in (b"9007199254740992", b"1e999", b'"\\ud800"')),
    ],
)
async def test_a_malformed_request(atb: httpx.AsyncClient, body: bytes) -> None:
    """P-AD-07: 422 with the places."""
    answer = await atb.post("/v1/verify", content=body)
    assert answer.status_code == 422, answer.text
    assert [set(item) for item in answer.json()["detail"]] == [{"loc", "msg", "type"}] * len(answer.json()["detail"])
    assert answer.json()["detail"]


async def test_an_issuer_whom_nobody_trusts(atb: httpx.AsyncClient) -> None:
    """A revoked issuer is an unknown one (P-AD-04)."""
    stranger = Issuer("did:web:stranger.example", 2)
    verdict = await post_verify(atb, stranger.issue(stranger.certificate()))
    assert (verdict["status"], verdict["reason"]) == ("unverifiable", "no_public_key")


async def test_without_a_trust_set(opener: Opener) -> None:
    """P-AD-04: every verification, whatever the credential; health says who is trusted now."""
    atb = await opener(ADDON, None)
    for credential in (ISSUER.issue(ISSUER.certificate()), "*"):
        verdict = await post_verify(atb, credential)
        assert (verdict["valid"], verdict["status"], verdict["reason"]) == (False, "unverifiable", "no_trust_set")
    assert (await atb.get("/health")).json()["issuers"] == 0


@pytest.mark.usefixtures("no_library")
async def test_without_a_falcon_library(opener: Opener) -> None:
    """P-AD-05: it serves, and verifies nothing."""
    atb = await opener(ADDON)
    verdict = await post_verify(atb, ISSUER.issue(ISSUER.certificate()))
    assert (verdict["valid"], verdict["status"], verdict["reason"]) == (False, "unverifiable", "no_backend")
    assert (await atb.get("/health")).status_code == 200
