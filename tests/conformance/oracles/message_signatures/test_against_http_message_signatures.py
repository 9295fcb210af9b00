"""Random messages, signed and judged by the suite and by http-message-signatures; each comparison has a control."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    InvalidSignature,
    MappingKeyResolver,
    algorithms,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.oracles.message_signatures import keys, signing
from conformance.oracles.message_signatures.algorithms import SigningKey
from conformance.oracles.message_signatures.components import Component, read_component
from conformance.oracles.message_signatures.digests import digest_value
from conformance.oracles.message_signatures.judgement import Policy, judge
from conformance.oracles.message_signatures.message import Message

NOW = 1_700_000_000
SEED = bytes(range(32))
ED25519 = keys.read_private(SEED)
P256 = SigningKey(("ecdsa-p256-sha256",), ec.derive_private_key(99, ec.SECP256R1()))
SECRET = keys.shared_secret(b"a shared secret")
CASES: list[tuple[SigningKey, Any]] = [
    (ED25519, algorithms.ED25519),
    (P256, algorithms.ECDSA_P256_SHA256),
    (SECRET, algorithms.HMAC_SHA256),
]


class Fields(dict[str, str]):
    """One line a field, as the library's message interface wants it."""


class Theirs:
    """A message as http-message-signatures takes it."""

    def __init__(self, message: Message) -> None:
        self.method = message.method
        self.url = f"{message.scheme}://{message.authority}{message.target}"
        self.headers = Fields(message.headers)


class Verifier(HTTPMessageVerifier):
    """Without the demands that RFC 9421 does not make."""

    require_created = False
    allow_label_only_selection = True


def resolver(key: SigningKey) -> MappingKeyResolver:
    public: Any = key.public.material
    if key is ED25519:
        public = Ed25519PrivateKey.from_private_bytes(SEED).public_key()
    return MappingKeyResolver(public_keys={"k": public}, private_keys={"k": key.material})


def their_verdict(message: Message, key: SigningKey, algorithm: Any) -> bool:
    try:
        Verifier(signature_algorithm=algorithm, key_resolver=resolver(key)).verify(
            Theirs(message), max_age=None, body=message.body
        )
    except InvalidSignature:
        return False
    return True


def our_verdict(message: Message, key: SigningKey) -> bool | None:
    return judge(message, key.public, Policy(parameters_as_components=False), now=NOW).is_valid


PATHS = st.from_regex(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]{0,5}(%[0-9A-F]{2})?){1,3}", fullmatch=True)
QUERIES = st.none() | st.from_regex(r"([a-z]{1,3}=([A-Za-z0-9._~+*-]|%[2-7][0-9A-E]){0,5}&?){0,3}", fullmatch=True)
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12).map(str.strip)
DICTIONARIES = st.sampled_from(["u=1", "u=1,  i", "u=2;x=1, i=?0", "a=(b  c);d, u=1"])


@st.composite
def messages(draw: Any) -> Message:
    """Any request that the library's message interface can hold."""
    query = draw(QUERIES)
    body = draw(st.binary(max_size=12))
    headers = [("Priority", draw(DICTIONARIES)), ("X-Note", draw(TEXTS)), ("X-Empty", "")]
    headers += [("Content-Digest", digest_value(body, draw(st.sampled_from(["sha-256", "sha-512"]))))]
    return Message(
        method=draw(st.sampled_from(["GET", "POST", "M-SEARCH"])),
        authority=draw(st.sampled_from(["example.org", "Example.ORG:8443", "example.org:443", "[2001:db8::1]:80"])),
        scheme=draw(st.sampled_from(["https", "http"])),
        target=draw(PATHS) + ("" if query is None else f"?{query}"),
        headers=tuple(headers),
        body=body,
    )


IDENTIFIERS = st.sampled_from(
    [
        "@method",
        "@target-uri",
        "@authority",
        "@scheme",
        "@request-target",
        "@path",
        "@query",
        '"@query-param";name="a"',
        "priority",
        '"priority";sf',
        '"priority";key="u"',
        '"priority";bs',
        "x-note",
        '"x-note";bs',
        "x-empty",
        "x-none",
    ]
)
COVERS = st.lists(IDENTIFIERS, min_size=1, max_size=6, unique=True)


