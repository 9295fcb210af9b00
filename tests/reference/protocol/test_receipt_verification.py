"""The nine steps of receipt verification, each with one fault, and what the report says."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import jcs
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reference.protocol.canonical_json import canonicalise
from reference.protocol.jws import sign_compact
from reference.protocol.keys import GROUP_ORDER, SigningKey, base64url, from_base64url
from reference.protocol.receipt_verification import (
    STEPS,
    ClosedReceiptVerifyRequest,
    ReceiptVerifyRequest,
    verify_receipt,
)

SEED = bytes(range(32))
KEY = SigningKey.from_seed(SEED)
OTHER_KEY = SigningKey.from_seed(b"\x07" * 32)
CODES = [
    "MISSING_ENVELOPE",
    "INVALID_JWS_FORMAT",
    "UNSUPPORTED_ALG",
    "TAMPERED_SIGNATURE",
    "INVALID_PAYLOAD",
    "UNSUPPORTED_CANON_VERSION",
    "NON_CANONICAL_PAYLOAD",
    "MISSING_FIELD",
    "PAYMENT_HASH_MISMATCH",
]
REPORT_MEMBERS = {
    "verified", "error_code", "error_message", "error_field", "receipt_kind", "screen_result", "settlement_status",
    "canon_version", "alg", "kid", "screen_provider_did", "payer_ref", "payment_hash", "service_id", "request_hash",
    "response_hash", "settled_payment_ref", "content_hash", "key_source", "checks",
}  # fmt: skip
HASHES = [f"sha256:{digit * 64}" for digit in "123"]

COMPLIANCE: dict[str, Any] = {
    "payer_ref": HASHES[0],
    "screen_result": "ALLOW",
    "screen_timestamp_ms": 5,
    "screen_provider_did": "did:web:localhost",
    "jurisdiction_flags": ["UK", "EU"],
    "canon_version": "jcs-rfc8785-v1",
    "payment_hash": HASHES[2],
}
PAYABLE: dict[str, Any] = {
    "kind": "another/payable-svc-receipt/1",
    "canon_version": "jcs-rfc8785-v1",
    "service_id": "receipt-verify",
    "request_hash": HASHES[0],
    "response_hash": HASHES[1],
    "settled_payment_ref": HASHES[2],
}
ATTESTATION: dict[str, Any] = {
    "canon_version": "jcs-rfc8785-v1",
    "jurisdiction_flags": ["UK"],
    "settled_payment_ref": HASHES[2],
    "settlement_amount": {"amount_minor": "10000", "asset_id": "31566704"},
    "settlement_chain": "algorand_mainnet",
    "settlement_provider_did": "did:web:localhost",
    "settlement_result": "SETTLED",
    "settlement_timestamp_ms": 5,
}
GOOD_HEADER = json.dumps({"alg": "EdDSA", "kid": KEY.public.kid})
GOOD_PAYLOAD = canonicalise(COMPLIANCE)


def token(header: str | bytes = GOOD_HEADER, payload: bytes = GOOD_PAYLOAD, key: bytes = SEED) -> str:
    """Return a JWS over any header and payload, truly signed, by another library than the verifier uses."""
    head = header.encode("utf-8") if isinstance(header, str) else header
    signing_input = f"{base64url(head)}.{base64url(payload)}"
    signature = Ed25519PrivateKey.from_private_bytes(key).sign(signing_input.encode())
    return f"{signing_input}.{base64url(signature)}"


def report(jws: str | None, *, jwks: object = None, expected: str | None = None) -> dict[str, Any]:
    """Verify against the platform's own key unless a key set is given."""
    return verify_receipt(jws=jws, jwks=jwks, expected_payment_hash=expected, platform_keys=[KEY.public.jwk()])


def without(payload: dict[str, Any], member: str) -> dict[str, Any]:
    """Return the payload without one member."""
    return {name: value for name, value in payload.items() if name != member}


