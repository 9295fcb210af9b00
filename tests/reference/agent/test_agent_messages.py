"""Verify, explain and sign over HTTP: what is answered, and what is refused unjudged (specification 6)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.protocol.message_signatures import MessageVerifyRequest, verify
from tests.reference.agent.conftest import Opener

VERIFY, EXPLAIN, SIGN = PATHS = ("/verify/rfc9421", "/verify/rfc9421/explain", "/verify/rfc9421/sign")
PLAIN: dict[str, Any] = {"method": "GET", "authority": "example.com", "path": "/a"}
KEYLESS: dict[str, Any] = {**PLAIN, "headers": {}}
NOT_JSON = (b"", b"{", b"nonsense", b"\xef\xbb\xbf{}", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff", b"[" * 40 + b"]" * 40)


def without_key(message: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in {"public_key_hex", "did_key"}}


def detail_of(answer: httpx.Response) -> list[dict[str, Any]]:
    """Return the items of a 422, each of which has exactly its three members."""
    assert answer.status_code == 422
    body = answer.json()
    assert set(body) == {"detail"}
    assert body["detail"]
    for item in body["detail"]:
        assert set(item) == {"loc", "msg", "type"}
        assert all(isinstance(part, str | int) for part in item["loc"])
    return list(body["detail"])


async def test_verify_answers_with_the_library_s_result(
    agent: httpx.AsyncClient, signed_request: dict[str, Any]
) -> None:
    """The agent adds nothing to the verdict and takes nothing away."""
    answer = await agent.post(VERIFY, json=signed_request)

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == verify(MessageVerifyRequest.model_validate(signed_request), now=0)
    assert answer.json()["valid"] is True


async def test_a_failing_signature_is_no_failing_call(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Whatever is wrong with the signature: 200, not valid, with a reason (AGENT-VERIFY-03)."""
    changes: list[dict[str, Any]] = [
        {"method": "GET"},
        {"body_b64": ""},
        {"headers": {}},
        {"headers": signed_request["headers"] | {"Signature-Input": "nonsense("}},
        {"headers": signed_request["headers"] | {"Signature": "other=:AA==:"}},
        {"did_key": None, "public_key_hex": "00" * 32},
        {"now": 10**9},
    ]
    for change in changes:
        answer = await agent.post(VERIFY, json=signed_request | change)
        assert answer.status_code == 200
        assert answer.json()["valid"] is False
        assert len(answer.json()["errors"]) == len(answer.json()["error_codes"]) > 0


