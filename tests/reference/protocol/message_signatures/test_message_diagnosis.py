"""What explain finds out about a signature that does not hold: each mistake by itself, proven, the verdict negative."""

from __future__ import annotations

import base64
import gzip
import hashlib
import time
from typing import Any

import base58
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from reference.protocol.message_signatures import MessageRequest, explain

SEED = bytes(range(32))
KEY = Ed25519PrivateKey.from_private_bytes(SEED)
PUBLIC = KEY.public_key().public_bytes_raw()
DID = "did:key:z" + base58.b58encode(b"\xed\x01" + PUBLIC).decode()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
PARAMS = ";created=1000"
BODY = b'{"a": 1, "b": "x"}'


def message(
    *lines: str,
    params: str = PARAMS,
    base: str | bytes | None = None,
    covered: str | None = None,
    wrapped: str = "sig=:{}:",
    headers: dict[str, Any] | None = None,
    **members: Any,
) -> dict[str, Any]:
    """Return GET https://example.com/a whose signer signed these lines, or another base, and sent this."""
    names = " ".join(line.split(": ")[0] for line in lines) if covered is None else covered
    text = "\n".join([*lines, f'"@signature-params": ({names}){params}']) if base is None else base
    signature = KEY.sign(text.encode() if isinstance(text, str) else text)
    return {
        "method": "GET",
        "authority": "example.com",
        "path": "/a",
        "public_key_hex": PUBLIC.hex(),
        **members,
        "headers": {
            **(headers or {}),
            "Signature-Input": f"sig=({names}){params}",
            "Signature": wrapped.format(base64.b64encode(signature).decode()),
        },
    }


def notes_of(given: dict[str, Any], *, now: int = 1000) -> list[str]:
    """Return the notes on a message that is not valid."""
    result = explain(MessageRequest.model_validate(given), now=now)
    assert result["valid"] is not True
    assert result["verdict"] != "pass"
    return list(result["fix_notes"])


def proof_of(given: dict[str, Any], *, now: int = 1000) -> str:
    """Return the one note that says with what the signature holds."""
    (proof,) = [note for note in notes_of(given, now=now) if "The signature holds" in note]
    return proof


METHOD = '"@method": GET'


@pytest.mark.parametrize(
    ("given", "words"),
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
def test_what_happened_to_a_component(given: dict[str, Any], words: str) -> None:
    """The component is named, with what was signed and what is there."""
    assert words in proof_of(given)


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

    assert "Lower their case" in proof_of(message(base=base, covered='"x-a"', headers={"X-A": "b"}))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"public_key_hex": PUBLIC[::-1].hex()}, "reverse order"),
        ({"public_key_hex": SEED.hex()}, "disclosed"),
        ({"public_key_hex": OTHER.hex(), "params": f';created=1000;keyid="{DID}"'}, f"keyid names, {DID}"),
        ({"public_key_hex": OTHER.hex(), "params": f';created=1000;keyid="{PUBLIC.hex()}"'}, "keyid names"),
        (
            {"public_key_hex": OTHER.hex(), "params": f';keyid="x:{base64.urlsafe_b64encode(PUBLIC).decode()}"'},
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
    """The Montgomery form of the signer's key is told from another key."""
    seed = hashlib.sha512(SEED).digest()[:32]
    montgomery = X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()

    assert f"Ed25519 key {PUBLIC.hex()}" in proof_of(message(METHOD, public_key_hex=montgomery.hex()))


def sent_as(write: Any) -> dict[str, Any]:
    """Return a message whose signature is right and written in another way."""
    right = message(METHOD)
    signature = base64.b64decode(right["headers"]["Signature"][5:-1])
    return right | {"headers": right["headers"] | {"Signature": write(signature)}}


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


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda raw: f"sig={base64.b64encode(raw).decode()}", "between colons"),
        (lambda raw: f'sig="{base64.b64encode(raw).decode()}"', "between colons"),
        (lambda raw: f"sig=:{base64.urlsafe_b64encode(raw).decode()}:", "base64url"),
        (lambda raw: f"sig={base64.urlsafe_b64encode(raw).decode().rstrip('=')}", "base64url"),
        (lambda raw: f"sig={raw.hex()}", "not in hex"),
        (lambda raw: f":{base64.b64encode(raw).decode()}:", "a label in front"),
        (lambda raw: base64.b64encode(raw).decode(), "a label in front"),
        (lambda raw: f"SIG=:{base64.b64encode(raw).decode()}:", "lower case"),
        (lambda raw: f"sig1=:{base64.b64encode(raw).decode()}:", "Write the label sig in Signature"),
    ],
)
def test_how_the_signature_field_was_written(write: Any, words: str) -> None:
    """Written as it should be, the signature holds."""
    (note,) = [note for note in notes_of(sent_as(write)) if "then the signature holds" in note]

    assert words in note


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('("@method");created=1000', "a label in front"),
        ("sig=(@method);created=1000", "quoted strings"),
        ("sig=('@method');created=1000", "quoted strings"),
        ('sig=("@method");created="1000"', "plain integers"),
        ('sig=("@method");created=@1000', "plain integers"),
        ('sig=("@method");created=1000;', "behind the parameters"),
        ('Sig=("@method");created=1000', "lower case"),
        ('sig = ("@method");created=1000', "spaces around"),
    ],
)
def test_how_signature_input_was_written(text: str, words: str) -> None:
    """Written as it should be, the signature holds; without a key it can at least be read."""
    given = message(METHOD)
    given["headers"]["Signature-Input"] = text
    keyless = {name: value for name, value in given.items() if name != "public_key_hex"}

    (proven,) = [note for note in notes_of(given) if "then the signature holds" in note]
    readable = [note for note in notes_of(keyless) if "can be read" in note]

    assert words in proven
    assert readable