def assert_fails(answer: dict[str, Any], step: int, *, code: str | None = None, member: str | None = None) -> None:
    """Assert that a report fails at one step (counted from 1) and has the shape of a failing report."""
    assert set(answer) == REPORT_MEMBERS
    if CODES[step - 1] == "UNSUPPORTED_CANON_VERSION":
        member = "canon_version"
    elif CODES[step - 1] == "PAYMENT_HASH_MISMATCH":
        member = "payment_hash" if answer["receipt_kind"] == "compliance" else "settled_payment_ref"
    assert (False, code or CODES[step - 1], member) == (answer["verified"], answer["error_code"], answer["error_field"])
    assert isinstance(answer["error_message"], str)
    results = ["pass"] * (step - 1) + ["fail"] + ["skipped"] * (9 - step)
    assert answer["checks"] == [{"code": CODES[n], "result": results[n]} for n in range(9)]


def test_the_steps_are_nine_codes_in_order() -> None:
    """The table is the algorithm: nine steps, nine codes, in the order of the profile (P-RV-05)."""
    assert [step.code for step in STEPS] == CODES
    assert all(step.fails_when for step in STEPS)


@pytest.mark.parametrize(
    ("payload", "kind", "told"),
    [
        (COMPLIANCE, "compliance", {"screen_result": "ALLOW", "payer_ref": HASHES[0], "payment_hash": HASHES[2]}),
        (PAYABLE, "payable", {"service_id": "receipt-verify", "request_hash": HASHES[0], "response_hash": HASHES[1]}),
        (ATTESTATION, "settlement_attestation", {"settlement_status": "SETTLED", "settled_payment_ref": HASHES[2]}),
    ],
)
def test_a_sound_receipt_of_each_kind_passes(payload: dict[str, Any], kind: str, told: dict[str, str]) -> None:
    """All nine steps pass, no error is reported, and the members of the payload are repeated."""
    answer = report(sign_compact(payload, KEY), expected=HASHES[2])
    assert set(answer) == REPORT_MEMBERS
    assert tuple(answer[f] for f in ("verified", "error_code", "error_message", "error_field")) == (
        True,
        None,
        None,
        None,
    )
    assert answer["checks"] == [{"code": code, "result": "pass"} for code in CODES]
    header = {"alg": "EdDSA", "kid": KEY.public.kid, "canon_version": "jcs-rfc8785-v1", "key_source": "platform"}
    expected = {"receipt_kind": kind} | told | header
    assert expected == {name: answer[name] for name in expected}


def test_the_content_hash_is_over_the_payload() -> None:
    """content_hash is the bare SHA-256 of the payload as another library writes it canonically."""
    expected = hashlib.sha256(jcs.canonicalize(COMPLIANCE)).hexdigest()
    assert expected == report(token())["content_hash"]


@pytest.mark.parametrize("jws", [None, ""])
def test_step_1_a_missing_receipt(jws: str | None) -> None:
    """No receipt is MISSING_ENVELOPE, before the key set is looked at."""
    assert_fails(report(jws, jwks="not a key set"), 1)


@pytest.mark.parametrize(
    "jws",
    [
        "a",
        "a.b",
        "e30..AA",
        "e30.e30.AA.AA",
        token() + "=",
        token()[:-1] + "/",
        token().replace(".", "=.", 1),
        " " + token(),
        token() + "\n",
        "\ud800.e30.AA",
        "e30.e30.A",
        "e30.e30.AB",
        token(payload=b'{"a":"' + b"x" * 13000 + b'"}'),
        token("[]"),
        token("null"),
        token("not json"),
        token(b"\xff"),
        token(b"\xef\xbb\xbf" + GOOD_HEADER.encode()),
        token('{"alg":"EdDSA","alg":"EdDSA"}'),
        token('{"alg":["EdDSA"]}'),
        token('{"alg":null}'),
        token('{"alg":"EdDSA","kid":5}'),
        token('{"alg":"EdDSA","kid":null}'),
        token('{"alg":"EdDSA","crit":[]}'),
        token('{"alg":"EdDSA","crit":["exp"],"exp":1}'),
        token('{"alg":"EdDSA","b64":false}'),
        token('{"alg":"EdDSA","b64":1}'),
    ],
)
def test_step_2_what_is_no_compact_jws(jws: str) -> None:
    """Wrong segments, base64url, header or extension is INVALID_JWS_FORMAT, though the signature be true."""
    assert_fails(report(jws), 2)


