"""Compact JWS: ours read by others, and nothing but compact JWS read by us."""

from __future__ import annotations

import json

import jwt
import pytest
from joserfc import jws as jose
from joserfc.errors import BadSignatureError
from joserfc.jwk import OKPKey

from reference.protocol.canonical_json import NotCanonical
from reference.protocol.jws import JwsFault, decode_segment, read_header, sign_compact, split_compact
from reference.protocol.keys import SigningKey, base64url

KEY = SigningKey.from_seed(bytes(range(32)))
PAYLOAD = {"b": 2, "a": "é", "f": 1.0}


def header(text: str) -> str:
    """Return the segment of a header text."""
    return base64url(text.encode())


def swap_character(token: str) -> str:
    """Return the token with one character of its payload changed."""
    head, payload, signature = token.split(".")
    return f"{head}.{'f' if payload[0] != 'f' else 'g'}{payload[1:]}.{signature}"


def test_header_and_payload_are_canonical() -> None:
    """The header is JCS of alg, kid and typ, the payload JCS of the object (2.2)."""
    head, payload, signature = sign_compact(PAYLOAD, KEY).split(".")
    assert decode_segment(head) == b'{"alg":"EdDSA","kid":"56475aa75463474c0285df5dbf2bcab7","typ":"JWT"}'
    assert decode_segment(payload) == '{"a":"é","b":2,"f":1}'.encode()
    assert KEY.public.verify(f"{head}.{payload}".encode(), decode_segment(signature))


def test_pyjwt_verifies_ours() -> None:
    """PyJWT takes our token with our JWK, and refuses it after one changed character."""
    key = jwt.PyJWK.from_dict(KEY.public.jwk(), algorithm="EdDSA")
    token = sign_compact({"a": 1}, KEY)
    assert jwt.decode(token, key, algorithms=["EdDSA"]) == {"a": 1}
    with pytest.raises(jwt.InvalidTokenError):
        jwt.decode(swap_character(token), key, algorithms=["EdDSA"])


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")
def test_joserfc_verifies_ours() -> None:
    """Joserfc takes our token with our JWK, and refuses it under another key."""
    token = sign_compact({"a": 1}, KEY)
    key = OKPKey.import_key({**KEY.public.jwk()})
    assert json.loads(jose.deserialize_compact(token, key, algorithms=["EdDSA"]).payload) == {"a": 1}
    other_key = OKPKey.import_key({**SigningKey.from_seed(b"\x07" * 32).public.jwk()})
    with pytest.raises(BadSignatureError):
        jose.deserialize_compact(token, other_key, algorithms=["EdDSA"])


def test_a_payload_without_canonical_form_is_not_signed() -> None:
    """An unsafe integer is refused before anything is signed."""
    with pytest.raises(NotCanonical):
        sign_compact({"n": 2**53}, KEY)


@pytest.mark.parametrize("text", ["", ".", "..", "a.b", "a..c", ".b.c", "a.b.", "a.b.c.d", "a.b.c.", "abc"])
def test_three_non_empty_segments_are_demanded(text: str) -> None:
    """Anything but three non-empty segments is no compact JWS."""
    with pytest.raises(JwsFault, match="three"):
        split_compact(text)


def test_the_length_is_bounded() -> None:
    """16,384 characters are read, one more is not."""
    split_compact("a.b." + "c" * 16380)
    with pytest.raises(JwsFault, match="16384"):
        split_compact("a.b." + "c" * 16381)


@pytest.mark.parametrize("segment", ["YQ==", "YQ=", "YR", "Y", "Y+_-", "Y/_-", "Y Q", "YQ\n", "YQé", "\ud800AA"])
def test_only_canonical_base64url_is_read(segment: str) -> None:
    """Padding, another alphabet, white space and non-zero spare bits are refused."""
    with pytest.raises(JwsFault, match="base64url"):
        decode_segment(segment)


def test_what_a_header_says() -> None:
    """Alg and kid are read, typ and key references are ignored; for an absent member None is returned."""
    full = read_header(header('{"alg":"EdDSA","kid":"k","typ":5,"jwk":[],"jku":"http://x","x5c":1,"b64":true}'))
    assert (full.alg, full.kid, full.extension) == ("EdDSA", "k", None)
    empty = read_header(header("{}"))
    assert (empty.alg, empty.kid, empty.extension) == (None, None, None)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '"a"', "null", "{", '{"alg":"EdDSA","alg":"EdDSA"}', '{"x":{"a":1,"a":1}}', '{"alg":5}', '{"alg":null}',
     '{"kid":1}', '{"kid":["k"]}', '\ufeff{"alg":"EdDSA"}', '{"alg":NaN}', '{"a":' * 33 + "1" + "}" * 33],
)  # fmt: skip
def test_a_header_that_is_no_proper_object_is_refused(text: str) -> None:
    """A header is a JSON object with distinct members and texts for alg and kid."""
    with pytest.raises(JwsFault):
        read_header(header(text))


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ('{"crit":[]}', "crit"),
        ('{"crit":null}', "crit"),
        ('{"crit":["b64"],"b64":false}', "crit"),
        ('{"b64":false}', "b64"),
        ('{"b64":1}', "b64"),
        ('{"b64":"true"}', "b64"),
        ('{"b64":null}', "b64"),
    ],
)
def test_an_extension_is_told(text: str, member: str) -> None:
    """crit, and b64 other than true, change how a token is read and are distinguished."""
    assert member == read_header(header(text)).extension