def test_headers_that_changed_places() -> None:
    """The value of one field under the name of the other."""
    given = message(METHOD)
    told, signed = given["headers"]["Signature-Input"], given["headers"]["Signature"]
    given["headers"] |= {"Signature-Input": signed, "Signature": told}

    assert [note for note in notes_of(given) if "changed places" in note]


def test_labels_are_listed_with_the_one_that_holds() -> None:
    """Several signatures: which there are, and which one is the expected key's."""
    given = message(METHOD)
    given["headers"]["Signature-Input"] += ', proxy=("@path")'
    given["headers"]["Signature"] += ", proxy=:AA==:"

    notes = notes_of(given)
    wrong = notes_of(given | {"label": "other"})

    assert [note for note in notes if "sig, proxy" in note]
    assert [note for note in notes if "label sig holds" in note]
    assert [note for note in wrong if "other was asked for" in note]


@pytest.mark.parametrize(
    ("given", "now", "words"),
    [
        (message(METHOD, params=";created=1100"), 1000, ("100 s", "1 min 40 s ahead", "1970-01-01T00:18:20Z")),
        (message(METHOD, params=";created=1618884473000"), 1618884473, ("milliseconds", "1618884473 ")),
        (message(METHOD, params=";created=8200"), 1000, ("2 h", "local time")),
        (message(METHOD, params=";expires=2000000"), 2004000, ("1 h 6 min before",)),
        (message(METHOD, params=";expires=300"), 10**9, ("lifetime",)),
        (message(METHOD, params=";created=2000000;expires=1900000"), 2000000, ("before created",)),
        (message(METHOD, params=";created=1000", max_age_seconds=10), 5000, ("1 h 6 min ago", "is 10")),
        (message(METHOD, params=f";created={10**14}"), 1000, ("milliseconds",)),
        (message(METHOD, params=';tag="b"', expected_tag="a"), 1000, ('"a" is expected', '"b"')),
        (message(METHOD, expected_tag="a"), 1000, ("bears none",)),
        (message(METHOD, params=';alg="EdDSA"'), 1000, ("JOSE", '"ed25519"')),
        (message(METHOD, params=';alg="hs2019"'), 1000, ("older draft",)),
        (message(METHOD, allowed_algorithms=["rsa-pss-sha512"]), 1000, ("allowed_algorithms does not hold",)),
    ],
)
def test_what_the_parameters_say(given: dict[str, Any], now: int, words: tuple[str, ...]) -> None:
    """Times by how much, names by where they come from."""
    notes = " ".join(notes_of(given, now=now))

    assert [word for word in words if word not in notes] == []


def test_labels_that_are_mixed_up() -> None:
    """Two signatures under each other's labels: each is found under the other."""
    one, two = message(METHOD), message('"@path": /a')
    told = one["headers"]["Signature-Input"] + ", " + two["headers"]["Signature-Input"].replace("sig=", "two=")
    sent = one["headers"]["Signature"].replace("sig=", "two=") + ", " + two["headers"]["Signature"]
    mixed = one | {"headers": {"Signature-Input": told, "Signature": sent}}

    assert "sent under label two" in proof_of(mixed | {"label": "sig"})
    assert "sent under label sig" in proof_of(mixed | {"label": "two"})


def test_a_digest_of_content_before_its_coding() -> None:
    """The digest is over the content as it is sent, compressed."""
    field = digest(BODY)
    body = base64.b64encode(gzip.compress(BODY)).decode()
    given = message(f'"content-digest": {field}', headers={"Content-Digest": field}, body_b64=body)

    assert [note for note in notes_of(given) if "content coding" in note and "digest is that of" in note]