def test_step_2_reads_up_to_its_bound() -> None:
    """A receipt of 16,384 characters is read to the end; one more is no format of ours."""
    bounds = {}
    for length in range(12000, 12200):
        jws = token(payload=canonicalise(COMPLIANCE | {"extra": "x" * (length - 290)}))
        bounds[len(jws)] = report(jws)["error_code"]
    assert {code for size, code in bounds.items() if size <= 16384} == {None}
    assert {code for size, code in bounds.items() if size > 16384} == {"INVALID_JWS_FORMAT"}


@pytest.mark.parametrize(
    "jwks",
    [
        [],
        "text",
        5,
        False,
        {},
        {"keys": None},
        {"keys": []},
        {"keys": {}},
        {"keys": [KEY.public.jwk(), 5]},
        {"keys": [None]},
        {"keys": [KEY.public.jwk() | {"x": KEY.public.x + "="}]},
        {"keys": [KEY.public.jwk() | {"x": KEY.public.x[:-2]}]},
        {"keys": [KEY.public.jwk() | {"x": KEY.public.x[:-1] + "h"}]},
        {"keys": [without(KEY.public.jwk(), "x")]},
        {"keys": [{**KEY.public.jwk(), "x": 5}]},
    ],
)
def test_step_2_a_key_set_of_wrong_shape(jwks: object) -> None:
    """A supplied set is an object with a non-empty array of objects, the selected one with a 32-byte x."""
    answer = report(token(), jwks=jwks)
    assert_fails(answer, 2)
    assert answer["key_source"] == "supplied"


