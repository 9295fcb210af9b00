"""The same messages judged by an independent implementation: PyPI's http-message-signatures."""

from __future__ import annotations

import base64
import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)

from reference.protocol.message_signatures import MessageVerifyRequest, SignRequest, sign, verify

SEED = bytes(range(32))
NOW = 1_700_000_000
MESSAGES: list[dict[str, Any]] = [
    {"path": "/a", "covered_components": ["@method", "@authority", "@path"]},
    {"path": "/a?b=%20c&d=e+f&g=~", "covered_components": ["@query", '@query-param;name="d"', '@query-param;name="g"']},
    {"path": "/", "covered_components": ["@target-uri", "@request-target", "@scheme"]},
    {"path": "/a", "body": '{"hello": "world"}', "headers": {"Content-Type": "application/json"}},
    {
        "path": "/a",
        "headers": {"X-A": "k=1, l=(1 2);p", "Priority": "u=1,  i"},
        "covered_components": ["x-a", 'x-a;key="l"', "x-a;bs", "priority;sf"],
    },
    {"path": "/a", "tag": "app", "nonce": 'n"\\', "label": "other"},
]


class Key(HTTPSignatureKeyResolver):
    """One key pair for every key id."""

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        """Return the public half."""
        return self.resolve_private_key(key_id).public_key()

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        """Return the private half."""
        del key_id
        return Ed25519PrivateKey.from_private_bytes(SEED)


@dataclass
class Message:
    """A request as the other library wants it."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)


def accepted_elsewhere(answer: dict[str, Any]) -> bool:
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Key())
    message = Message(
        answer["method"], f"{answer['scheme']}://{answer['authority']}{answer['path']}", dict(answer["headers"])
    )
    body = base64.b64decode(answer["body_b64"])
    try:
        results = verifier.verify(message, max_age=None, body=body or None)
    except InvalidSignature:
        return False
    return len(results) == 1


def signed_here(members: dict[str, Any]) -> dict[str, Any]:
    request = {"method": "POST", "authority": "example.com", "expires": 4_000_000_000, **members}
    return sign(SignRequest.model_validate(request), seed=SEED, now=NOW)


@pytest.mark.parametrize("members", MESSAGES)
def test_the_other_library_accepts_what_we_sign(members: dict[str, Any]) -> None:
    """A request signed here verifies there; with one character of the signature changed it does not."""
    answer = signed_here(members)
    forged_signature = answer["headers"]["Signature"]
    forged_signature = forged_signature[:-10] + ("A" if forged_signature[-10] != "A" else "B") + forged_signature[-9:]

    assert accepted_elsewhere(answer)
    assert not accepted_elsewhere(answer | {"headers": answer["headers"] | {"Signature": forged_signature}})


def test_the_other_library_refuses_a_changed_body() -> None:
    """The digest that we add is the one that the other library compares."""
    answer = signed_here(MESSAGES[3])

    assert not accepted_elsewhere(answer | {"body_b64": base64.b64encode(b'{"hello": "worle"}').decode()})


@pytest.mark.parametrize(
    "components",
    [
        ("@method", "@authority", "@path", "@query"),
        ("@target-uri", '"@query-param";name="p"', "x-a"),
        ("content-type", "content-digest", '"x-a";key="k"', '"x-a";bs'),
    ],
)
def test_we_accept_what_the_other_library_signs(components: tuple[str, ...]) -> None:
    """A request signed there verifies here; a change to any covered part is found."""
    headers = {
        "Content-Type": "application/json",
        "Content-Digest": "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
        "X-A": "k=1,  l",
    }
    message = Message("POST", "https://example.com:8443/a?p=1%202", headers)
    signer = HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Key())
    signer.sign(
        message,
        key_id="k",
        covered_component_ids=components,
        use_existing_digest=True,
        created=dt.datetime.fromtimestamp(NOW, dt.UTC),
    )
    ours = {
        "method": "POST",
        "authority": "example.com:8443",
        "path": "/a?p=1%202",
        "headers": message.headers,
        "body_b64": "eyJoZWxsbyI6ICJ3b3JsZCJ9",
        "public_key_hex": Key().resolve_public_key("").public_bytes_raw().hex(),
        "require_content_digest": "content-digest" in components,
    }
    moved_target = {"authority": "example.com", "path": "/b?p=3", "headers": message.headers | {"X-A": "k=2"}}

    assert verify(MessageVerifyRequest.model_validate(ours), now=NOW)["error_codes"] == []
    assert verify(MessageVerifyRequest.model_validate(ours | moved_target), now=NOW)["error_codes"] == [
        "signature_mismatch"
    ]