def digest(body: bytes, name: str = "sha-256", encode: Any = base64.b64encode) -> str:
    value = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}[name](body).digest()
    return f"{name}=:{encode(value).decode()}:"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (digest(BODY + b"\n"), "with a line feed at its end"),
        (digest(b'{"a":1,"b":"x"}'), "written as JSON without spaces"),
        (digest(b'{\n  "a": 1,\n  "b": "x"\n}'), "indented by 2"),
        (digest(b""), "when it is empty"),
        (digest(base64.b64encode(BODY)), "in base64"),
        (digest(b"\xef\xbb\xbf" + BODY), "byte order mark"),
        (digest(b"12\r\n" + BODY + b"\r\n0\r\n\r\n"), "chunked framing"),
        (digest(BODY, encode=lambda raw: base64.b64encode(raw.hex().encode())), "in hex, encoded once more"),
        (digest(BODY, "sha-512").replace("sha-512", "sha-256"), "sha-512 digest, under another name"),
        (f"sha-256=:{base64.b64encode(hashlib.sha1(BODY, usedforsecurity=False).digest()).decode()}:", "a sha1 digest"),
        (f"sha-256={hashlib.sha256(BODY).hexdigest()}", "in hex"),
        (digest(BODY).replace("sha-256", "SHA-256"), "with another name or other marks"),
        (digest(BODY).replace(":", ""), "with another name or other marks"),
        (digest(BODY).replace("=:", "=", 2).rstrip(":="), "without padding"),
    ],
)
def test_of_which_body_a_digest_is(field: str, words: str) -> None:
    """Another body, or the right digest written in another way."""
    given = message(
        f'"content-digest": {field}', headers={"Content-Digest": field}, body_b64=base64.b64encode(BODY).decode()
    )

    assert [note for note in notes_of(given) if words in note]


@pytest.mark.parametrize("name", ["Digest", "Content-MD5", "Repr-Digest"])
def test_a_digest_in_another_field(name: str) -> None:
    """It is named, with the field to send."""
    given = message(METHOD, headers={name: "SHA-256=x"}, body_b64=base64.b64encode(BODY).decode())

    assert [note for note in notes_of(given) if f"Content-Digest: {digest(BODY)}" in note]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (message('"host": example.com'), "which is not in the message"),
        (message('"content-length": 0'), "which is not in the message"),
        (message(METHOD, covered='"x-reqest-id"', headers={"X-Request-Id": "1"}), "but it has x-request-id"),
        (message(METHOD, covered='"authority"'), "did you mean @authority"),
        (message(METHOD, covered='"@metod"'), "did you mean @method"),
        (message(METHOD, covered='"(request-target)"'), "older drafts"),
        (message(METHOD, covered='"@host"'), "@authority"),
        (message(METHOD, covered='"Host"', headers={"Host": "a"}), "lower case"),
    ],
)
def test_components_without_a_value(given: dict[str, Any], words: str) -> None:
    """What was covered, what may have been meant, and what it must have held."""
    assert [note for note in notes_of(given) if words in note]


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
    "absent": message(METHOD, covered=" ".join(f'"xy-{n}"' for n in MANY), headers={f"xy-z{n}": "" for n in MANY}),
    "one absent": message(METHOD, covered='"host"', headers={f"xy-z{n}": "" for n in MANY}),
    "long names": message(METHOD, covered=f'"{"ab" * 40000}"', headers={"ba" * 40000: "1"}),
    "query": message('"@query": ?', path="/a?" + "&".join(f"{n}=%7e" for n in MANY)),
    "parameters": message(
        *[f'"@query-param";name="{n}": x' for n in MANY], path="/a?" + "&".join(f"{n}=%7e" for n in MANY)
    ),
    "a body of JSON": message(
        '"content-digest": sha-256=:AAAA:',
        headers={"Content-Digest": "sha-256=:AAAA:"},
        body_b64=base64.b64encode(b"[" + b",".join(b'{"a":"\xc3\xa9"}' for _ in range(10000)) + b"]").decode(),
    ),
    "keys": message(METHOD, params=f';created=1000;keyid="{"a" * 100000}"', public_key_hex=OTHER.hex()),
    "labels": message(METHOD)
    | {"headers": {"Signature-Input": ",".join(f"l{n}=()" for n in MANY), "Signature": "l=:AA==:"}},
    "a header that cannot be read": message(METHOD)
    | {"headers": {"Signature-Input": "sig=(" * 1600, "Signature": ":" * 8000, "x": "y" * 200000}},
}


@pytest.mark.parametrize("given", LARGE.values(), ids=LARGE)
def test_a_large_message_is_diagnosed_in_bounded_time(given: dict[str, Any]) -> None:
    """A hundred kilobytes, made to be looked at in many ways, cost a few seconds of a processor at most."""
    started = time.process_time()

    notes_of(given)

    assert time.process_time() - started < 4