def test_only_the_selected_key_is_read() -> None:
    """A malformed key elsewhere in the set does no harm."""
    assert report(token(), jwks={"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "!"}, KEY.public.jwk()]})["verified"]


@pytest.mark.parametrize("alg", ["none", "HS256", "RS256", "ES256", "ES256K", "eddsa", "Ed448", "", "EdDSA "])
def test_step_3_another_algorithm(alg: str) -> None:
    """Only EdDSA and Ed25519 are algorithms, whatever the signature."""
    answer = report(token(json.dumps({"alg": alg})))
    assert_fails(answer, 3)
    assert alg == answer["alg"]


def test_step_3_no_algorithm() -> None:
    """A header without alg is UNSUPPORTED_ALG; the published example request shows it."""
    assert_fails(report(token("{}")), 3)
    assert_fails(report("e30.e30.AA"), 3)


@pytest.mark.parametrize(
    "key",
    [
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "X25519", "x": KEY.public.x},
        {"kty": "oct", "k": "AA"},
        {"x": KEY.public.x},
        {},
    ],
)
def test_step_3_a_key_of_another_type(key: dict[str, str]) -> None:
    """The selected key must say OKP and Ed25519."""
    assert_fails(report(token(), jwks={"keys": [key | {"kid": KEY.public.kid}]}), 3)


def test_both_names_of_the_algorithm_pass() -> None:
    """Ed25519 is RFC 9864's name of what EdDSA means here."""
    assert report(token('{"alg":"Ed25519"}'))["verified"]
    assert report(token('{"alg":"EdDSA"}'))["verified"]


@pytest.mark.parametrize("length", [1, 32, 63, 65])
def test_step_4_a_signature_of_another_length(length: int) -> None:
    """A signature is 64 bytes."""
    head, payload, signature = token().split(".")
    cut = base64url((from_base64url(signature) * 2)[:length])
    assert_fails(report(f"{head}.{payload}.{cut}"), 4)


def test_step_4_s_above_the_group_order() -> None:
    """S + L fits the equation and is refused all the same."""
    head, payload, signature = token().split(".")
    raw = from_base64url(signature)
    s = int.from_bytes(raw[32:], "little") + GROUP_ORDER
    assert_fails(report(f"{head}.{payload}.{base64url(raw[:32] + s.to_bytes(32, 'little'))}"), 4)


@pytest.mark.parametrize(
    "raw", [(1).to_bytes(32, "little"), bytes(32), (2**255 - 18).to_bytes(32, "little"), (2).to_bytes(32, "little")]
)
def test_step_4_a_key_that_is_none(raw: bytes) -> None:
    """Under a small-order, non-canonical or off-curve key nothing verifies, a forgery that fits any message least."""
    head, payload, _ = token().split(".")
    forged_token = f"{head}.{payload}.{base64url((1).to_bytes(32, 'little') + bytes(32))}"
    assert_fails(report(forged_token, jwks={"keys": [KEY.public.jwk() | {"x": base64url(raw)}]}), 4)


def test_step_4_another_signer() -> None:
    """A signature of another key is TAMPERED_SIGNATURE, and nothing of the payload is returned."""
    answer = report(token(key=b"\x07" * 32))
    assert_fails(answer, 4)
    untold = REPORT_MEMBERS - {"verified", "error_code", "error_message", "alg", "kid", "key_source", "checks"}
    assert {answer[name] for name in untold} == {None}
    assert ("EdDSA", KEY.public.kid) == (answer["alg"], answer["kid"])


@given(st.data())
def test_one_changed_character_never_verifies(data: st.DataObject) -> None:
    """Whatever single character of a receipt is changed, it is not verified."""
    jws = token()
    place = data.draw(st.integers(0, len(jws) - 1))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.="
    letter = data.draw(st.sampled_from(letters).filter(lambda character: character != jws[place]))
    assert report(jws)["verified"]
    assert not report(jws[:place] + letter + jws[place + 1 :])["verified"]


@given(st.integers(0, len(GOOD_PAYLOAD) - 1), st.integers(1, 255))
def test_one_changed_byte_of_the_payload_never_verifies(place: int, change: int) -> None:
    """A payload that differs in one byte fails under the old signature."""
    payload = bytearray(GOOD_PAYLOAD)
    payload[place] ^= change
    head, _, signature = token().split(".")
    assert report(f"{head}.{base64url(bytes(payload))}.{signature}")["error_code"] == "TAMPERED_SIGNATURE"


@given(st.text(max_size=60) | st.binary(max_size=60).map(base64url).map(lambda part: f"{part}.{part}.{part}"))
def test_rubbish_gets_a_report(text: str) -> None:
    """Any text at all gets a report that can be written as JSON, never an exception."""
    answer = report(text)
    assert not answer["verified"]
    canonicalise(answer)


@pytest.mark.parametrize(
    "payload",
    [b"[]", b'"text"', b"null", b"5", b"not json", b"{", b"\xff", b"\xef\xbb\xbf{}", b'{"a":NaN}', b'{"a":1,"a":1',
     b'[{"a":1,"a":1}]', b'{"a":' * 33 + b"1" + b"}" * 33],
)  # fmt: skip
def test_step_5_a_payload_that_is_no_object(payload: bytes) -> None:
    """A payload that is not JSON, or JSON but no object, is INVALID_PAYLOAD."""
    assert_fails(report(token(payload=payload)), 5)


@pytest.mark.parametrize("version", [None, 1, "", "jcs-rfc8785-v2", "JCS-RFC8785-V1", ["jcs-rfc8785-v1"]])
def test_step_6_another_canon_version(version: object) -> None:
    """canon_version must be jcs-rfc8785-v1; an absent version is a fault, too."""
    assert_fails(report(sign_compact(COMPLIANCE | {"canon_version": version}, KEY)), 6)
    assert_fails(report(sign_compact(without(COMPLIANCE, "canon_version"), KEY)), 6)


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps(COMPLIANCE).encode(),
        GOOD_PAYLOAD + b"\n",
        GOOD_PAYLOAD.replace(b":5}", b":5.0}"),
        GOOD_PAYLOAD.replace(b"ALLOW", b"\\u0041LLOW"),
        GOOD_PAYLOAD.replace(b":5}", b":9007199254740992}"),
        GOOD_PAYLOAD.replace(b":5}", b":1e999}"),
        GOOD_PAYLOAD.replace(b'"UK"', b'"\\ud800"'),
        GOOD_PAYLOAD.replace(b'"UK"', b'{"b":1,"a":2}'),
    ],
)
def test_step_7_other_bytes_than_the_canonical_ones(payload: bytes) -> None:
    """White space, escapes, number forms, order and values without a canonical form are NON_CANONICAL_PAYLOAD."""
    answer = report(token(payload=payload))
    assert_fails(answer, 7)
    assert (answer["receipt_kind"], answer["payer_ref"]) == ("compliance", HASHES[0])


@pytest.mark.parametrize("inner", [b'"payer_ref":"x",', b'"a":{"b":1,"b":1},'])
def test_step_7_a_member_named_twice(inner: bytes) -> None:
    """Duplicates at any depth are NON_CANONICAL_PAYLOAD, and no value of such a payload is returned."""
    answer = report(token(payload=b"{" + inner + GOOD_PAYLOAD[1:]))
    assert_fails(answer, 7)
    assert "twice" in answer["error_message"]
    assert (answer["payer_ref"], answer["receipt_kind"], answer["content_hash"]) == (None, None, None)


