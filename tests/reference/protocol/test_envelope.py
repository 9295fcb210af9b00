"""The envelope of credentials and tokens (P-AD-06)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from reference.protocol.envelope import EnvelopeFault, open_envelope, signed_bytes, with_signature
from tests.reference.falcon_issuer import seal

MEMBERS: dict[str, Any] = {"payload": {"b": 1, "a": "é"}, "alg": "Falcon-1024", "kid": "k", "sig": "AAEC"}


def test_it_opens_and_closes() -> None:
    """The signature is over JCS of the payload, whatever the envelope's own spelling."""
    opened_envelope = open_envelope(seal(MEMBERS))
    assert (opened_envelope.payload, opened_envelope.alg, opened_envelope.kid, opened_envelope.signature) == (
        {"b": 1, "a": "é"},
        "Falcon-1024",
        "k",
        b"\0\1\2",
    )
    assert opened_envelope.signed_bytes == '{"a":"é","b":1}'.encode() == signed_bytes(MEMBERS["payload"])
    assert open_envelope(with_signature(opened_envelope.payload, "k", b"\0\1\2")) == opened_envelope
    assert open_envelope(seal({**MEMBERS, "more": 1})) == opened_envelope


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "*", "e30=", " e30", "é", "\ud800"),
        seal(b""),
        seal(b"{"),
        seal(b'\xef\xbb\xbf{"payload":{}}'),
        seal(b'{"payload":{"a":1,"a":1},"alg":"x","kid":"k","sig":""}'),
        seal(b'{"payload":{"a":NaN},"alg":"x","kid":"k","sig":""}'),
        seal(b"[" * 40 + b"]" * 40),
        base64.b64encode(b'{"payload":{"a":"\xc3\xbf\xc3\xbf"}}').decode(),
    ],
)
def test_what_cannot_be_decoded(text: str) -> None:
    """Not canonical base64url, or not JSON by P-CV-02."""
    with pytest.raises(EnvelopeFault) as error_info:
        open_envelope(text)
    assert error_info.value.reason == "envelope_decode"


NO_PAYLOADS: list[Any] = [None, [], "x", {"a": 2**53}, {"a": 1e400}, {"a": "\ud800"}]
NO_TEXTS: list[Any] = [None, 1, [], "\ud800"]
NO_SIGNATURES: list[Any] = [None, 1, "a", "AA==", "A+", "\ud800"]


@pytest.mark.parametrize(
    "members",
    [
        *([], "x", 1, None, {}),
        *({name: value for name, value in MEMBERS.items() if name != left} for left in MEMBERS),
        *({**MEMBERS, "payload": value} for value in NO_PAYLOADS),
        *({**MEMBERS, name: value} for name in ("alg", "kid") for value in NO_TEXTS),
        *({**MEMBERS, "sig": value} for value in NO_SIGNATURES),
    ],
)
def test_what_has_another_shape(members: Any) -> None:
    """A member that is missing or of another type, a signature that is no base64url, a payload without JCS."""
    text = (
        seal(members)
        if members != {**MEMBERS, "payload": {"a": 1e400}}
        else seal(b'{"payload":{"a":1e400},"alg":"x","kid":"k","sig":""}')
    )
    with pytest.raises(EnvelopeFault) as error_info:
        open_envelope(text)
    assert error_info.value.reason == "envelope_shape"
