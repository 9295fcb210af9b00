"""What verification does by a short way is what the plain way says, on sound receipts and on rubbish."""

from __future__ import annotations

import base64
import gc
import json
import re
import string
from typing import Any
from unittest.mock import patch

import pytest
import rfc8785
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conformance.oracles.receipts import ReceiptFault
from conformance.oracles.receipts import verify_receipt as suite_verify
from reference.protocol import receipt_verification
from reference.protocol.canonical_json import MAX_DEPTH, JsonValue, NotJson, canonicalise, parse, parse_canonical
from reference.protocol.jws import JwsFault, split_compact
from reference.protocol.keys import SigningKey, base64url, from_base64url
from reference.protocol.receipt_verification import judge_receipt, verify_receipt

KEY = SigningKey.from_seed(bytes(range(32)))
OTHER_KEY = SigningKey.from_seed(b"\x07" * 32)
URL_ALPHABET = string.ascii_letters + string.digits + "-_"
HASH = "sha256:" + "1" * 64
BASES: list[dict[str, Any]] = [
    {
        "payer_ref": HASH,
        "screen_result": "ALLOW",
        "screen_timestamp_ms": 5,
        "screen_provider_did": "did:web:localhost",
        "jurisdiction_flags": ["UK", "EU"],
        "canon_version": "jcs-rfc8785-v1",
        "payment_hash": HASH,
    },
    {
        "kind": "another/payable-svc-receipt/1",
        "canon_version": "jcs-rfc8785-v1",
        "service_id": "receipt-verify",
        "request_hash": HASH,
        "response_hash": HASH,
        "settled_payment_ref": HASH,
    },
    {
        "canon_version": "jcs-rfc8785-v1",
        "jurisdiction_flags": ["UK"],
        "settled_payment_ref": HASH,
        "settlement_amount": {"amount_minor": "10000", "asset_id": "31566704"},
        "settlement_chain": "algorand_mainnet",
        "settlement_provider_did": "did:web:localhost",
        "settlement_result": "SETTLED",
        "settlement_timestamp_ms": 5,
    },
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) - 2, 2**53 + 2)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.sampled_from(["\x7f", "é", "\u2028", '"\\/\b\f\n\r\t\x00\x1f', "\U0001f600", "\ufb33"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def sorted_plainly(value: JsonValue) -> bytes:
    """Return JSON without white space, members sorted by code points and numbers as Python writes them."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


# How a text of JSON may be written: canonically, sorted by another rule, with escapes, with white space.
writings = st.sampled_from(
    [
        rfc8785.dumps,
        sorted_plainly,
        lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")).encode(),
        lambda value: json.dumps(value).encode(),
    ]
)


def plainly_decoded(text: str) -> bytes | None:
    """Return the bytes of canonical base64url without padding by its definition: the one text that encodes them."""
    if not re.fullmatch("[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if base64.urlsafe_b64encode(data).decode().rstrip("=") == text else None


def decode_text(text: str) -> bytes | None:
    """Return what our reader takes a text for."""
    try:
        return from_base64url(text)
    except ValueError:
        return None


@st.composite
def nearly_base64url(draw: st.DrawFn) -> str:
    """Draw base64url as long as a payload's, one letter of it replaced by what another reader would stumble over."""
    text = base64url(draw(st.binary(min_size=1, max_size=900)))
    place = draw(st.integers(0, len(text) - 1))
    letter = draw(
        st.sampled_from([*'"\\=+/ \n\t\0.,]}\x7f\x80é\ud800', r"\n", r"\u0041", r"\/", '","', '"\n', ""])
        | st.characters()
    )
    return text[:place] + letter + text[place + draw(st.integers(0, 1)) :]


@given(
    st.text(URL_ALPHABET + '=+/. \né\ud800"\\', max_size=9) | st.binary(max_size=40).map(base64url) | nearly_base64url()
)
@example("")
@example('"')
@example('""')
@example("\\u0041AAA")
@example("AA\\/A")
@example('AAA"')
@example('AAA" ')
@example("YQ==")
@example("YWI=")
@example("YWJj=")
@example("=")
@example("====")
@example("YQ==YQ==")
def test_base64url_is_read_by_its_definition(text: str) -> None:
    """A text has bytes when it is the very text that those bytes are written as, and else none."""
    assert plainly_decoded(text) == decode_text(text)


@pytest.mark.parametrize("start", ["", "Y", "YW", "YWJ"])
def test_the_last_letter_is_judged_by_its_spare_bits(start: str) -> None:
    """Of the 64 last letters those are taken whose spare bits are zero: none, 4, 16 or all."""
    texts = [start + letter for letter in URL_ALPHABET]
    assert [plainly_decoded(text) for text in texts] == [decode_text(text) for text in texts]
    assert {"": 0, "Y": 4, "YW": 16, "YWJ": 64}[start] == sum(decode_text(text) is not None for text in texts)


@given(st.text("aé.=", max_size=12) | st.lists(st.sampled_from(["", "a", "."]), max_size=6).map(".".join))
def test_a_token_is_cut_at_its_two_dots(text: str) -> None:
    """What is cut from both ends is what stands between dots; only three segments that are not empty are any."""
    parts = text.split(".")
    if len(parts) == 3 and all(parts):
        assert (f"{parts[0]}.{parts[1]}", *parts) == split_compact(text)
    else:
        with pytest.raises(JwsFault):
            split_compact(text)


def plainly_canonical(data: bytes) -> tuple[bool, JsonValue]:
    """Return whether a text is its own RFC 8785 form, by reading it and writing it again, and its value."""
    try:
        value = parse(data)
        return rfc8785.dumps(value) == data, value
    except (NotJson, rfc8785.CanonicalizationError, UnicodeEncodeError):
        return False, None


def has_float(value: object) -> bool:
    """Tell whether there is a number with a fraction or an exponent in a value."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, float) or any(has_float(child) for child in children)


def write_value(value: JsonValue, write: Any) -> bytes:
    """Return a value as a text, or an empty one when it cannot be written in that way."""
    try:
        data: bytes = write(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        return b""
    return data


@given(values, writings)
@example(0.5, rfc8785.dumps)
@example([{"a": [1.0]}], sorted_plainly)
@example([1e21], sorted_plainly)
@example([2**53], sorted_plainly)
@example({"é": 1}, rfc8785.dumps)
@example({"\ufb33": 1, "\U0001f600": 2}, rfc8785.dumps)
@example({"\ufb33": 1, "\U0001f600": 2}, sorted_plainly)
def test_a_canonical_text_is_known_by_its_definition(value: JsonValue, write: Any) -> None:
    """What is taken for canonical is so by another library, with the same value; ASCII without floats always is."""
    data = write_value(value, write)
    is_canonical, intended_value = plainly_canonical(data)
    found = parse_canonical(data)
    if found is not None:
        assert is_canonical
        assert (intended_value, type(intended_value)) == (found, type(found))
    elif is_canonical and intended_value is not None:
        assert has_float(intended_value) or not data.isascii()


@given(
    st.integers(MAX_DEPTH - 2, MAX_DEPTH + 2),
    st.sampled_from([(b"[", b"]"), (b'{"a":', b"}")]),
    st.sampled_from([b"1", b"[]"]),
)
def test_a_canonical_text_nests_no_deeper_than_any(depth: int, brackets: tuple[bytes, bytes], inner: bytes) -> None:
    """The short way has the bound of the long one: 32 levels."""
    data = brackets[0] * depth + inner + brackets[1] * depth
    is_canonical, _ = plainly_canonical(data)
    assert is_canonical == (parse_canonical(data) is not None)


HEADER = json.dumps({"alg": "EdDSA", "kid": KEY.public.kid})
odd_headers = st.sampled_from(
    [
        json.dumps({"alg": "Ed25519", "kid": OTHER_KEY.public.kid, "typ": 5}),
        '{"alg":"EdDSA"}',
        '{"alg":"EdDSA","kid":"unknown","b64":true}',
        '{"alg":"none"}',
        '{"kid":"x"}',
        '{"alg":"EdDSA","crit":["exp"]}',
        '{"alg":"EdDSA","b64":false}',
        '{"alg":"EdDSA","alg":"EdDSA"}',
        '{"alg":1}',
        "[]",
        "",
        "é",
    ]
)
KEYS = {"keys": [KEY.public.jwk()]}
odd_keys = st.sampled_from(
    [
        {"keys": [OTHER_KEY.public.jwk(), KEY.public.jwk()]},
        {"keys": [KEY.public.jwk() | {"kid": "unknown"}, OTHER_KEY.public.jwk()]},
        {"keys": [KEY.public.jwk() | {"crv": "X25519"}]},
        {"keys": [KEY.public.jwk() | {"x": "AA"}]},
        {"keys": [KEY.public.jwk() | {"x": base64url(bytes(32))}]},
        {"keys": [{"kty": "EC"}]},
        {"keys": []},
        {"keys": [KEY.public.jwk(), 5]},
        {},
        "text",
    ]
)
words = st.sampled_from(["", "ALLOW", "allow", "SETTLED", "é", HASH, HASH.upper(), HASH + "\n"])
odd_values = words | st.sampled_from([None, 5, 5.5, 2**53 - 1, True, [], ["UK"], {"b": 1, "a": [1.5]}])


def mostly(usual: Any, odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return what is usual four times of five, so that one fault does not always hide the next."""
    return st.integers(0, 4).flatmap(lambda number: odd if number == 4 else st.just(usual))


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    """Draw a payload: one of three kinds, members left out, changed or added; as a text of another form, or cut."""
    payload = dict(draw(st.sampled_from(BASES)))
    names = st.sampled_from(sorted({*payload, "extra", "é", "settlement_chain", "kind"}))
    for name in draw(st.lists(names, max_size=2)):
        if draw(st.booleans()):
            payload.pop(name, None)
        else:
            payload[name] = draw(odd_values)
    data: bytes = draw(mostly(canonicalise, writings))(payload)
    faulty = [
        b'{"canon_version":"jcs-rfc8785-v1",' + data[1:],
        b"\xef\xbb\xbf" + data,
        data + b" ",
        data[:-9],
        b"5",
        b"",
    ]
    return draw(mostly(data, st.sampled_from(faulty)))  # type: ignore[no-any-return]


@st.composite
def tokens(draw: st.DrawFn) -> str:
    """Draw a token: truly signed, or with a foreign, shortened or shifted signature, or altered as a text."""
    signing_input = f"{base64url(draw(mostly(HEADER, odd_headers)).encode())}.{base64url(draw(payloads()))}"
    signature = KEY.sign(signing_input.encode())
    faulty = [signature[:-1], signature[32:] * 2, signature[:32] + b"\xff" * 32, OTHER_KEY.sign(signing_input.encode())]
    token = f"{signing_input}.{base64url(draw(mostly(signature, st.sampled_from(faulty))))}"
    place = draw(st.integers(0, len(token)))
    altered_tokens = [token[:place] + letter + token[place + 1 :] for letter in ("", "=", "+", ".", " ", "A", "é")]
    return draw(mostly(token, st.sampled_from(altered_tokens)))  # type: ignore[no-any-return]


def suite_code(token: str, jwks: Any, expected: str | None) -> str | None:
    """Return the code of the suite's own verifier; None when the receipt verifies."""
    try:
        suite_verify(token, jwks, expected_payment_hash=expected)
    except ReceiptFault as fault:
        return fault.code
    return None


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=250)
@given(tokens(), mostly(KEYS, odd_keys), mostly(None, st.sampled_from([HASH, HASH.upper(), ""])))
def test_the_suite_verifies_alike(token: str, jwks: Any, expected: str | None) -> None:
    """The suite's own verifier, on other libraries and without short ways, refuses the same receipts by one code."""
    arguments: dict[str, Any] = {"jws": token, "jwks": jwks, "expected_payment_hash": expected, "platform_keys": ()}
    code = suite_code(token, jwks, expected)
    report: dict[str, Any] = verify_receipt(**arguments)
    assert code == report["error_code"]
    case = judge_receipt(**arguments)
    assert (code, code is None) == (case.code, case.is_verified)
    assert report["verified"] == case.is_verified
    assert case.passed_steps == [check["result"] for check in report["checks"]].count("pass")
    with patch.object(receipt_verification, "count_sure_steps", return_value=0) as skipped:
        assert report == verify_receipt(**arguments)
    assert skipped.call_count == 1


@pytest.mark.parametrize("token", ["", "a.b.c", "é.e30.AA", "e30.e30.AA"])
def test_a_refusal_leaves_nothing_for_the_collector(token: str) -> None:
    """Who is flooded with bad receipts holds none of them until a collection: no cycle goes through the fault."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            judge_receipt(jws=token, jwks=KEYS, expected_payment_hash=None, platform_keys=())
        assert gc.collect() == 0
    finally:
        gc.enable()
