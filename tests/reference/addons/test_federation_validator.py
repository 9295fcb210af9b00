"""The federation validator: credentials in, tokens out (8.3)."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
import rfc8785

from reference.addons.federation_validator.credentials_and_tokens import ADDON
from reference.protocol.envelope import open_envelope
from reference.protocol.hashes import hash_reference
from reference.web.settings import Misconfigured
from tests.reference.addons.conftest import ISSUER, Opener
from tests.reference.falcon_issuer import FALCON, Issuer

LASTING = {"expires_at": "2127-01-01T00:00:00Z"}
DID = "did:weldproof:federation-validator"
SHOP = "did:web:shop.example"


async def post_json(client: httpx.AsyncClient, path: str, body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def token_of(client: httpx.AsyncClient, audience: str | None = SHOP) -> str:
    credentials = [ISSUER.issue(ISSUER.passport(**LASTING)), ISSUER.issue(ISSUER.certificate(**LASTING))]
    verdict = await post_json(client, "/v1/validate", {"credentials": credentials, "audience": audience})
    assert verdict["valid"], verdict
    return str(verdict["token"])


async def test_active_credentials_get_a_token(federation: httpx.AsyncClient) -> None:
    """One result each, and a token over them that names what it was given for."""
    payloads = [ISSUER.passport(**LASTING), ISSUER.certificate(**LASTING)]
    credentials = [ISSUER.issue(payload) for payload in payloads]
    verdict = await post_json(federation, "/v1/validate", {"credentials": credentials, "audience": SHOP})
    active = {"valid": True, "status": "active", "reason": None, "issuer": ISSUER.did, "kid": ISSUER.kid}
    assert verdict["results"] == [
        {"index": 0, **active, "type": "agent_passport", "alg": "Falcon-1024"},
        {"index": 1, **active, "type": "atb_certificate", "alg": "Falcon-1024"},
    ]
    assert (verdict["valid"], verdict["issuer"]) == (True, DID)
    payload = open_envelope(verdict["token"]).payload
    assert payload["credential_hashes"] == [hash_reference(rfc8785.dumps(one)) for one in payloads]
    assert (payload["issuer_did"], payload["audience"], payload["subject_dids"]) == (
        DID,
        SHOP,
        ["did:web:agent.example"],
    )


async def test_another_service_can_check_a_token(federation: httpx.AsyncClient) -> None:
    """With the published key and a library, and nothing else of ours."""
    token = await token_of(federation)
    document = (await federation.get("/.well-known/pqc-keys.json")).json()
    envelope = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    (entry,) = (one for one in document["keys"] if one["kid"] == envelope["kid"])
    signature = base64.urlsafe_b64decode(envelope["sig"] + "=" * (-len(envelope["sig"]) % 4))
    key = base64.b64decode(entry["public_key_b64"])
    assert FALCON.verify(key, rfc8785.dumps(envelope["payload"]), signature)
    assert not FALCON.verify(key, rfc8785.dumps({**envelope["payload"], "audience": "x"}), signature)
    assert (document["issuer"], entry["did"], entry["status"]) == (DID, DID, "active")


async def test_one_credential_that_is_not_active_means_no_token(federation: httpx.AsyncClient) -> None:
    """Each is reported; the others stay active."""
    bad = [
        (ISSUER.issue(ISSUER.certificate(**LASTING), alg="ML-DSA-65"), "unsupported_alg", "ML-DSA-65"),
        (ISSUER.issue(ISSUER.certificate(expires_at="2026-01-02T00:00:00Z")), "expired", "Falcon-1024"),
        ("*", "envelope_decode", None),
        (await token_of(federation), "envelope_shape", "Falcon-1024"),
    ]
    for text, reason, alg in bad:
        credentials = [ISSUER.issue(ISSUER.passport(**LASTING)), text]
        verdict = await post_json(federation, "/v1/validate", {"credentials": credentials})
        assert (verdict["valid"], verdict["token"]) == (False, None)
        assert [one["reason"] for one in verdict["results"]] == [None, reason]
        assert verdict["results"][1]["alg"] == alg


async def test_a_token_is_verified(federation: httpx.AsyncClient) -> None:
    """By its issuer, for its audience."""
    token = await token_of(federation)
    for audience in (None, SHOP):
        document = await post_json(federation, "/v1/tokens/verify", {"token": token, "audience": audience})
        assert document == {"valid": True, "status": "active", "reason": None, "payload": open_envelope(token).payload}
    verdict = await post_json(federation, "/v1/tokens/verify", {"token": token, "audience": "did:web:other.example"})
    assert (verdict["valid"], verdict["status"], verdict["reason"]) == (False, "invalid", "wrong_audience")


async def test_what_is_no_token(federation: httpx.AsyncClient) -> None:
    """A credential is not a token, and neither is a token that another issuer signed."""
    token = open_envelope(await token_of(federation))
    for text, reason in (
        (ISSUER.issue(ISSUER.certificate(**LASTING)), "envelope_shape"),
        (ISSUER.issue(token.payload), "kid_mismatch"),
        (ISSUER.issue(token.payload, kid=token.kid), "sig_invalid"),
        (ISSUER.issue({**token.payload, "issuer_did": ISSUER.did}), "wrong_issuer"),
    ):
        verdict = await post_json(federation, "/v1/tokens/verify", {"token": text})
        assert (verdict["valid"], verdict["reason"], verdict["payload"]) == (False, reason, None)


async def test_a_token_is_short_lived(opener: Opener, clock_file: Path) -> None:
    """300 seconds, and the skew."""
    federation = await opener(ADDON, clock_offset_file=clock_file)
    token = await token_of(federation)
    clock_file.write_text("290\n", "ascii")
    assert (await post_json(federation, "/v1/tokens/verify", {"token": token}))["status"] == "active"
    clock_file.write_text("400\n", "ascii")
    assert (await post_json(federation, "/v1/tokens/verify", {"token": token}))["status"] == "expired"


async def test_every_token_is_another_one(federation: httpx.AsyncClient) -> None:
    """Tokens that are asked for at once have identifiers of their own."""
    tokens = await asyncio.gather(*(token_of(federation) for _ in range(8)))
    ids = {open_envelope(token).payload["jti"] for token in tokens}
    assert len(ids) == 8
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", one) for one in ids)


async def test_signing_holds_up_no_other_call(federation: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs beside the loop: health is answered while a signature is being made."""
    loop, started, go_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    async def in_a_thread(sign: Any, *context: Any) -> Any:
        started.set()
        await go_on.wait()
        return await loop.run_in_executor(None, sign, *context)

    monkeypatch.setattr("asyncio.to_thread", in_a_thread)
    pending_call = asyncio.create_task(token_of(federation))
    await asyncio.wait_for(started.wait(), 60)
    assert (await federation.get("/health")).status_code == 200
    assert not pending_call.done()
    go_on.set()
    assert open_envelope(await pending_call)