def test_step_6_comes_before_step_7() -> None:
    """Of a payload with both faults the version is reported first."""
    assert_fails(report(token(payload=b'{"a":1,"a":2}')), 6)


@pytest.mark.parametrize(
    ("payload", "member"),
    [(COMPLIANCE, name) for name in COMPLIANCE if name not in ("canon_version", "payment_hash")]
    + [(PAYABLE, name) for name in PAYABLE if name not in ("canon_version", "kind")]
    + [(ATTESTATION, name) for name in ATTESTATION if name != "canon_version"],
)
def test_step_8_a_member_is_missing(payload: dict[str, Any], member: str) -> None:
    """Each required member of each kind is missed by name, absent or null."""
    assert_fails(report(sign_compact(without(payload, member), KEY)), 8, member=member)
    assert_fails(report(sign_compact(payload | {member: None}, KEY)), 8, member=member)


def test_step_8_names_the_first_member_of_the_table() -> None:
    """Members are tested in the order of the tables, and all of them before any value (8b)."""
    assert_fails(report(sign_compact({"canon_version": "jcs-rfc8785-v1"}, KEY)), 8, member="payer_ref")
    bare = {"kind": PAYABLE["kind"], "canon_version": "jcs-rfc8785-v1", "request_hash": "bad"}
    assert_fails(report(sign_compact(bare, KEY)), 8, member="service_id")
    chain = {"canon_version": "jcs-rfc8785-v1", "settlement_chain": "x"}
    assert_fails(report(sign_compact(chain, KEY)), 8, member="jurisdiction_flags")


@pytest.mark.parametrize(
    ("payload", "member", "value"),
    [
        (COMPLIANCE, "screen_result", "allow"),
        (COMPLIANCE, "screen_result", ["ALLOW"]),
        (COMPLIANCE, "screen_result", 1),
        (ATTESTATION, "settlement_result", "FAILED"),
        (PAYABLE, "request_hash", "1" * 64),
        (PAYABLE, "response_hash", "sha256:" + "A" * 64),
        (PAYABLE, "settled_payment_ref", "sha256:" + "1" * 63),
        (PAYABLE, "request_hash", "sha256:" + "1" * 64 + "\n"),
        (PAYABLE, "request_hash", 5),
    ],
)
def test_step_8b_a_value_outside_its_set(payload: dict[str, Any], member: str, value: object) -> None:
    """A result outside its set or a malformed hash reference is INVALID_PAYLOAD and named, on the line of step 8."""
    assert_fails(report(sign_compact(payload | {member: value}, KEY)), 8, code="INVALID_PAYLOAD", member=member)


def test_types_of_other_members_are_not_checked() -> None:
    """A float time, flags as text and any further member pass (P-RV-02, P-RV-03)."""
    odd = {"screen_timestamp_ms": 5.5, "jurisdiction_flags": "UK", "payer_ref": 7, "more": {"x": [1]}}
    answer = report(sign_compact(COMPLIANCE | odd, KEY))
    assert (answer["verified"], answer["payer_ref"]) == (True, None)
    assert report(sign_compact(PAYABLE | {"iss": 5}, KEY))["verified"]


@pytest.mark.parametrize(
    "kind", ["Weldproof/payable-svc-receipt/1", "x/payable-svc-receipt/2", "/payable-svc-receipt/1", 5]
)
def test_another_kind_is_not_a_payable_receipt(kind: object) -> None:
    """Only a lower-case word before the fixed text makes a payable receipt; else the members decide (P-RV-02)."""
    assert_fails(report(sign_compact(PAYABLE | {"kind": kind}, KEY)), 8, member="payer_ref")
    assert report(sign_compact(ATTESTATION | {"kind": kind}, KEY))["receipt_kind"] == "settlement_attestation"


@pytest.mark.parametrize("payload", [COMPLIANCE, PAYABLE, ATTESTATION])
@pytest.mark.parametrize("expected", ["", HASHES[2].upper(), HASHES[2][7:], "sha256:" + "9" * 64])
def test_step_9_another_payment(payload: dict[str, Any], expected: str) -> None:
    """The expected hash is compared as text with the member of the kind."""
    assert_fails(report(sign_compact(payload, KEY), expected=expected), 9)


