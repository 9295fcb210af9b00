"""An outside opinion over random messages: PyPI's http-message-signatures and the agent accept what the other signs.

Each direction has its control: with one thing changed that the signature covers, both refuse.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    HTTPSignatureKeyResolver,
    InvalidSignature,
    algorithms,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference.agent.test_agent_process import run_agents

CREATED = 1_700_000_000
SEGMENTS = st.text(st.sampled_from(list("abcXYZ019-._~!$&'()*+,;=:@")), max_size=6) | st.sampled_from(
    ["%2F", "%7e", "%C3%A9"]
)
WORDS = st.text(st.sampled_from(list("abcXYZ019-._~")), min_size=1, max_size=6)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12)
DERIVED = ("@method", "@authority", "@path", "@query", "@target-uri", "@request-target", "@scheme")
CHANGED = ("method", "authority", "path", "query", "field", "body", "signature", "key")


@dataclass
class Message:
    """A request as the other library wants it."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Key(HTTPSignatureKeyResolver):
    """One key for every key id."""

    public: bytes
    seed: bytes = b""

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        """Return the public half."""
        del key_id
        return Ed25519PublicKey.from_public_bytes(self.public)

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:
        """Return the private half."""
        del key_id
        return Ed25519PrivateKey.from_private_bytes(self.seed)


REQUESTS = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["GET", "POST", "PUT", "M-SEARCH"]),
        "scheme": st.sampled_from(["https", "http"]),
        "authority": st.sampled_from(["example.com", "a.b.example:8443", "example.com:443", "127.0.0.1:80", "[::1]:9"]),
        "segments": st.lists(SEGMENTS, max_size=3),
        "query": st.dictionaries(st.from_regex(r"[a-z0-9._-]{1,4}", fullmatch=True), WORDS, max_size=3),
        "fields": st.dictionaries(st.from_regex(r"x-[a-z]{1,4}", fullmatch=True), VALUES, max_size=3),
        "body": st.binary(max_size=40),
        "covered": st.sets(st.sampled_from(DERIVED)),
    }
)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """An agent as a process."""
    folder: Path = tmp_path_factory.mktemp("agent")
    with run_agents({}, folder / "log") as http:
        yield http


def members_of(draw: dict[str, Any]) -> dict[str, Any]:
    """Return the drawn request in the members of specification 6.2."""
    query = "&".join(f"{name}={value}" for name, value in draw["query"].items())
    return {
        "method": draw["method"],
        "scheme": draw["scheme"],
        "authority": draw["authority"],
        "path": "/" + "/".join(draw["segments"]) + (f"?{query}" if query else ""),
        "headers": draw["fields"],
        "body_b64": base64.b64encode(draw["body"]).decode(),
    }


def covered_by(draw: dict[str, Any]) -> list[str]:
    """Return what to cover: the drawn components, every field, and one query parameter."""
    derived = draw["covered"] | {"@method", "@authority", "@path", "@query"}
    if draw["authority"].endswith((":443", ":80")):
        derived -= {"@target-uri"}  # the one reading apart: the other library leaves a default port in it
    names = [*sorted(derived), *draw["fields"]]
    return [*names, *[f'@query-param;name="{name}"' for name in list(draw["query"])[:1]]]


def change_request(members: dict[str, Any], part: str) -> dict[str, Any]:
    """Return the signed request with one covered thing changed."""
    headers = members["headers"]
    if part == "field":
        names = [name for name in headers if name.startswith("x-")]
        return (
            members | {"headers": headers | {names[0]: headers[names[0]] + "x"}}
            if names
            else change_request(members, "method")
        )
    if part == "signature":
        label, value = headers["Signature"].split("=", 1)
        raw = bytearray(base64.b64decode(value.strip(":")))
        raw[5] ^= 1
        return members | {"headers": headers | {"Signature": f"{label}=:{base64.b64encode(raw).decode()}:"}}
    if part == "body":
        body = base64.b64decode(members["body_b64"]) + b"x"
        return members | {"body_b64": base64.b64encode(body).decode()}
    if part == "key":
        other_key = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32).public_key().public_bytes_raw()
        return members | {"public_key_hex": other_key.hex(), "did_key": None}
    if part == "query":
        return members | {"path": members["path"] + ("&" if "?" in members["path"] else "?") + "added=1"}
    if part == "path":
        return members | {"path": "/other" + members["path"]}
    return members | {part: {"method": "DELETE", "authority": "other.example"}[part]}


def accepted_elsewhere(members: dict[str, Any]) -> bool:
    url = f"{members['scheme']}://{members['authority']}{members['path']}"
    key = Key(bytes.fromhex(members["public_key_hex"]))
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=key)
    body = base64.b64decode(members["body_b64"])
    try:
        message = Message(members["method"], url, dict(members["headers"]))
        return len(verifier.verify(message, max_age=None, body=body)) == 1
    except InvalidSignature:
        return False


def accepted_here(agent: httpx.Client, members: dict[str, Any]) -> bool:
    answer = agent.post("/verify/rfc9421", json=members)
    assert answer.status_code == 200
    return bool(answer.json()["valid"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(REQUESTS, st.sampled_from(CHANGED), st.booleans())
def test_what_the_agent_signs_is_accepted_there(
    agent: httpx.Client, draw: dict[str, Any], part: str, by_default: bool
) -> None:
    """Every signed request verifies in the other library, with its body; changed in one thing it does not."""
    cover = {} if by_default and part != "field" else {"covered_components": covered_by(draw)}
    answer = agent.post("/verify/rfc9421/sign", json=members_of(draw) | cover)
    assert answer.status_code == 200, answer.text
    document = answer.json()

    assert accepted_elsewhere(document)
    assert accepted_here(agent, document)
    if not (part == "query" and "@query" not in str(document["covered_components"])):
        assert not accepted_elsewhere(change_request(document, part))
        assert not accepted_here(agent, change_request(document, part))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(REQUESTS, st.sampled_from(CHANGED), st.binary(min_size=32, max_size=32), PRINTABLE, PRINTABLE, st.booleans())
def test_what_the_other_library_signs_is_accepted_here(
    agent: httpx.Client, draw: dict[str, Any], part: str, seed: bytes, nonce: str, tag: str, include_alg: bool
) -> None:
    """Every request signed there is valid here; changed in one thing it is valid in neither."""
    ours = members_of(draw)
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    message = Message(draw["method"], f"{ours['scheme']}://{ours['authority']}{ours['path']}", dict(draw["fields"]))
    HTTPMessageSigner(signature_algorithm=algorithms.ED25519, key_resolver=Key(public, seed)).sign(
        message,
        key_id="k",
        created=dt.datetime.fromtimestamp(CREATED, dt.UTC),
        nonce=nonce or None,
        tag=tag or None,
        include_alg=include_alg,
        covered_component_ids=[
            f'"@query-param"{name[12:]}' if name.startswith("@query-param") else name for name in covered_by(draw)
        ],
        body=draw["body"],
    )
    ours |= {"headers": message.headers, "public_key_hex": public.hex()}

    assert accepted_here(agent, ours), agent.post("/verify/rfc9421", json=ours).text
    assert accepted_elsewhere(ours)
    assert not accepted_here(agent, change_request(ours, part))
    assert not accepted_elsewhere(change_request(ours, part))