async def test_a_sibling_that_the_trust_set_knows(opener: Opener, tmp_path: Path) -> None:
    """A token of another validator of the same word is taken when an operator put its key into the trust set."""
    sibling = Issuer(DID, 3)
    payload = open_envelope(await token_of(await opener(ADDON))).payload
    for trusted, reason in (({DID: sibling.public}, None), ({}, "kid_mismatch"), (None, "no_trust_set")):
        federation = await opener(ADDON, trusted, addon_data_dir=tmp_path / "another")
        verdict = await post_json(federation, "/v1/tokens/verify", {"token": sibling.issue(payload)})
        assert verdict["reason"] == reason


async def test_the_key_is_kept(opener: Opener, tmp_path: Path) -> None:
    """Made on the first run with mode 0600, the same after a restart; no other user can read it."""
    first, again = [(await (await opener(ADDON)).get("/.well-known/pqc-keys.json")).json() for _ in range(2)]
    file = tmp_path / ADDON.name / "falcon_key.json"
    assert first == again
    assert len(first["keys"]) == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text())["secret_key_b64"] not in json.dumps(first)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"public_key_b64":"AAAA"}', "halves"])
async def test_a_key_file_that_cannot_be_used(opener: Opener, tmp_path: Path, content: str) -> None:
    """The start is refused and the setting named; halves of two keys are no key."""
    await opener(ADDON)
    file = tmp_path / ADDON.name / "falcon_key.json"
    if content == "halves":
        content = json.dumps(json.loads(file.read_text()) | {"public_key_b64": ISSUER.public_key_b64})
    file.write_text(content)
    with pytest.raises(Misconfigured, match="WP_ADDON_DATA_DIR"):
        await opener(ADDON)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"{}", b'{"credentials":[]}', b'{"credentials":"a"}', b'{"credentials":[5]}'),
        b'{"credentials":["a",null]}',
        b'{"credentials":[%s]}' % b",".join([b'"a"'] * 17),
        *(b'{"credentials":["a"],"audience":%s}' % value for value in (b"5", b'""', b"[]", b'"%s"' % (b"a" * 513))),
        b'{"credentials":["a"],"audience":"\\ud800"}',
    ],
)
async def test_a_malformed_request(federation: httpx.AsyncClient, body: bytes) -> None:
    """P-AD-07: 1 to 16 texts, an audience that is one."""
    answer = await federation.post("/v1/validate", content=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]
    reply = await federation.post("/v1/tokens/verify", content=body.replace(b"credentials", b"x"))
    assert reply.status_code == 422


async def test_sixteen_credentials(federation: httpx.AsyncClient) -> None:
    """As many as may be asked for, in one call."""
    credentials = [ISSUER.issue(ISSUER.certificate(**LASTING))] * 16
    verdict = await post_json(federation, "/v1/validate", {"credentials": credentials})
    assert (verdict["valid"], [one["index"] for one in verdict["results"]]) == (True, list(range(16)))


@pytest.mark.usefixtures("no_library")
async def test_without_a_falcon_library(opener: Opener) -> None:
    """P-AD-05: it serves and says so; no key is made, nothing verified, nothing issued."""
    federation = await opener(ADDON)
    verdict = await post_json(federation, "/v1/validate", {"credentials": [ISSUER.issue(ISSUER.passport(**LASTING))]})
    assert (verdict["valid"], verdict["token"]) == (False, None)
    assert [(one["status"], one["reason"]) for one in verdict["results"]] == [("unverifiable", "no_backend")]
    document = await post_json(federation, "/v1/tokens/verify", {"token": "x"})
    assert (document["status"], document["reason"]) == ("unverifiable", "no_backend")
    assert (await federation.get("/.well-known/pqc-keys.json")).json()["keys"] == []


async def test_a_library_that_is_gone(opener: Opener, request: pytest.FixtureRequest) -> None:
    """The key that was made stays published, for those who hold tokens."""
    before = (await (await opener(ADDON)).get("/.well-known/pqc-keys.json")).json()
    request.getfixturevalue("no_library")
    assert (await (await opener(ADDON)).get("/.well-known/pqc-keys.json")).json() == before


async def test_a_library_that_cannot_sign(federation: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 `falcon_unavailable`, and nothing of what happened."""

    async def fail(*_: Any) -> bytes:
        raise RuntimeError("no entropy")

    monkeypatch.setattr("asyncio.to_thread", fail)
    answer = await federation.post("/v1/validate", json={"credentials": [ISSUER.issue(ISSUER.passport(**LASTING))]})
    assert (answer.status_code, answer.json()) == (503, {"detail": "falcon_unavailable"})
