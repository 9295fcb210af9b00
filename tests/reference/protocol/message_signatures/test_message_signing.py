"""Demo signing: what is signed, by which key, and what is refused (6.5)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from reference.protocol.message_signatures import (
    MessageVerifyRequest,
    NotSignable,
    SignRequest,
    explain,
    sign,
    verify,
)

SEED = bytes(range(32))
PLAIN: dict[str, Any] = {"method": "POST", "authority": "example.com", "path": "/a"}
DIGEST_OF_X = "sha-256=:LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=:"


def sign_plain(*, now: int = 1000, **members: Any) -> dict[str, Any]:
    return sign(SignRequest.model_validate(PLAIN | members), seed=SEED, now=now)


def test_the_default_signature_in_full() -> None:
    """A plain request is signed by the defaults, and the answer holds what is needed to check it by hand."""
    result = sign_plain(query="b=c", body="x", headers={"Content-Type": "text/plain"})

    signature = base64.b64decode(result["headers"]["Signature"].removeprefix("sig=:").removesuffix(":"))
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(result["public_key_hex"]))
    base = (
        '"@method": POST\n"@authority": example.com\n"@path": /a\n"@query": ?b=c\n'
        f'"content-digest": {DIGEST_OF_X}\n'
        '"@signature-params": ("@method" "@authority" "@path" "@query" "content-digest")'
        f';created=1000;expires=1300;keyid="{result["did_key"]}";alg="ed25519"'
    )
    key.verify(signature, base.encode())
    assert result == {
        "method": "POST",
        "authority": "example.com",
        "path": "/a?b=c",
        "scheme": "https",
        "headers": {
            "Content-Type": "text/plain",
            "Content-Digest": DIGEST_OF_X,
            "Signature-Input": "sig=" + base.split('"@signature-params": ')[1],
            "Signature": result["headers"]["Signature"],
        },
        "body_b64": "eA==",
        "signature_base": base,
        "signing_base": base,
        "covered_components": ["@method", "@authority", "@path", "@query", "content-digest"],
        "parameters": {"created": 1000, "expires": 1300, "keyid": result["did_key"], "alg": "ed25519"},
        "label": "sig",
        "created": 1000,
        "keyid": result["did_key"],
        "algorithm": "ed25519",
        "public_key_hex": "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8",
        "did_key": "did:key:z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd",
        "ephemeral": True,
        "note": result["note"],
    }


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"path": "/a?"},
        {"path": "", "query": ""},
        {"path": "/a?b", "query": "ignored"},
        {"body_b64": "AAEC"},
        {"body": "é", "body_b64": "w6k="},
        {"headers": {"content-digest": "sha-256=:AAAA:"}},
        {"headers": {"content-digest": "sha-256=:AAAA:"}, "body": "x"},
        {"covered_components": ["Content-Digest"]},
        {"covered_components": ["@method"], "body": "x"},
        {"covered_components": ['content-digest;key="sha-512"'], "body": "x"},
        {"covered_components": ["@target-uri", "@request-target", "@scheme", '@query-param;name="b"'], "query": "b=c"},
        {"covered_components": ['"x-a";key="k"', "x-a;bs", "x-a"], "headers": {"X-A": ["k=1", "l"]}},
        {"covered_components": ["created"], "headers": {"created": "yes"}},
        {"nonce": 'a"\\b', "tag": "t", "keyid": "", "label": "*a.b-c_1"},
        {"created": 5, "expires": 6},
        {"scheme": "HTTP", "authority": "EXAMPLE.com:80"},
        {"unknown": [1]},
    ],
)
def test_the_answer_is_valid_as_it_stands(members: dict[str, Any]) -> None:
    """Posted to verify unchanged, after a trip through JSON, every signed request is valid (P-SG-04)."""
    result = json.loads(json.dumps(sign_plain(**members)))

    message = MessageVerifyRequest.model_validate(result)

    assert verify(message, now=result["created"])["errors"] == []
    assert result["signature_base"] == explain(message, now=result["created"])["signature_base"]


def test_parameters_stand_in_their_order() -> None:
    """created, expires, keyid, alg, nonce, tag (P-SG-03)."""
    result = sign_plain(tag="t", nonce="n", keyid="k", expires=2000, created=1500)

    expected = ';created=1500;expires=2000;keyid="k";alg="ed25519";nonce="n";tag="t"'
    assert result["headers"]["Signature-Input"].endswith(expected)


def test_a_body_is_always_covered() -> None:
    """A cover chosen by the caller is kept, and the digest of a body joins it."""
    result = sign_plain(covered_components=["@path", "@method"], body="x")

    assert result["covered_components"] == ["@path", "@method", "content-digest"]


def test_a_signature_already_there_stays() -> None:
    """A second signature stands beside the first, may cover it, and both verify."""
    first = sign_plain(label="first")
    second = sign_plain(
        label="second",
        headers=first["headers"],
        covered_components=["@method", 'signature;key="first"', 'signature-input;key="first"'],
    )

    assert second["headers"]["Signature"].startswith(first["headers"]["Signature"] + ", second=:")
    for label in ("first", "second"):
        request = MessageVerifyRequest.model_validate(second | {"label": label})
        assert verify(request, now=1000)["error_codes"] == []


@pytest.mark.parametrize(
    "members",
    [
        {"covered_components": []},
        {"covered_components": ["x-none"]},
        {"covered_components": ["@status"]},
        {"covered_components": ["@method", "@method"]},
        {"covered_components": ["@unknown"]},
        {"covered_components": ["@method;req"]},
        {"covered_components": ["created"]},
        {"covered_components": ["expires", "@method"]},
        {"covered_components": ["signature"], "headers": {"Signature": "a=:AA==:", "Signature-Input": "a=()"}},
        {"headers": {"Signature": "sig=:AA==:", "Signature-Input": "sig=()"}},
        {"headers": {"Signature": "nonsense", "Signature-Input": "a=()"}},
        {"headers": {"Signature-Input": "a=()"}},
        {"method": "GET\n"},
        {"path": "/é"},
    ],
)
def test_what_cannot_be_signed_validly_is_refused(members: dict[str, Any]) -> None:
    """No signature is made that verify would not take; the reason is given as items of a 422."""
    with pytest.raises(NotSignable) as error_info:
        sign_plain(**members)

    assert error_info.value.detail
    for item in error_info.value.detail:
        assert {"loc", "msg", "type"} == set(item)


@pytest.mark.parametrize(
    "name", ["private_key", "private_key_hex", "private_key_b64", "private_key_pem", "secret_key", "signing_key"]
)
@pytest.mark.parametrize("value", ["s3cret-s3cret", "", None, {"d": "s3cret"}])
def test_private_keys_are_refused_and_not_repeated(name: str, value: Any) -> None:
    """A private key in the request is refused, whatever it holds, and its value appears nowhere."""
    with pytest.raises(ValidationError) as error_info:
        SignRequest.model_validate(PLAIN | {name: value})

    (item,) = error_info.value.errors(include_input=False)
    assert "never accepted" in item["msg"]
    assert "s3cret" not in str(error_info.value)


@pytest.mark.parametrize(
    "change",
    [
        {"method": None},
        {"path": 1},
        {"headers": {"a": 1}},
        {"body_b64": "x"},
        {"body": b"x"},
        {"body": "x", "body_b64": "eQ=="},
        {"covered_components": "@method"},
        {"covered_components": [""]},
        {"covered_components": ["é"]},
        {"covered_components": ['"@method']},
        {"created": "1"},
        {"created": 10**15},
        {"created": -(10**15)},
        {"expires": 10**15},
        {"nonce": "é"},
        {"tag": "a\nb"},
        {"keyid": "\ud800"},
        {"label": "Sig"},
        {"label": ""},
        {"label": "a\n"},
    ],
)
def test_what_is_no_request_is_refused(change: dict[str, Any]) -> None:
    """Wrong types, and texts that no parameter can hold, are faults of the request."""
    with pytest.raises(ValidationError):
        SignRequest.model_validate(PLAIN | change)


def test_another_seed_is_another_key() -> None:
    """The seed alone makes the key."""
    other_result = sign(SignRequest.model_validate(PLAIN), seed=bytes(32), now=1000)

    assert other_result["public_key_hex"] != sign_plain()["public_key_hex"]
    assert sign_plain() == sign_plain()


def test_spare_bits_in_a_signature_s_base64_are_ignored() -> None:
    """Structured fields are read so (RFC 9651, 4.2.7): what is verified are the bytes, and any other bytes fail."""
    result = sign_plain()
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    signature_field = result["headers"]["Signature"]
    assert signature_field.endswith("==:")
    for spare, code in ((1, None), (15, None), (16, "signature_mismatch")):
        letter = alphabet[(alphabet.index(signature_field[-4]) + spare) % 64]
        headers = {**result["headers"], "Signature": f"{signature_field[:-4]}{letter}==:"}
        verify_result = verify(MessageVerifyRequest.model_validate(result | {"headers": headers}), now=1000)
        assert verify_result["error_codes"] == ([] if code is None else [code])
