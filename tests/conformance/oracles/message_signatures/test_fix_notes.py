"""Fix notes: the advice for each fault, and what a signer is found to have signed instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from conformance.oracles.message_signatures import keys, signature_headers, signing, structured
from conformance.oracles.message_signatures.algorithms import SigningKey
from conformance.oracles.message_signatures.base import signature_base
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.judgement import Policy, judge
from conformance.oracles.message_signatures.message import Message
from conformance.oracles.message_signatures.notes import fix_notes
from conformance.oracles.message_signatures.verify_request_members import key_of, message_of
from conformance.vectors import message_signatures
from conformance.vectors.judges.message_signatures import judge_vector

NOW = 1_700_000_000
KEY = keys.read_private(bytes(range(32)))
PLAIN = Message(method="GET", authority="example.org", target="/a/b?c=d%20e", headers=(("Accept", "*/*"),))
COVER = [Component(name) for name in ("@method", "@authority", "@scheme", "@path", "@query")]


def notes(message: Message, key: SigningKey = KEY, **policy: Any) -> str:
    judgement = judge(message, key.public, Policy(**policy), now=NOW)
    return " | ".join(fix_notes(message, key.public, judgement))


def sign_message(message: Message = PLAIN) -> Message:
    return signing.sign(message, KEY, COVER, {"created": NOW}).message


def with_base(change: Callable[[str], str], parameters: str = f";created={NOW}") -> Message:
    """Sign a text made from the true base by a careless signer."""
    coverage = signature_headers.read_coverage(
        "s", structured.read_dictionary(f's=("@method" "@path" "@query"){parameters}')["s"]
    )
    base = signature_base(PLAIN, coverage).text
    assert base is not None
    return signing.attach(PLAIN, "s", str(coverage), KEY.sign("ed25519", change(base).encode()))


def test_a_message_that_holds_has_no_notes() -> None:
    """Nothing to fix, nothing said."""
    assert notes(sign_message()) == ""


@pytest.mark.parametrize(
    ("change", "clue"),
    [
        ({"method": "HEAD"}, "the method was signed as another"),
        ({"scheme": "http"}, "a proxy ends TLS"),
        ({"authority": "internal", "headers": (("X-Forwarded-Host", "example.org"),)}, "a proxy changed them"),
        ({"authority": "internal", "headers": (("Forwarded", 'for=1;host="example.org";proto=https'),)}, "a proxy"),
        ({"target": "/a/b/?c=d%20e"}, "slash at its end"),
        ({"target": "/api/a/b?c=d%20e"}, "a proxy put a prefix in front"),
        ({"target": "/x/y/z/a/b?c=d%20e"}, "a proxy put a prefix in front"),
        ({"target": "/a/b?c=d+e"}, "percent-encodings"),
    ],
)
def test_what_changed_on_the_way_is_found(change: dict[str, object], clue: str) -> None:
    """The signature fits the message as it was before a proxy or router touched it."""
    message = sign_message()
    extra = change.pop("headers", ())
    assert isinstance(extra, tuple)
    changed_message = replace(message, headers=(*message.headers, *extra), **change)  # type: ignore[arg-type]
    assert clue in notes(changed_message)


@pytest.mark.parametrize(
    ("change", "clue"),
    [
        (lambda base: base.replace("/a/b\n", "/a/b?c=d%20e\n"), "the signer put the query inside @path"),
        (lambda base: base.replace("?c=", "c="), "the signer left out the question mark"),
        (lambda base: base + "\n", "ended the base with a line feed"),
        (lambda base: base.replace("\n", "\r\n"), "CRLF"),
        (lambda base: base.rpartition("\n")[0], "left out the last line"),
        (lambda base: base.replace('params": ', 'params": s='), "put the label"),
        (
            lambda base: (
                base.replace('"@method"', "@method", 1).replace('"@path"', "@path", 1).replace('"@query"', "@query", 1)
            ),
            "quotes",
        ),
    ],
)
def test_what_a_careless_signer_signed_is_found(change: Callable[[str], str], clue: str) -> None:
    """Each mistake has its sentence; the result stays negative (P-AG-08)."""
    message = with_base(change)
    assert clue in notes(message)
    assert judge(message, KEY.public, Policy(), now=NOW).is_valid is False


def test_the_key_that_keyid_spells_out_is_named() -> None:
    """It signed, and it is not the expected one."""
    other_key = keys.read_private(bytes(32))
    raw = other_key.public.material
    assert isinstance(raw, bytes)
    message = signing.sign(PLAIN, other_key, COVER, {"keyid": keys.did_key(raw)}).message
    assert "the key that keyid spells out did sign" in notes(message)


def test_an_rsa_key_used_with_its_other_algorithm_is_found() -> None:
    """One key, two paddings."""
    key = SigningKey(("rsa-pss-sha512", "rsa-v1_5-sha256"), rsa.generate_private_key(65537, 2048))
    message = signing.sign(PLAIN, key, COVER, {}, algorithm="rsa-v1_5-sha256").message
    assert "used with rsa-v1_5-sha256" in notes(message, key)


def test_a_signature_of_the_wrong_size_is_named() -> None:
    """DER for ECDSA, say."""
    key = SigningKey(("ecdsa-p256-sha256",), ec.derive_private_key(7, ec.SECP256R1()))
    signed_message = signing.sign(PLAIN, key, COVER, {})
    half = len(signed_message.signature) // 2
    der = encode_dss_signature(
        *(int.from_bytes(part, "big") for part in (signed_message.signature[:half], signed_message.signature[half:]))
    )
    message = signing.attach(PLAIN, "s", str(signed_message.coverage), der)
    assert "has 64 bytes" in notes(message, key)


def test_without_a_clue_the_note_says_how_to_find_one() -> None:
    """Another key altogether."""
    assert "compare the signature base line by line" in notes(sign_message(), keys.read_private(bytes(32)))


def test_a_missing_digest_is_spelt_out() -> None:
    """The very field to add."""
    message = replace(sign_message(), body=b"hello")
    assert f"Content-Digest: {digest_value(b'hello')}" in notes(message)


def test_a_parameter_covered_by_name_is_named_as_no_component() -> None:
    """P-AG-07: accepted, and said to be no standard."""
    covered_text = '("@method" "created");created=5'
    base = f'"@method": GET\n"created": 5\n"@signature-params": {covered_text}'
    message = signing.attach(PLAIN, "s", covered_text, KEY.sign("ed25519", base.encode()))
    assert judge(message, KEY.public, Policy(), now=NOW).is_valid is True
    assert "no component of RFC 9421" in notes(message)
    strict = judge(message, KEY.public, Policy(parameters_as_components=False), now=NOW)
    assert strict.is_valid is False


def test_every_vector_that_is_refused_has_a_note_and_no_other_has() -> None:
    """Whatever is wrong, the note names something to do; a standard message that holds needs nothing."""
    for vector in message_signatures():
        judgement = judge_vector(vector.message, vector.key, vector.policy)
        notes = fix_notes(message_of(vector.message), key_of(vector.key), judgement)
        compatible = "P-AG-07" in vector.pins and "a-field" not in vector.id
        assert bool(notes) is (not vector.expected.valid or compatible), vector.id
        assert all(len(note) > 20 for note in notes), vector.id
