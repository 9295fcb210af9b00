"""What explain finds out about a signature that does not hold: each mistake by itself, proven, the verdict negative."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tests.reference.protocol.message_signatures.careless_signer import (
    DID,
    METHOD,
    OTHER_KEY,
    PARAMS,
    PUBLIC,
    SEED,
    message,
    notes_of,
    proof_of,
    sent_as,
)


@pytest.mark.parametrize(
    ("message_members", "words"),
    [
        (message('"@path": /a?b=c', path="/a?b=c"), "query inside @path"),
        (message('"@method": get'), "lower case"),
        (message('"@method": POST', headers={"X-HTTP-Method-Override": "POST"}), "x-http-method-override"),
        (message('"@method": HEAD'), "turned HEAD into GET"),
        (message('"@authority": Example.COM', authority="Example.COM"), "kept its case"),
        (message('"@authority": example.com:443'), "default port"),
        (message('"@authority": example.com', authority="example.com:8080"), "without its port"),
        (message('"@authority": api.test', headers={"X-Forwarded-Host": "api.test"}), "in the field x-forwarded-host"),
        (message('"@authority": api.test', headers={"Forwarded": "for=1;host=api.test"}), "in the field forwarded"),
        (message('"@authority": api.test', authority="10.0.0.1", headers={"Host": "api.test"}), "in the field host"),
        (message('"@authority": www.example.com'), "with www."),
        (message('"@scheme": http'), "scheme http instead of https"),
        (message('"@scheme": HTTPS'), "@scheme in another case"),
        (message('"@target-uri": http://example.com/a'), "scheme http"),
        (
            message(
                '"@target-uri": https://api.test/a',
                scheme="http",
                headers={"X-Forwarded-Host": "api.test", "X-Forwarded-Proto": "https"},
            ),
            "https://api.test",
        ),
        (message('"@path": /a/'), "taken away"),
        (message('"@path": /a', path="/a/"), "was added"),
        (message('"@path": /a%2fb', path="/a%2Fb"), "escapes changed their case"),
        (message('"@path": /~a', path="/%7Ea"), "unreserved characters were escaped"),
        (message('"@path": /a%20b', path="/a b"), "percent-decoded"),
        (message('"@path": /a b', path="/a%20b"), "percent-encoded"),
        (message('"@path": /a/../b', path="/b", headers={"X-Original-URI": "/a/../b"}), "x-original-uri"),
        (message('"@path": /v1/a', path="/api/v1/a"), "put /api in front"),
        (message('"@path": /api/a', headers={"X-Forwarded-Prefix": "/api"}), "x-forwarded-prefix"),
        (message('"@path": https://example.com/a'), "the whole address"),
        (message('"@request-target": /a', path="/a?b=c"), "it was added"),
        (message('"@target-uri": /a'), "path and query"),
        (message('"@target-uri": https://example.com/a', path="/a?b=c"), "it was added"),
        (message('"@query": b=c', path="/a?b=c"), "begins with ?"),
        (message('"@query": '), "begins with ?"),
        (message('"@query": ?b=c&a=d', path="/a?a=d&b=c"), "changed their order"),
        (message('"@query": ?a=1&b=2&c=3&d=4', path="/a?c=3&a=1&d=4&b=2"), "changed their order"),
        (message('"@query": ?b=c%20d', path="/a?b=c+d"), "spaces"),
        (message('"@query": ?b=c', path="/a?b=c&utm_source=x"), "utm_source=x was added"),
        (message('"@query": ?b=', path="/a?b"), "equals sign"),
        (message('"@query": ?b=c/d', path="/a?b=c%2Fd"), "percent-encoded"),
        (message('"@query-param";name="b": c d', path="/a?b=c%20d"), "percent-encoded as forms are"),
        (message('"x-a": b', headers={"X-A": "B"}), "changed their case"),
        (message('"x-a":  b ', headers={"X-A": " b "}), "white space around it"),
        (message('"x-a": a,b', headers={"X-A": ["a", "b"]}), "without a space"),
        (message('"x-a": b, a', headers={"X-A": ["a", "b"]}), "another order"),
        (message('"x-a": a', headers={"X-A": ["a", "b"]}), "last value was added"),
        (message('"x-a": a, b', headers={"X-A": "a,b"}), "joined again"),
        (message('"x-a": a b', headers={"X-A": "a   b"}), "white space inside"),
        (message('"content-type": text/plain', headers={"Content-Type": "text/plain; charset=utf-8"}), "charset"),
        (message('"content-type": text/plain; charset=utf-8', headers={"Content-Type": "text/plain"}), "charset"),
        (message('"content-length": 0', headers={"Content-Length": "5"}), "another length"),
        (message('"priority": u=1, i', headers={"Priority": "u=1,  i"}), "joined again"),
        (message('"priority": u=1, i', headers={"Priority": "u=1, i=?1"}), "parameter sf"),
        (message('"x-a": ', headers={"X-A": "b"}), "as if it were empty"),
        (message('"x-a": :Yg==:', headers={"X-A": "b"}), "with parameter bs"),
        (message('"x-a";bs: b', headers={"X-A": "b"}), "with no parameter"),
    ],
)
def test_what_happened_to_a_component(message_members: dict[str, Any], words: str) -> None:
    """The component is named, with what was signed and what is there."""
    assert words in proof_of(message_members)


PARAMS_LINE = f'"@signature-params": ("@method"){PARAMS}'


@pytest.mark.parametrize(
    ("base", "params", "words"),
    [
        (f"{METHOD}\n{PARAMS_LINE}\n", PARAMS, "line feed at its end"),
        (f"{METHOD}\r\n{PARAMS_LINE}", PARAMS, "carriage returns"),
        (METHOD, PARAMS, "last line left out"),
        (f'{METHOD}\n"@signature-params": sig=("@method"){PARAMS}', PARAMS, "label in its last line"),
        (f'@method: GET\n@signature-params: ("@method"){PARAMS}', PARAMS, "no quotation marks"),
        (f'{METHOD}\n"@signature-params": {PARAMS}', PARAMS, "parameters alone"),
        (f'{METHOD}\n"@signature-params": ("@method");created=1000000', PARAMS, "in milliseconds"),
        (f'{METHOD}\n"@signature-params": ("@method");created="1000"', PARAMS, "as a string"),
        (f'{METHOD}\n"@signature-params": ("@method");created=1001', PARAMS, "one second later"),
        (f'{METHOD}\n"@signature-params": ("@method")', PARAMS, "without parameter created"),
        (
            f'{METHOD}\n"@signature-params": ("@method");created=1000;keyid="k"',
            ';keyid="k";created=1000',
            "in alphabetical order",
        ),
        (f'{METHOD}\n"@signature-params": ("@method");created=1000;alg="ed25519"', PARAMS, 'alg="ed25519" at the end'),
        (hashlib.sha256(f"{METHOD}\n{PARAMS_LINE}".encode()).digest(), PARAMS, "SHA-256 hash"),
        (hashlib.sha512(f"{METHOD}\n{PARAMS_LINE}".encode()).digest(), PARAMS, "SHA-512 hash"),
        (base64.b64encode(f"{METHOD}\n{PARAMS_LINE}".encode()), PARAMS, "in base64"),
    ],
)
def test_what_happened_to_the_base(base: str | bytes, params: str, words: str) -> None:
    """The form of the base is named that the signer used."""
    assert words in proof_of(message(METHOD, base=base, params=params))


def test_field_names_as_they_were_sent() -> None:
    """Names in the base are in lower case, whatever the message has."""
    base = f'"X-A": b\n"@signature-params": ("x-a"){PARAMS}'

    assert "Lower their case" in proof_of(message(base=base, components='"x-a"', headers={"X-A": "b"}))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"public_key_hex": PUBLIC[::-1].hex()}, "reverse order"),
        ({"public_key_hex": SEED.hex()}, "disclosed"),
        ({"public_key_hex": OTHER_KEY.hex(), "params": f';created=1000;keyid="{DID}"'}, f"keyid names, {DID}"),
        ({"public_key_hex": OTHER_KEY.hex(), "params": f';created=1000;keyid="{PUBLIC.hex()}"'}, "keyid names"),
        (
            {"public_key_hex": OTHER_KEY.hex(), "params": f';keyid="x:{base64.urlsafe_b64encode(PUBLIC).decode()}"'},
            "keyid names",
        ),
    ],
)
def test_what_is_the_matter_with_the_key(members: dict[str, Any], words: str) -> None:
    """The key in another form, or another key: that is said, and never makes the message valid."""
    proof = proof_of(message(METHOD, **members))

    assert words in proof
    assert SEED.hex() not in proof


def test_an_x25519_key_is_recognised() -> None:
    """The Montgomery form of the signer's key is distinguished from another key."""
    seed = hashlib.sha512(SEED).digest()[:32]
    montgomery = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    assert f"Ed25519 key {PUBLIC.hex()}" in proof_of(message(METHOD, public_key_hex=montgomery.hex()))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda raw: f"sig=:{base64.b64encode(raw.hex().encode()).decode()}:", "octets are read as hex"),
        (lambda raw: f"sig=:{raw.hex()}:", "read as hex"),
        (lambda raw: f"sig=:{base64.b64encode(base64.b64encode(raw)).decode()}:", "read as base64"),
        (lambda raw: f"sig=:{base64.b64encode(raw[::-1]).decode()}:", "reverse order"),
        (lambda raw: f"sig=:{base64.b64encode(raw + b'message').decode()}:", "first 64 octets"),
        (lambda raw: f"sig=:{base64.b64encode(raw[32:] + raw[:32]).decode()}:", "change places"),
    ],
)
def test_how_the_signature_was_encoded(write: Any, words: str) -> None:
    """What was sent is decoded once more, and holds."""
    assert words in proof_of(sent_as(write))


