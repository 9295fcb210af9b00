"""Every algorithm of RFC 9421, on requests and responses that the other library signed with keys of `cryptography`."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from http_message_signatures import HTTPMessageSigner, HTTPSignatureKeyResolver, algorithms
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.protocol.message_signatures import (
    ALGORITHMS,
    ExpectedKey,
    Fields,
    Message,
    MessageVerdict,
    Policy,
    judge_message,
)

KINDS: dict[str, Any] = {
    "rsa-pss-sha512": algorithms.RSA_PSS_SHA512,
    "rsa-v1_5-sha256": algorithms.RSA_V1_5_SHA256,
    "ecdsa-p256-sha256": algorithms.ECDSA_P256_SHA256,
    "ecdsa-p384-sha384": algorithms.ECDSA_P384_SHA384,
    "hmac-sha256": algorithms.HMAC_SHA256,
    "ed25519": algorithms.ED25519,
}
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


@cache
def private_key(algorithm: str) -> Any:
    if algorithm == "hmac-sha256":
        return b"a secret that two share, of some length"
    if algorithm.startswith("rsa"):
        return rsa.generate_private_key(65537, 2048)
    if algorithm == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(ec.SECP256R1() if "p256" in algorithm else ec.SECP384R1())


@cache
def expected_key(algorithm: str) -> ExpectedKey:
    key = private_key(algorithm)
    if algorithm == "hmac-sha256":
        return ExpectedKey(algorithm, key)
    if algorithm == "ed25519":
        return ExpectedKey(algorithm, key.public_key().public_bytes_raw())
    return ExpectedKey(algorithm, key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


class Keys(HTTPSignatureKeyResolver):
    """The private key of the algorithm that the key id names."""

    def resolve_public_key(self, key_id: str) -> Any:
        """Return nothing: it only signs."""
        raise NotImplementedError(key_id)

    def resolve_private_key(self, key_id: str) -> Any:
        """Return the private key."""
        return private_key(key_id)


@dataclass
class Request:
    """A request as the other library wants it."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Response:
    """A response as the other library wants it, with the request that it answers."""

    status_code: int
    request: Request
    headers: dict[str, str] = field(default_factory=dict)


def sign_message(algorithm: str, message: Any, components: list[str]) -> Any:
    signer = HTTPMessageSigner(signature_algorithm=KINDS[algorithm], key_resolver=Keys())
    signer.sign(message, key_id=algorithm, covered_component_ids=components)
    return message


def judge_by(algorithm: str, message: Message) -> MessageVerdict:
    policy = Policy([algorithm], require_content_digest=False)
    return judge_message(message, policy, expected_key(algorithm), now=4_000_000_000)


def with_other_signature(message: Message, place: int) -> Message:
    fields = {name: list(message.fields.values(name)) for name in message.fields.names()}
    label, _, value = fields["signature"][0].partition("=")
    octets = bytearray(base64.b64decode(value.strip(":")))
    octets[place % len(octets)] ^= 1
    signature_field = f"{label}=:{base64.b64encode(octets).decode()}:"
    return replace(message, fields=Fields({**fields, "signature": signature_field}))


def test_every_algorithm_is_here() -> None:
    """The registry of RFC 9421 section 6.2.2, and nothing else."""
    assert set(KINDS) == set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", KINDS)
@settings(max_examples=15)
@given(st.sampled_from(["GET", "POST"]), VALUES, st.integers(0, 600))
def test_requests(algorithm: str, method: str, value: str, place: int) -> None:
    """Valid as signed; another octet of the signature, method or field is found, and so is another key's algorithm."""
    signed_request = sign_message(
        algorithm, Request(method, "https://example.com/a?b=c", {"X-A": value}), ["@method", "@path", "x-a"]
    )
    message = Message(Fields(signed_request.headers), b"", method, "example.com", "/a", "b=c", "https")

    assert judge_by(algorithm, message).codes == []
    assert judge_by(algorithm, with_other_signature(message, place)).codes == ["signature_mismatch"]
    assert judge_by(algorithm, replace(message, method="PUT")).codes == ["signature_mismatch"]
    other_algorithm = "ecdsa-p384-sha384" if algorithm != "ecdsa-p384-sha384" else "ecdsa-p256-sha256"
    assert judge_by(other_algorithm, message).codes == ["alg_not_allowed", "signature_mismatch"]


@pytest.mark.parametrize("algorithm", KINDS)
@settings(max_examples=10)
@given(st.integers(100, 599), VALUES)
def test_responses_with_their_requests(algorithm: str, status: int, value: str) -> None:
    """A response that covers parts of its request by `req` is bound to it."""
    request = Request("POST", "https://example.com/a?b=c", {"X-A": value})
    components = ["@status", '"@method";req', '"@path";req', '"x-a";req', "x-b"]
    signed_response = sign_message(algorithm, Response(status, request, {"X-B": value}), components)
    related_message = Message(Fields({"X-A": value}), b"", "POST", "example.com", "/a", "b=c", "https")
    message = Message(Fields(signed_response.headers), status=status, related_request=related_message)

    assert judge_by(algorithm, message).codes == []
    assert judge_by(algorithm, replace(message, status=status + 1)).codes == ["signature_mismatch"]
    assert judge_by(algorithm, replace(message, related_request=replace(related_message, method="GET"))).codes == [
        "signature_mismatch"
    ]
    assert set(judge_by(algorithm, replace(message, related_request=None)).codes) == {"unsupported_component"}


def test_trailers() -> None:
    """`tr` covers a trailer field and not a header of its name; without trailers it is unsupported."""
    text = '"x-sum";tr: 7'
    base = f'{text}\n"@signature-params": ("x-sum";tr)'
    signature = base64.b64encode(private_key("ed25519").sign(base.encode())).decode()
    fields = Fields({"X-Sum": "0", "Signature-Input": 's=("x-sum";tr)', "Signature": f"s=:{signature}:"})
    message = Message(fields, status=200, trailers=Fields({"X-Sum": "7"}))

    assert judge_by("ed25519", message).codes == []
    assert judge_by("ed25519", replace(message, trailers=Fields({"X-Sum": "8"}))).codes == ["signature_mismatch"]
    assert judge_by("ed25519", replace(message, trailers=Fields({}))).codes == ["missing_component"]
    assert judge_by("ed25519", replace(message, trailers=None)).codes == ["unsupported_component"]


@pytest.mark.parametrize("algorithm", ["rsa-pss-sha512", "rsa-v1_5-sha256"])
def test_small_rsa_keys_are_rejected(algorithm: str) -> None:
    """1,024 bits protect nothing any more."""
    small = rsa.generate_private_key(65537, 1024).public_key()  # noqa: S505 - that is the point
    key = ExpectedKey(algorithm, small.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    fields = Fields({"Signature-Input": 's=("@method")', "Signature": "s=:AA==:"})
    message = Message(fields, b"", "GET", "a", "/", None, "https")

    assert judge_message(message, Policy([algorithm]), key, now=0).codes == ["key_rejected"]
