"""The suite's vectors, which share no code with the reference: the same verdict, codes and base for each."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conformance.vectors import MessageVector, message_signatures
from reference.protocol.message_signatures import (
    ExpectedKey,
    Fields,
    Message,
    MessageVerdict,
    MessageVerifyRequest,
    Policy,
    explain,
    judge_message,
    verify,
)

NOW = 1_800_000_000
VECTORS = message_signatures()
OF_THE_AGENT = [vector for vector in VECTORS if "agent" in vector.doors]
OF_THE_LIBRARY = [vector for vector in VECTORS if "agent" not in vector.doors]


def now_of(vector: MessageVector) -> int:
    """Return the vector's moment, or one at which no time of it is a fault."""
    return int(vector.policy.get("now", NOW))


@pytest.mark.parametrize("vector", OF_THE_AGENT, ids=lambda vector: vector.id)
def test_verify_and_explain(vector: MessageVector) -> None:
    """As the agent and the paid rail are asked."""
    request = MessageVerifyRequest.model_validate(vector.request)
    verify_result, explain_result = verify(request, now=now_of(vector)), explain(request, now=now_of(vector))

    assert vector.expected.valid is verify_result["valid"]
    assert set(vector.expected.codes) == set(verify_result["error_codes"])
    if vector.signature_base is not None:
        assert vector.signature_base == verify_result["signature_base"]
    assert verify_result == {name: explain_result[name] for name in verify_result}
    assert bool(explain_result["fix_notes"]) or vector.expected.valid


def key_of(vector: MessageVector) -> ExpectedKey:
    key_members = vector.key
    if "public_key_hex" in key_members:
        return ExpectedKey(key_members["algorithm"], bytes.fromhex(key_members["public_key_hex"]))
    if "secret_b64" in key_members:
        return ExpectedKey(key_members["algorithm"], base64.b64decode(key_members["secret_b64"]))
    return ExpectedKey(key_members["algorithm"], key_members["public_key_pem"].encode())


def message_of(members: Any, trailers: Any, *, response: bool) -> Message:
    fields, content = Fields(members["headers"]), base64.b64decode(members.get("body_b64", ""))
    trailer_fields = None if trailers is None else Fields(trailers)
    if response:
        related_members = members.get("related_request")
        related_message = (
            None
            if related_members is None
            else message_of(related_members, related_members.get("trailers"), response=False)
        )
        return Message(
            fields, content, status=members["status"], trailers=trailer_fields, related_request=related_message
        )
    path, mark, query = members["path"].partition("?")
    return Message(
        fields,
        content,
        members["method"],
        members["authority"],
        path or "/",
        query if mark else None,
        members.get("scheme", "https"),
        trailers=trailer_fields,
    )


def judge_vector(vector: MessageVector) -> MessageVerdict:
    members, key = vector.message, key_of(vector)
    message = message_of(members, members.get("trailers"), response="status" in members)
    policy = Policy(
        vector.policy.get("allowed_algorithms", [key.algorithm]),
        vector.policy.get("label"),
        vector.policy.get("required_components", ()),
        require_content_digest=vector.policy.get("require_content_digest", True),
    )
    return judge_message(message, policy, key, now=now_of(vector))


@pytest.mark.parametrize("vector", OF_THE_LIBRARY, ids=lambda vector: vector.id)
def test_the_library(vector: MessageVector) -> None:
    """Responses, related requests, trailers and all algorithms."""
    result = judge_vector(vector)

    if vector.id.startswith("rfc9421/rfc/b.2.1/"):
        # The RFC's minimal example holds; that it covers nothing is the one thing held against it here.
        assert (result.signature_valid, result.codes) == (True, ["empty_components"])
        return
    assert set(vector.expected.codes) == set(result.codes)
    assert vector.expected.valid is (result.signature_valid is True and not result.codes)
    if vector.signature_base is not None:
        assert result.base is not None
        assert vector.signature_base == result.base.text


def test_both_doors_are_meant() -> None:
    """There are vectors for either, refused and valid."""
    for vectors in (OF_THE_AGENT, OF_THE_LIBRARY):
        assert {vector.expected.valid for vector in vectors} == {True, False}