def test_labels_that_are_mixed_up() -> None:
    """Two signatures under each other's labels: each is found under the other."""
    first_message, two = message(METHOD), message('"@path": /a')
    input_field = (
        first_message["headers"]["Signature-Input"] + ", " + two["headers"]["Signature-Input"].replace("sig=", "two=")
    )
    signature_field = first_message["headers"]["Signature"].replace("sig=", "two=") + ", " + two["headers"]["Signature"]
    mixed_message = first_message | {"headers": {"Signature-Input": input_field, "Signature": signature_field}}

    assert "sent under label two" in proof_of(mixed_message | {"label": "sig"})
    assert "sent under label sig" in proof_of(mixed_message | {"label": "two"})


def test_a_proof_stands_beside_other_faults() -> None:
    """An expired signature over a wrong method is both."""
    notes = notes_of(message('"@method": get', params=";expires=2000000"), now=2004000)

    assert [note for note in notes if "lower case" in note]
    assert [note for note in notes if "1 h 6 min" in note]


def test_two_changes_are_not_guessed() -> None:
    """One change at a time is proven; two are not."""
    assert not [note for note in notes_of(message('"@method": get', '"@path": /b')) if "The signature holds" in note]


MANY = range(2500)
LARGE: dict[str, dict[str, Any]] = {
    "fields": message(
        *[f'"x{n}": {"a, " * 20}' for n in range(1500)],
        headers={f"X{n}": ["a, " * 10] * 2 for n in range(1500)},
        path="/" + "%2f/" * 300 + "?" + "&".join(f"p{n}=+" for n in range(500)),
    ),
    "small fields": message(*[f'"{n}": ' for n in range(12000)], headers={str(n): "x" for n in range(12000)}),
    "absent": message(METHOD, components=" ".join(f'"xy-{n}"' for n in MANY), headers={f"xy-z{n}": "" for n in MANY}),
    "one absent": message(METHOD, components='"host"', headers={f"xy-z{n}": "" for n in MANY}),
    "long names": message(METHOD, components=f'"{"ab" * 40000}"', headers={"ba" * 40000: "1"}),
    "query": message('"@query": ?', path="/a?" + "&".join(f"{n}=%7e" for n in MANY)),
    "parameters": message(
        *[f'"@query-param";name="{n}": x' for n in MANY], path="/a?" + "&".join(f"{n}=%7e" for n in MANY)
    ),
    "a body of JSON": message(
        '"content-digest": sha-256=:AAAA:',
        headers={"Content-Digest": "sha-256=:AAAA:"},
        body_b64=base64.b64encode(b"[" + b",".join(b'{"a":"\xc3\xa9"}' for _ in range(10000)) + b"]").decode(),
    ),
    "keys": message(METHOD, params=f';created=1000;keyid="{"a" * 100000}"', public_key_hex=OTHER_KEY.hex()),
    "labels": message(METHOD)
    | {"headers": {"Signature-Input": ",".join(f"l{n}=()" for n in MANY), "Signature": "l=:AA==:"}},
    "a header that cannot be read": message(METHOD)
    | {"headers": {"Signature-Input": "sig=(" * 1600, "Signature": ":" * 8000, "x": "y" * 200000}},
}


@pytest.mark.parametrize("message_members", LARGE.values(), ids=LARGE)
def test_a_large_message_is_diagnosed_in_bounded_time(message_members: dict[str, Any]) -> None:
    """A hundred kilobytes, made to be looked at in many ways, cost a few seconds of a processor at most."""
    start_time = time.process_time()

    notes_of(message_members)

    assert time.process_time() - start_time < 20
