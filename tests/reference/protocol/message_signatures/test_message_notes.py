"""What explain says of headers, parameters and digests that are wrong, about this one message."""

from __future__ import annotations

import base64
import gzip
import hashlib
from typing import Any

import pytest

from tests.reference.protocol.message_signatures.careless_signer import (
    BODY,
    METHOD,
    message,
    notes_of,
    sent_as,
)


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
    message_members = message(METHOD)
    message_members["headers"]["Signature-Input"] = text
    keyless = {name: value for name, value in message_members.items() if name != "public_key_hex"}

    (proven,) = [note for note in notes_of(message_members) if "then the signature holds" in note]
    readable = [note for note in notes_of(keyless) if "can be read" in note]

    assert words in proven
    assert readable


def test_headers_that_changed_places() -> None:
    """The value of one field under the name of the other."""
    message_members = message(METHOD)
    input_field, signature_field = (
        message_members["headers"]["Signature-Input"],
        message_members["headers"]["Signature"],
    )
    message_members["headers"] |= {"Signature-Input": signature_field, "Signature": input_field}

    assert [note for note in notes_of(message_members) if "changed places" in note]


def test_labels_are_listed_with_the_one_that_holds() -> None:
    """Several signatures: which there are, and which one is the expected key's."""
    message_members = message(METHOD)
    message_members["headers"]["Signature-Input"] += ', proxy=("@path")'
    message_members["headers"]["Signature"] += ", proxy=:AA==:"

    notes = notes_of(message_members)
    wrong = notes_of(message_members | {"label": "other"})

    assert [note for note in notes if "sig, proxy" in note]
    assert [note for note in notes if "label sig holds" in note]
    assert [note for note in wrong if "other was asked for" in note]


@pytest.mark.parametrize(
    ("message_members", "now", "words"),
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
        (message(METHOD, expected_tag="a"), 1000, ("has none",)),
        (message(METHOD, params=';alg="EdDSA"'), 1000, ("JOSE", '"ed25519"')),
        (message(METHOD, params=';alg="hs2019"'), 1000, ("older draft",)),
        (message(METHOD, allowed_algorithms=["rsa-pss-sha512"]), 1000, ("allowed_algorithms does not hold",)),
    ],
)
def test_what_the_parameters_say(message_members: dict[str, Any], now: int, words: tuple[str, ...]) -> None:
    """Times by how much, names by where they come from."""
    notes = " ".join(notes_of(message_members, now=now))

    assert [word for word in words if word not in notes] == []


def test_a_digest_of_content_before_its_coding() -> None:
    """The digest is over the content as it is sent, compressed."""
    field = digest(BODY)
    body = base64.b64encode(gzip.compress(BODY)).decode()
    message_members = message(f'"content-digest": {field}', headers={"Content-Digest": field}, body_b64=body)

    assert [note for note in notes_of(message_members) if "content coding" in note and "digest is that of" in note]


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
    message_members = message(
        f'"content-digest": {field}', headers={"Content-Digest": field}, body_b64=base64.b64encode(BODY).decode()
    )

    assert [note for note in notes_of(message_members) if words in note]


@pytest.mark.parametrize("name", ["Digest", "Content-MD5", "Repr-Digest"])
def test_a_digest_in_another_field(name: str) -> None:
    """It is named, with the field to send."""
    message_members = message(METHOD, headers={name: "SHA-256=x"}, body_b64=base64.b64encode(BODY).decode())

    assert [note for note in notes_of(message_members) if f"Content-Digest: {digest(BODY)}" in note]


@pytest.mark.parametrize(
    ("message_members", "words"),
    [
        (message('"host": example.com'), "which is not in the message"),
        (message('"content-length": 0'), "which is not in the message"),
        (message(METHOD, components='"x-reqest-id"', headers={"X-Request-Id": "1"}), "but it has x-request-id"),
        (message(METHOD, components='"authority"'), "did you mean @authority"),
        (message(METHOD, components='"@metod"'), "did you mean @method"),
        (message(METHOD, components='"(request-target)"'), "older drafts"),
        (message(METHOD, components='"@host"'), "@authority"),
        (message(METHOD, components='"Host"', headers={"Host": "a"}), "lower case"),
    ],
)
def test_components_without_a_value(message_members: dict[str, Any], words: str) -> None:
    """What was covered, what may have been meant, and what it must have held."""
    assert [note for note in notes_of(message_members) if words in note]
