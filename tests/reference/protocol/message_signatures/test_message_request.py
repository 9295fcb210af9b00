"""The request model of verify and explain: what is refused before anything is judged (6.2)."""

from __future__ import annotations

from typing import Any

import base58
import pytest
from pydantic import ValidationError

from reference.protocol.message_signatures import ClosedMessageVerifyRequest, MessageRequest, MessageVerifyRequest

KEY = "26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb"
OTHER_KEY_HEX = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
DID = "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd"
KEYLESS: dict[str, Any] = {"method": "GET", "authority": "a", "path": "/", "headers": {}}
MESSAGE: dict[str, Any] = KEYLESS | {"public_key_hex": OTHER_KEY_HEX}


def did_key_of(raw: bytes) -> str:
    return "did:key:z" + base58.b58encode(b"\xed\x01" + raw).decode()


@pytest.mark.parametrize("model", [MessageVerifyRequest, ClosedMessageVerifyRequest, MessageRequest])
@pytest.mark.parametrize(
    "change",
    [
        {"mode": "hmac"},
        {"mode": "RFC9421"},
        {"mode": ""},
        {"mode": None},
        {"mode": 9421},
        {"method": None},
        {"path": 1},
        {"authority": b"a"},
        {"headers": []},
        {"headers": {"a": 1}},
        {"headers": {"a": ["b", None]}},
        {"headers": {1: "a"}},
        {"body_b64": "eA"},
        {"body_b64": "eB=="},
        {"body_b64": "e A=="},
        {"body_b64": "-_8="},
        {"status": "200"},
        {"now": 1.0},
        {"now": True},
        {"now": 2**53},
        {"max_age_seconds": "1"},
        {"require_content_digest": 1},
        {"required_components": "@method"},
        {"allowed_algorithms": [1]},
        {"public_key_hex": KEY[:-2]},
        {"public_key_hex": KEY[:-1] + "g"},
        {"public_key_hex": KEY + "\n"},
        {"public_key_hex": KEY, "did_key": DID},
        {"method": "\ud800"},
        {"headers": {"\ud800": "a"}},
        {"headers": {"a": ["\ud800"]}},
        {"label": "\ud800"},
    ],
)
def test_what_is_no_message_is_refused(model: type[MessageRequest], change: dict[str, Any]) -> None:
    """Wrong types, bad encodings, contradicting keys and text outside Unicode are faults of the request."""
    with pytest.raises(ValidationError):
        model.model_validate(MESSAGE | change)


@pytest.mark.parametrize("model", [MessageRequest, MessageVerifyRequest, ClosedMessageVerifyRequest])
def test_the_mode_may_be_named(model: type[MessageRequest]) -> None:
    """Clients in the field send it; another one than there is is refused at its member, by its name."""
    assert model.model_validate(MESSAGE | {"mode": "rfc9421"}) == model.model_validate(MESSAGE)
    with pytest.raises(ValidationError) as error_info:
        model.model_validate(MESSAGE | {"mode": "cavage"})
    [fault] = error_info.value.errors()
    assert (fault["loc"], "rfc9421" in fault["msg"]) == (("mode",), True)


@pytest.mark.parametrize("name", ["method", "authority", "path", "headers"])
def test_required_members(name: str) -> None:
    """Four members are required, each by its name."""
    message = {key: value for key, value in MESSAGE.items() if key != name}

    with pytest.raises(ValidationError) as error_info:
        MessageRequest.model_validate(message)

    assert [((name,), "missing")] == [(item["loc"], item["type"]) for item in error_info.value.errors()]


def test_verify_needs_a_key_and_explain_does_not() -> None:
    """Verify refuses a request without the key of the expected signer."""
    assert MessageRequest.model_validate(KEYLESS).key_bytes() is None
    with pytest.raises(ValidationError):
        MessageVerifyRequest.model_validate(KEYLESS)


@pytest.mark.parametrize(
    "did",
    [
        "",
        "did:key:z",
        "did:key:z6Mk",
        "did:web:example.com",
        f"{DID}#{DID[8:]}",
        "did:key:z0",
        did_key_of(bytes(31)),
        did_key_of(bytes(33)),
    ],
)
def test_a_did_key_is_one_of_ed25519(did: str) -> None:
    """A did:key is refused by itself when it is not one, or not of 32 bytes."""
    with pytest.raises(ValidationError) as error_info:
        MessageVerifyRequest.model_validate(KEYLESS | {"did_key": did})

    assert [item["loc"] for item in error_info.value.errors()] == [("did_key",)]


def test_a_bad_point_is_for_the_verdict() -> None:
    """A well-formed did:key of a bad point is accepted here, like one in hex, and rejected by the verdict."""
    request = MessageVerifyRequest.model_validate(KEYLESS | {"did_key": did_key_of(bytes(32))})

    assert bytes(32) == request.key_bytes()


def test_both_keys_may_be_given_when_they_are_the_same() -> None:
    """The same key in both spellings, hex in any case, is one key."""
    request = MessageVerifyRequest.model_validate(MESSAGE | {"did_key": DID, "public_key_hex": OTHER_KEY_HEX.upper()})

    assert bytes.fromhex(OTHER_KEY_HEX) == request.key_bytes()


def test_unknown_members_are_tolerated_open_and_refused_closed() -> None:
    """The agent tolerates any further member, the rail none (P-CV-14)."""
    message = MESSAGE | {"extra": 2**70, "other": "\ud800"}

    MessageVerifyRequest.model_validate(message)
    with pytest.raises(ValidationError) as error_info:
        ClosedMessageVerifyRequest.model_validate(message)
    assert {item["type"] for item in error_info.value.errors()} == {"extra_forbidden"}


def test_a_refusal_does_not_show_what_was_sent() -> None:
    """The text of a refusal repeats nothing of the request."""
    with pytest.raises(ValidationError) as error_info:
        MessageVerifyRequest.model_validate(MESSAGE | {"public_key_hex": "s3cret"})

    assert "s3cret" not in str(error_info.value)