async def test_explain_needs_no_key(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Either form of the key gives the same verdict; without one the base is there all the same."""
    keyless = without_key(signed_request)
    by_hex = (await agent.post(EXPLAIN, json=keyless | {"public_key_hex": signed_request["public_key_hex"]})).json()
    by_did = (await agent.post(EXPLAIN, json=keyless | {"did_key": signed_request["did_key"]})).json()
    by_none = (await agent.post(EXPLAIN, json=keyless)).json()

    assert by_hex == by_did
    assert (by_hex["verdict"], by_hex["fix_notes"]) == ("pass", [])
    assert (by_none["verdict"], by_none["valid"]) == ("unverified", None)
    assert by_none["signature_base"] == signed_request["signature_base"]


@pytest.mark.parametrize("question", [VERIFY, EXPLAIN])
async def test_clocks_may_differ_by_the_configured_skew(
    opener: Opener, signed_request: dict[str, Any], question: str
) -> None:
    """A signature from WP_SKEW_SECONDS ahead of the caller's time holds, one second more does not (P-AG-05)."""
    agent = await opener(skew_seconds=20)
    edge = (await agent.post(question, json=signed_request | {"now": 980})).json()
    beyond = (await agent.post(question, json=signed_request | {"now": 979})).json()

    assert (edge["valid"], edge["error_codes"]) == (True, [])
    assert (beyond["valid"], beyond["error_codes"]) == (False, ["created_in_future"])


async def test_what_sign_answers_verifies_as_it_stands(agent: httpx.AsyncClient) -> None:
    """Posted to verify unchanged it is valid, now, and explain gives the same base (P-SG-04)."""
    answer = await agent.post(SIGN, json={**PLAIN, "query": "x=1", "body": "hello", "unknown": {"a": [1]}})

    assert answer.status_code == 200
    assert abs(answer.json()["created"] - time.time()) < 60
    assert (await agent.post(VERIFY, content=answer.content)).json()["error_codes"] == []
    document = (await agent.post(EXPLAIN, content=answer.content)).json()
    assert document["signature_base"] == answer.json()["signature_base"]


async def test_every_call_signs_with_a_key_of_its_own(agent: httpx.AsyncClient) -> None:
    """Ten calls, ten keys (P-SG-01)."""
    keys = {(await agent.post(SIGN, json=PLAIN)).json()["public_key_hex"] for _ in range(10)}

    assert len(keys) == 10


@pytest.mark.parametrize("name", ["private_key", "private_key_hex", "secret_key", "signing_key", "private_key_pem"])
async def test_a_private_key_is_refused_and_not_repeated(agent: httpx.AsyncClient, name: str) -> None:
    """422 that says that keys are never accepted; the value appears nowhere (6.5)."""
    answer = await agent.post(SIGN, json={**PLAIN, name: "5ecret" * 8})

    assert "never accepted" in detail_of(answer)[0]["msg"]
    assert "5ecret" not in answer.text


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", NOT_JSON)
async def test_a_body_that_is_not_json_is_422(agent: httpx.AsyncClient, path: str, body: bytes) -> None:
    """Missing, malformed, with a BOM, a repeated member or too deep: all the same kind of fault (P-CV-02, P-CV-13)."""
    assert detail_of(await agent.post(path, content=body))[0]["loc"] == ["body"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", ["[]", "null", "1", '"text"', "true"])
async def test_a_body_that_is_no_object_is_422(agent: httpx.AsyncClient, path: str, body: str) -> None:
    """Only an object is a request."""
    assert [item["type"] for item in detail_of(await agent.post(path, content=body))] == ["object_type"]


@pytest.mark.parametrize(
    ("path", "change", "place"),
    [
        (VERIFY, {"method": None}, "method"),
        (VERIFY, {"headers": {"a": 1}}, "headers"),
        (VERIFY, {"body_b64": "x"}, "body_b64"),
        (VERIFY, {"public_key_hex": "00"}, "public_key_hex"),
        (EXPLAIN, {"did_key": "did:web:example.com"}, "did_key"),
        (EXPLAIN, {"path": 1}, "path"),
        (EXPLAIN, {"now": 2**53}, None),
        (SIGN, {"created": "now"}, "created"),
        (SIGN, {"covered_components": [""]}, "covered_components"),
        (SIGN, {"covered_components": ["@status"]}, "covered_components"),
    ],
)
async def test_a_wrong_member_is_named(
    agent: httpx.AsyncClient, path: str, change: dict[str, Any], place: str | None
) -> None:
    """The place of the fault is reported; the value there is not (6.2)."""
    answer = await agent.post(path, json={**KEYLESS, "public_key_hex": "26" * 32, **change})

    assert detail_of(answer)[0]["loc"][:2] == ["body", *([] if place is None else [place])]
    assert "did:web:example.com" not in answer.text


async def test_a_key_in_another_form_is_named(agent: httpx.AsyncClient) -> None:
    """The refusal of a key says which form it has, and does not repeat it."""
    for members, words in (
        ({"public_key_hex": "JrQLj5P/8/iXES9+vFgrIy29clF9CC/oPPswzd3kO7s="}, "base64"),
        ({"public_key_hex": "0x" + "26" * 32}, "without 0x"),
        ({"public_key_hex": "302a300506032b6570032100" + "26" * 32}, "SubjectPublicKeyInfo"),
        ({"public_key_hex": "26" * 64}, "private key"),
        ({"public_key_hex": "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"}, "did_key"),
        ({"did_key": "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"}, "P-256"),
        ({"did_key": "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"}, "secp256k1"),
        ({"did_key": "did:key:z6LSbysY2xFMRpGMhb7tFTLMpeuPRaqaWM1yECx2AtzE3KCc"}, "X25519"),
        ({"did_key": "did:web:example.com"}, "network"),
        ({"did_key": "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd#x"}, "fragment"),
    ):
        answer = await agent.post(EXPLAIN, json=KEYLESS | members)
        assert words in detail_of(answer)[0]["msg"]
        assert next(iter(members.values())) not in answer.text


async def test_a_request_needs_a_key_on_verify_only(agent: httpx.AsyncClient) -> None:
    """The expected key is what verify is about; two keys must be one."""
    assert detail_of(await agent.post(VERIFY, json=KEYLESS))[0]["type"] == "missing_key"
    both_keys = KEYLESS | {
        "public_key_hex": "26" * 32,
        "did_key": "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd",
    }
    assert detail_of(await agent.post(EXPLAIN, json=both_keys))[0]["type"] == "different_keys"


async def test_a_thousand_faults_are_told_in_part(agent: httpx.AsyncClient) -> None:
    """A refusal stays small, however many faults the body has."""
    answer = await agent.post(EXPLAIN, json=KEYLESS | {"headers": {f"h{n}": 1 for n in range(10_000)}})

    assert 1 <= len(detail_of(answer)) <= 50


async def test_unknown_members_are_tolerated(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Even what RFC 8785 has no form for, outside the members that are known (P-CV-14, P-CV-20)."""
    for path in (VERIFY, EXPLAIN):
        body = json.dumps(signed_request | {"more": [2**70, 1e300, {"deep": None}]}).encode()
        assert (await agent.post(path, content=body[:-1] + b',"x":"\\ud800"}')).status_code == 200


async def test_the_same_request_gets_the_same_answer(agent: httpx.AsyncClient, signed_request: dict[str, Any]) -> None:
    """Nothing is kept between calls."""
    answers = [(await agent.post(EXPLAIN, json=signed_request)).content for _ in range(3)]

    assert len(set(answers)) == 1


async def test_times_are_judged_by_the_service_clock(opener: Opener, clock_file: Path) -> None:
    """A signature expires when the clock has moved on, and the request's own `now` wins (P-CV-08)."""
    agent = await opener(clock_offset_file=clock_file)
    document = (await agent.post(SIGN, json=PLAIN)).json()

    clock_file.write_text("1000\n", "ascii")
    late = (await agent.post(VERIFY, json=document)).json()
    body = (await agent.post(VERIFY, json=document | {"now": document["created"]})).json()

    assert (late["error_codes"], body["error_codes"]) == (["expired"], [])