def test_step_9_a_receipt_without_payment() -> None:
    """A compliance receipt without payment_hash is of no payment; settled_payment_ref does not stand in for it."""
    receipt = without(COMPLIANCE, "payment_hash") | {"settled_payment_ref": HASHES[2]}
    assert_fails(report(sign_compact(receipt, KEY), expected=HASHES[2]), 9)
    assert report(sign_compact(receipt, KEY))["verified"]


def test_a_supplied_set_is_the_only_one() -> None:
    """With jwks the platform's keys are not tried, without it only they are."""
    ours, theirs = token(), sign_compact(COMPLIANCE, OTHER_KEY)
    assert_fails(report(ours, jwks={"keys": [OTHER_KEY.public.jwk()]}), 4)
    assert_fails(report(theirs), 4)
    answer = report(theirs, jwks={"keys": [OTHER_KEY.public.jwk()]})
    assert (answer["verified"], answer["key_source"]) == (True, "supplied")


def test_the_kid_selects_the_key() -> None:
    """The key of the header's kid is taken wherever it stands; without a match the first one is (P-RV-01)."""
    first_other = {"keys": [OTHER_KEY.public.jwk(), KEY.public.jwk()]}
    assert report(token(), jwks=first_other)["verified"]
    for header in ('{"alg":"EdDSA","kid":"unknown"}', '{"alg":"EdDSA"}'):
        assert_fails(report(token(header), jwks=first_other), 4)
        assert report(token(header), jwks={"keys": [KEY.public.jwk(), OTHER_KEY.public.jwk()]})["verified"]
        assert report(token(header), jwks={"keys": [without(KEY.public.jwk(), "kid")]})["verified"]


def test_a_matching_kid_never_falls_back() -> None:
    """The first key of that kid decides, though a later one of the same kid, or the first of all, would verify."""
    impostor = OTHER_KEY.public.jwk() | {"kid": KEY.public.kid}
    assert_fails(report(token(), jwks={"keys": [impostor, KEY.public.jwk()]}), 4)
    assert_fails(report(token(), jwks={"keys": [KEY.public.jwk() | {"kid": "k"}, impostor]}), 4)


@pytest.mark.parametrize(
    "other", [{"kty": "EC", "crv": "P-256"}, {"kty": "OKP", "crv": "X25519", "x": "AA"}, {"kty": "oct", "k": "AA"}]
)
def test_of_keys_of_one_kid_the_ed25519_key_is_taken(other: dict[str, str]) -> None:
    """Keys of different types may share a kid (RFC 7517, 4.5); where none of them fits, the first is judged."""
    key_of_same_kid = {**other, "kid": KEY.public.kid}
    for keys in (
        [key_of_same_kid, KEY.public.jwk()],
        [KEY.public.jwk(), key_of_same_kid],
        [OTHER_KEY.public.jwk(), key_of_same_kid, KEY.public.jwk()],
    ):
        assert report(token(), jwks={"keys": keys})["verified"]
    assert_fails(report(token(), jwks={"keys": [key_of_same_kid, KEY.public.jwk() | {"kid": "k"}]}), 3)


def test_keys_in_the_header_are_ignored() -> None:
    """jwk, jku, x5c and x5u change nothing, whether the signature is true or not (P-RV-03)."""
    extra = {"jwk": OTHER_KEY.public.jwk(), "jku": "http://127.0.0.1:9/", "x5c": ["AA"], "x5u": 5, "typ": ["odd"]}
    header = json.dumps({"alg": "EdDSA", "kid": KEY.public.kid} | extra)
    assert report(token(header))["verified"]
    assert_fails(report(token(header, key=b"\x07" * 32)), 4)


def test_the_first_fault_decides() -> None:
    """Of a receipt with every fault at once the first is reported, and each mended fault uncovers the next."""
    bad_payload = b'{"canon_version":"x"}'
    bad_keys = {"keys": [{"kty": "EC"}]}
    assert_fails(report("x", jwks=bad_keys, expected="x"), 2)
    assert_fails(report(token('{"alg":"none"}', bad_payload), jwks=bad_keys, expected="x"), 3)
    assert_fails(report(token(payload=bad_payload, key=b"\x07" * 32), expected="x"), 4)
    assert_fails(report(token(payload=bad_payload), expected="x"), 6)
    assert_fails(report(sign_compact({"canon_version": "jcs-rfc8785-v1"}, KEY), expected="x"), 8, member="payer_ref")


