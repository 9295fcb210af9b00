"""Where a signed request and a demo key are found in an answer of sign, whatever their form."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from conformance.oracles.message_signatures import keys
from conformance.surfaces.agent.answer_reader import public_keys, signed_fields

_INPUT = 'sig=("@method");created=1'
_VALUE = "sig=:AAAA:"
_KEY = bytes.fromhex("26b40b8f93fff3d897112f7ebc582b232dbd72517d082fe83cfb30ddce43d1bb")
_TEXT = f"POST /x?y=1 HTTP/1.1\r\nHost: a.example:8443\r\nSignature-Input: {_INPUT}\r\nSignature: {_VALUE}\r\n\r\na: b"


@pytest.mark.parametrize(
    "document",
    [
        {"headers": {"Signature-Input": _INPUT, "Signature": _VALUE}},
        {"request": {"headers": [["signature", _VALUE], ["signature-input", _INPUT]]}},
        {"request": {"fields": [{"name": "Signature", "value": _VALUE}, {"name": "Signature-Input", "value": _INPUT}]}},
        {"raw": _TEXT},
        {"raw": _TEXT.replace("\r\n", "\n")},
        {"signature_input": _INPUT, "signature": _VALUE, "note": "x=1"},
        {"signed": {"signatureInput": "other", "signature-input": _INPUT, "Signature": _VALUE, "headers": {"A": "b"}}},
    ],
    ids=["an object", "pairs", "objects", "a text", "a text with plain line ends", "members", "members, deeper"],
)
def test_a_signed_request_is_found_in_every_form(document: dict[str, Any]) -> None:
    """Both signature fields are read, with the values that stand there."""
    fields = signed_fields(document)
    assert fields is not None
    fields_by_name = {name.lower(): value for name, value in fields}
    assert (fields_by_name["signature-input"], fields_by_name["signature"]) == (_INPUT, _VALUE)


def test_fields_of_a_request_come_before_members_beside_it() -> None:
    """Where the signature stands twice, the request's own fields are the request."""
    document = {
        "signature": "sig=:BBBB:",
        "signature_input": _INPUT,
        "headers": {"Signature": _VALUE, "Signature-Input": _INPUT},
    }
    assert ("Signature", _VALUE) in (signed_fields(document) or ())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"headers": {"Signature": _VALUE}},
        {"signature": "AAAA==", "signature_input": None},
        {"base": f'"@method": GET\n"@signature-params": {_INPUT}'},
        {"text": f"see\nSignature: {_VALUE}"},
        {"body": f"POST / HTTP/1.1\r\n\r\nSignature: {_VALUE}\r\nSignature-Input: {_INPUT}"},
    ],
)
def test_what_lacks_a_field_is_no_signed_request(document: dict[str, Any]) -> None:
    """One of the two fields is not enough, and neither is what stands in a body."""
    assert signed_fields(document) is None


_PEM = Ed25519PublicKey.from_public_bytes(_KEY).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
_DID = keys.did_key(_KEY)


@pytest.mark.parametrize("text", [_KEY.hex(), _DID, f"{_DID}#{_DID.removeprefix('did:key:')}", _DID[8:], _PEM])
def test_a_demo_key_is_found_in_every_form(text: str) -> None:
    """Hex, did:key, a DID URL, multibase and PEM are the same key, bound or not."""
    assert public_keys({"a": {"b": text}}, None) == [_KEY]
    assert public_keys({"a": {"b": text}}, "a.b") == [_KEY]


def test_base64_is_a_key_only_where_it_is_bound() -> None:
    """43 letters may be anything: what they are is for the operator to say."""
    document = {"key": base64.b64encode(_KEY).decode()}
    assert public_keys(document, None) == []
    assert public_keys(document, "key") == [_KEY]


@pytest.mark.parametrize(
    "text", ["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "z6Mk" + "1" * 44, "é", ""]
)
def test_what_is_no_key_is_none(text: str) -> None:
    """A text that only looks like a key is skipped."""
    assert public_keys({"key": text}, None) == []