def list_components(names: list[str]) -> list[Component]:
    return [read_component(name) for name in (*names, "content-digest")]


def theirs_signed(message: Message, names: list[str], key: SigningKey, algorithm: Any) -> Message | None:
    """Return the message with the library's signature; None where it refuses to sign."""
    signer = HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=resolver(key))
    their_message = Theirs(message)
    try:
        signer.sign(
            their_message,
            key_id="k",
            created=dt.datetime.fromtimestamp(NOW, dt.UTC),
            label="sig",
            use_existing_digest=True,
            covered_component_ids=[str(one) for one in list_components(names)],
        )
    except Exception:  # noqa: BLE001 - whatever it refuses with
        return None
    return replace(message, headers=tuple(their_message.headers.items()))


def ours_signed(message: Message, names: list[str], key: SigningKey) -> Message | None:
    try:
        return signing.sign(message, key, list_components(names), {"created": NOW, "keyid": "k"}).message
    except signing.CannotSign:
        return None


@settings(max_examples=120, deadline=None)
@given(messages(), COVERS, st.sampled_from(CASES))
def test_both_sign_the_same_messages_and_verify_each_other(
    message: Message, names: list[str], case: tuple[SigningKey, Any]
) -> None:
    """What one can sign the other can, and each verifies the other's; one bit less and neither does."""
    key, algorithm = case
    ours, theirs = ours_signed(message, names, key), theirs_signed(message, names, key, algorithm)
    assert (ours is None) is (theirs is None)
    for signed_message in filter(None, (ours, theirs)):
        assert our_verdict(signed_message, key) is True
        assert their_verdict(signed_message, key, algorithm) is True
        broken = replace(signed_message, body=signed_message.body + b"x")
        assert our_verdict(broken, key) is False
        assert their_verdict(broken, key, algorithm) is False


CHANGES: list[Any] = [
    lambda message: replace(message, method="PUT"),
    lambda message: replace(message, scheme="http" if message.scheme == "https" else "https"),
    lambda message: replace(message, authority="other.example"),
    lambda message: replace(message, target=message.target + "x"),
    lambda message: replace(message, target="/x" + message.target),
    lambda message: replace(message, headers=tuple(pair for pair in message.headers if pair[0] != "X-Note")),
    lambda message: replace(
        message, headers=tuple((name, "u=7" if name == "Priority" else value) for name, value in message.headers)
    ),
    lambda message: replace(
        message, headers=tuple((n, v.replace("=1", "=2") if n == "Signature-Input" else v) for n, v in message.headers)
    ),
]


@settings(max_examples=120, deadline=None)
@given(messages(), COVERS, st.sampled_from(CHANGES))
def test_both_say_the_same_of_changed_messages(message: Message, names: list[str], change: Any) -> None:
    """A change that is covered breaks both, one that is not breaks neither."""
    signed_message = ours_signed(message, names, ED25519)
    if signed_message is not None:
        changed_message = change(signed_message)
        assert our_verdict(changed_message, ED25519) is their_verdict(changed_message, ED25519, algorithms.ED25519)


def test_the_comparison_finds_a_wrong_judge() -> None:
    """The control: a judge of another key, or one that ignores the digest, differs from the library at once."""
    message = Message("GET", "example.org", headers=(("Content-Digest", digest_value(b"")),))
    signed_message = ours_signed(message, ["@method"], ED25519)
    assert signed_message is not None
    assert their_verdict(signed_message, ED25519, algorithms.ED25519) is True
    assert our_verdict(signed_message, keys.read_private(bytes(32))) is False
    loose = judge(replace(signed_message, headers=signed_message.headers[1:]), ED25519.public, Policy(), now=NOW)
    assert (loose.is_valid, [str(code) for code in loose.codes]) == (False, ["missing_component"])
    with pytest.raises(InvalidSignature):
        Verifier(signature_algorithm=algorithms.ED25519, key_resolver=resolver(ED25519)).verify(
            Theirs(replace(signed_message, method="PUT")), max_age=None
        )