def test_header_members_are_told_as_soon_as_the_header_parses() -> None:
    """Alg and kid stand in the report of any later fault, a format fault too."""
    answer = report(token('{"alg":"EdDSA","kid":"k","crit":["x"]}'))
    assert (answer["alg"], answer["kid"]) == ("EdDSA", "k")
    assert report(token("[]"))["kid"] is None


def test_messages_repeat_nothing_of_what_was_sent() -> None:
    """No error message holds text of the receipt or of the key set (P-CV-12)."""
    secret = "s3cret-t0ken"
    header = json.dumps({"alg": secret, "kid": secret})
    reports = [
        report(f"{secret}.{secret}"),
        report(f"{secret}!.e30.AA"),
        report(token(header)),
        report(token(json.dumps({"alg": "EdDSA", "b64": secret}))),
        report(token(), jwks=secret),
        report(token(), jwks={"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": KEY.public.kid, "x": secret}]}),
        report(token(payload=secret.encode())),
        report(sign_compact(COMPLIANCE | {"canon_version": secret}, KEY)),
        report(sign_compact(COMPLIANCE | {"screen_result": secret}, KEY)),
        report(sign_compact(COMPLIANCE | {"payment_hash": secret}, KEY), expected=secret + "x"),
    ]
    assert all(not answer["verified"] and secret not in answer["error_message"] for answer in reports)


@pytest.mark.parametrize("header", ['{"alg":"\\ud800"}', '{"alg":"EdDSA","kid":"\\udfff"}'])
def test_a_report_can_always_be_written(header: str) -> None:
    """A lone surrogate in header or payload is left out of the report, so that the answer stays JSON."""
    answer = report(token(header, GOOD_PAYLOAD.replace(b"sha256:1", b"\\ud800")))
    canonicalise(answer)
    assert not answer["verified"]


def test_an_empty_platform_set_is_a_fault_of_the_caller() -> None:
    """A service without any key cannot verify; a supplied set does without."""
    with pytest.raises(ValueError, match="platform"):
        verify_receipt(jws=token(), jwks=None, expected_payment_hash=None, platform_keys=[])
    supplied_set = {"keys": [KEY.public.jwk()]}
    assert verify_receipt(jws=token(), jwks=supplied_set, expected_payment_hash=None, platform_keys=[])["verified"]


@pytest.mark.parametrize("model", [ReceiptVerifyRequest, ClosedReceiptVerifyRequest])
def test_a_request_lets_the_steps_judge_receipt_and_key_set(model: type[ReceiptVerifyRequest]) -> None:
    """Jws absent, null or empty and jwks of any shape are no faults of the request (P-GR-01, P-GR-03)."""
    given = {"jws": "a.b.c"}
    for body in ({"jws": None}, {"jws": ""}, *({**given, "jwks": jwks} for jwks in (5, None, {"keys": [1]}))):
        request = model.model_validate(body)
        assert (request.receipt_required, request.expected_payment_hash) == (False, None)


@pytest.mark.parametrize(
    "body",
    [{"jws": 5}, {"jws": ["a"]}, {"jws": True}, {"expected_payment_hash": 5}, {"receipt_required": 1},
     {"receipt_required": "true"}, {"receipt_required": None}],
)  # fmt: skip
def test_a_request_with_a_wrong_type_is_refused_without_repeating_it(body: dict[str, Any]) -> None:
    """Types are strict, and what was sent does not stand in the error's text."""
    with pytest.raises(ValidationError) as error_info:
        ReceiptVerifyRequest.model_validate(body)
    assert "input_value" not in str(error_info.value)


def test_unknown_members_are_refused_by_the_closed_form_only() -> None:
    """The gateway ignores what it does not know, the rail refuses it (P-CV-14)."""
    ReceiptVerifyRequest.model_validate({"jws": "a.b.c", "more": 1})
    with pytest.raises(ValidationError):
        ClosedReceiptVerifyRequest.model_validate({"jws": "a.b.c", "more": 1})
