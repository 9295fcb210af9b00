"""Deliveries of the right form and time whose MAC is not the one that they must have."""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.webhook_signatures import clauses
from tools.vectors_builder.webhook_signatures.deliveries import (
    BODY,
    EVENT,
    HONEST,
    OTHER_SECRET,
    SECRET,
    Delivery,
    T,
    draft_refusal,
    hmac_hex,
    v2_key,
)

_V2: Final = HONEST.of(scheme="v2")
_SPACED_DELIVERY: Final = HONEST.of(body=b'{\r\n  "id": "evt_1",\r\n  "type": "payment.confirmed"\r\n}\r\n')
_TEXT: Final = HONEST.of(body='{"label":"Caf\u00e9 \u20ac"}'.encode())


def _draft_changed_body(
    name: str, sent_delivery: Delivery, body: bytes, fault: str, why: str, clauses: tuple[str, ...] = ()
) -> Draft:
    """Return the draft of a delivery that was signed with one body and came with another."""
    return draft_refusal(f"signature/{name}", sent_delivery.of(body=body), sent_delivery.header, fault, why, clauses)


def _draft_mac(
    name: str, mac: str, fault: str, why: str, clauses: tuple[str, ...] = (), delivery: Delivery = HONEST
) -> Draft:
    """Return the draft of a delivery with a given v1."""
    return draft_refusal(f"signature/{name}", delivery, f"t={delivery.t},v1={mac}", fault, why, clauses)


def bodies() -> Iterator[Draft]:
    """Yield bodies that are not the bytes that were signed."""
    why = "Every byte is covered"
    changed_body = BODY.replace(b'"8410000"', b'"9410000"')
    yield _draft_changed_body("body/amount", HONEST, changed_body, "The amount is another.", why)
    yield _draft_changed_body(
        "body/other-event", HONEST, BODY.replace(b"evt_0b8f", b"evt_1b8f"), "The event's id is another.", why
    )
    yield _draft_changed_body("body/left-out", HONEST, b"", "The body is empty.", "No body is not any body")
    yield _draft_changed_body("body-length/byte-more", HONEST, BODY + b"}", "A byte follows the body.", why)
    yield _draft_changed_body("body-length/byte-less", HONEST, BODY[:-1], "The last byte is missing.", why)
    yield _draft_changed_body(
        "body-length/nul-after", HONEST, BODY + b"\x00", "NUL follows the body.", "A string of C ends before it"
    )
    why = "What a reader of JSON drops is covered"
    yield _draft_changed_body("white-space/line-end-added", HONEST, BODY + b"\n", "A line end follows the body.", why)
    yield _draft_changed_body(
        "white-space/trimmed",
        _SPACED_DELIVERY,
        _SPACED_DELIVERY.body.rstrip(),
        "The line end after the body is gone.",
        why,
    )
    lines = _SPACED_DELIVERY.body.replace(b"\r\n", b"\n")
    yield _draft_changed_body("white-space/line-ends-changed", _SPACED_DELIVERY, lines, "CRLF became LF.", why)
    why = "An event that was read and written anew has other bytes"
    anew = (
        ("spaces", json.dumps(EVENT).encode(), "The event was written anew with spaces."),
        ("sorted", json.dumps(EVENT, separators=(",", ":"), sort_keys=True).encode(), "Its members were sorted."),
        ("indented", json.dumps(EVENT, indent=2).encode(), "The event was written anew, indented."),
    )
    for variant, body, fault in anew:
        yield _draft_changed_body(f"re-serialised/{variant}", HONEST, body, fault, why)
    text = _TEXT.body.decode()
    escaped_body = json.dumps(json.loads(text), separators=(",", ":")).encode()
    why = "The same text in other bytes"
    yield _draft_changed_body("text/escaped", _TEXT, escaped_body, "Letters became escapes.", why)
    yield _draft_changed_body(
        "text/decomposed", _TEXT, unicodedata.normalize("NFD", text).encode(), "A letter became two.", why
    )
    yield _draft_changed_body(
        "text/byte-order-mark", _TEXT, b"\xef\xbb\xbf" + _TEXT.body, "A mark was put in front.", why
    )
    yield _draft_changed_body("encoding/utf-16", _TEXT, text.encode("utf-16-le"), "The body came in UTF-16.", why)
    replaced_delivery = HONEST.of(body=b'{"label":"\xff"}')
    fault = "A byte that is no UTF-8 became a replacement character."
    yield _draft_changed_body(
        "encoding/replaced", replaced_delivery, '{"label":"\ufffd"}'.encode(), fault, "A lenient decoder changes bytes"
    )
    template_delivery = HONEST.of(body=b'{"label":"{t}"}')
    other_mac = hmac_hex(SECRET.encode(), f'{T}.{{"label":"{T}"}}'.encode())
    fault, why = "The sender put the time into the body too.", "A template is filled in once"
    yield _draft_mac("placeholder/filled-twice", other_mac, fault, why, delivery=template_delivery)


def times() -> Iterator[Draft]:
    """Yield headers whose time is not the one that was signed."""
    why = "The time is covered, so that nobody makes an old delivery new"
    for variant, seconds in (("later", 60), ("earlier", -60), ("one-second-later", 1)):
        fault = "The time in the header is another than was signed."
        header = f"t={T + seconds},v1={HONEST.v1}"
        yield draft_refusal(f"signature/time/{variant}", HONEST.of(t=T + seconds), header, fault, why)
    fault, why = "The signature is of an earlier attempt.", "Each attempt is signed anew with its own time"
    header = f"t={T + 30},v1={HONEST.v1}"
    yield draft_refusal("signature/redelivery/old-signature", HONEST.of(t=T + 30), header, fault, why)


def secrets() -> Iterator[Draft]:
    """Yield MACs by another key than the destination's secret."""
    fault, why = "It is signed with the secret of another destination.", "Each destination has its own secret"
    yield _draft_mac("secret/of-another-destination", HONEST.of(secret=OTHER_SECRET).v1, fault, why)
    near = SECRET[:-1] + ("1" if SECRET[-1] == "0" else "0")
    yield _draft_mac("secret/one-letter", HONEST.of(secret=near).v1, "The last letter of the secret is another.", why)
    yield _draft_mac(
        "secret/empty", hmac_hex(b"", HONEST.message), "It is signed with an empty key.", "Anybody has that key"
    )
    why = "The prefix is part of the key"
    bare = HONEST.of(secret=SECRET.partition("_")[2])
    yield _draft_mac("secret-prefix/left-out", bare.v1, "The key is the secret without its prefix.", why, clauses.KEY)
    doubled_secret = HONEST.of(secret="weldw_" + SECRET)
    yield _draft_mac("secret-prefix/twice", doubled_secret.v1, "The prefix stands there twice.", why, clauses.KEY)
    why = "A secret is text: what it looks like is not decoded"
    hexadecimal = HONEST.with_secret("00112233445566778899aabbccddeeff" * 2)
    other_mac = hmac_hex(bytes.fromhex(hexadecimal.secret), hexadecimal.message)
    yield _draft_mac(
        "secret-decoded/hexadecimal", other_mac, "The secret was decoded as hexadecimal.", why, clauses.KEY, hexadecimal
    )
    encoded_delivery = HONEST.with_secret("whsec_c2VjcmV0IGtleSBvZiBhIHdlYmhvb2s=")
    other_mac = hmac_hex(base64.b64decode(encoded_delivery.secret[6:]), encoded_delivery.message)
    fault = "The secret was decoded as base64, without its prefix."
    yield _draft_mac("secret-decoded/base64", other_mac, fault, why, clauses.KEY, encoded_delivery)
    other_mac = hmac_hex(bytes.fromhex(SECRET[6:]), HONEST.message)
    fault = "The secret was decoded as hexadecimal, without its prefix."
    yield _draft_mac("secret-decoded/after-the-prefix", other_mac, fault, why, clauses.KEY)
    why = "Nothing is added or taken away"
    ended_delivery = HONEST.of(secret=SECRET + "\n")
    yield _draft_mac("secret-text/line-end", ended_delivery.v1, "A line end follows the secret.", why, clauses.KEY)
    spaced_delivery = HONEST.with_secret(" weldw_spaced ")
    yield _draft_mac(
        "secret-text/trimmed",
        HONEST.with_secret("weldw_spaced").v1,
        "The secret was trimmed.",
        why,
        clauses.KEY,
        spaced_delivery,
    )
    latin = HONEST.with_secret("weldw_g\u00e9heim")
    other_mac = hmac_hex(latin.secret.encode("latin-1"), latin.message)
    yield _draft_mac("secret-text/latin-1", other_mac, "The secret was encoded in Latin-1.", why, clauses.KEY, latin)
    why = "The secret itself is the key"
    secret_hash = hashlib.sha256(SECRET.encode())
    yield _draft_mac(
        "secret-hashed/digest",
        hmac_hex(secret_hash.digest(), HONEST.message),
        "The secret was hashed.",
        why,
        clauses.KEY,
    )
    other_mac = hmac_hex(secret_hash.hexdigest().encode(), HONEST.message)
    yield _draft_mac(
        "secret-hashed/digest-in-hex", other_mac, "The secret was hashed, its digest in hex.", why, clauses.KEY
    )


def constructions() -> Iterator[Draft]:
    """Yield values of 64 digits that are no HMAC-SHA256 over what is covered."""
    key, message = SECRET.encode(), HONEST.message
    why = "v1 is HMAC-SHA256 (interface, Authentication)"
    for variant, other_mac, fault in (
        ("hash-of-key-and-message", hashlib.sha256(key + message), "It is a hash of secret and message."),
        ("hash-of-message", hashlib.sha256(message), "It is a hash of the message alone."),
        ("hash-of-message-and-key", hashlib.sha256(message + key), "It is a hash of message and secret."),
    ):
        yield _draft_mac(f"no-hmac/{variant}", other_mac.hexdigest(), fault, why)
    for variant, digest, name in (
        ("sha512-cut-off", "sha512", "SHA-512, cut off"),
        ("sha3-256", "sha3_256", "SHA3-256"),
        ("sha512-256", "sha512_256", "SHA-512/256"),
    ):
        made_so = hmac_hex(key, message, digest)[:64]
        yield _draft_mac(f"other-hash/{variant}", made_so, f"It is an HMAC with {name}.", why)
    turned_mac = hmac_hex(message, key)
    yield _draft_mac("turned-round/key-and-message", turned_mac, "Key and message changed places.", why)
    right = HONEST.v1
    why = "Every digit is compared"
    first, last = ("1" if right[place] == "0" else "0" for place in (0, -1))
    yield _draft_mac("digits/first", first + right[1:], "The first digit is another.", why)
    yield _draft_mac("digits/last", right[:-1] + last, "The last digit is another.", why)
    backwards = bytes.fromhex(right)[::-1].hex()
    yield _draft_mac("digits/bytes-turned-round", backwards, "Its bytes are turned round.", why)
    why = "A constant must never do"
    yield _draft_mac("constant/zeros", "0" * 64, "v1 is 64 zeros.", why)
    yield _draft_mac("constant/hash-of-nothing", hashlib.sha256().hexdigest(), "v1 is the hash of nothing.", why)
    yield _draft_mac("constant/hmac-of-nothing", hmac_hex(key, b""), "v1 is the HMAC of nothing.", why)


def messages() -> Iterator[Draft]:
    """Yield HMACs with the right key over something else than what is covered."""
    key, t = SECRET.encode(), str(T).encode()
    why = "What is covered is the operator's word, to the byte"
    sets = {
        "covered": (
            ("without-time", BODY, "It covers the body alone."),
            ("without-point", t + BODY, "It covers time and body with nothing between."),
            ("turned-round", BODY + b"." + t, "It covers body, point and time."),
        ),
        "joined": (
            ("by-a-colon", t + b":" + BODY, "A colon joins time and body."),
            ("by-a-line-end", t + b"\n" + BODY, "A line end joins time and body."),
            ("with-the-scheme-in-front", b"v1:" + t + b":" + BODY, "The scheme is covered in front."),
        ),
        "time-covered": (
            ("twice", t + b"." + t + b"." + BODY, "It covers the time twice."),
            ("in-milliseconds", t + b"000." + BODY, "It covers milliseconds, the header has seconds."),
            ("as-eight-bytes", T.to_bytes(8, "big") + b"." + BODY, "It covers the time as eight bytes."),
        ),
        "body-covered": (
            ("hashed", t + b"." + hashlib.sha256(BODY).hexdigest().encode(), "It covers a hash of the body."),
            ("base64", t + b"." + base64.b64encode(BODY), "It covers the body in base64."),
            (
                "as-a-text-of-json",
                t + b"." + json.dumps(BODY.decode()).encode(),
                "It covers the body as a JSON string.",
            ),
        ),
        "part-covered": (
            (
                "data-alone",
                t + b"." + json.dumps(EVENT["data"], separators=(",", ":")).encode(),
                "It covers data alone.",
            ),
            ("id-alone", t + b"." + str(EVENT["id"]).encode(), "It covers the event's id alone."),
            ("line-end-after", HONEST.message + b"\n", "It covers a line end after the body."),
        ),
    }
    for fault_name, cases in sets.items():
        for variant, message, fault in cases:
            yield _draft_mac(f"{fault_name}/{variant}", hmac_hex(key, message), fault, why)
    colon = HONEST.of(template="{t}:{body}")
    fault, why = "It covers what is usual, and the operator declares something else.", "The declared string decides"
    yield _draft_mac("template/usual-one", HONEST.v1, fault, why, delivery=colon)


def beside() -> Iterator[Draft]:
    """Yield headers with the right value in the wrong member, and several wrong ones."""
    zeros = "0" * 64
    why = "Only v1 counts"
    for variant, name in (("v0", "v0"), ("unknown", "sig")):
        header = f"t={T},v1={zeros},{name}={HONEST.v1}"
        fault = f"The right value stands in {name}."
        yield draft_refusal(f"signature/misplaced/{variant}", HONEST, header, fault, why)
    header = f"t={T},v1={zeros},v2={HONEST.v2}"
    fault, why = "v1 is wrong beside a right v2.", "Who goes by v1 is not helped by v2"
    yield draft_refusal("signature/misplaced/right-v2", HONEST, header, fault, why)
    header = f"t={T},v1={zeros},v1={HONEST.of(secret=OTHER_SECRET).v1},v1={'f' * 64}"
    fault, why = "None of three v1 fits.", "Many are no better than one"
    yield draft_refusal("signature/several/none-fits", HONEST, header, fault, why)


def second_scheme() -> Iterator[Draft]:
    """Yield a wrong v2 with a right v1, to receivers that check v2."""

    def v2(name: str, mac: str, fault: str, why: str) -> Draft:
        header = f"t={T},v1={HONEST.v1},v2={mac}"
        return draft_refusal(f"signature/{name}", _V2, header, fault, why, clauses.V2)

    right, message = _V2.v2, HONEST.message
    why = "Who goes by v2 is not helped by v1"
    yield v2("v2/zeros", "0" * 96, "v2 is 96 zeros.", why)
    yield v2("v2/last-digit", right[:-1] + ("1" if right[-1] == "0" else "0"), "The last digit is another.", why)
    yield v2("v2/of-another-body", _V2.of(body=b"{}").v2, "v2 is of another body.", why)
    why = "The key of v2 is drawn from the secret, for this service and this use"
    yield v2("v2-key/secret-itself", hmac_hex(SECRET.encode(), message, "sha384"), "The key is the secret itself.", why)
    yield v2("v2-key/other-service", _V2.of(word="Acme").v2, "The key is drawn for another service.", why)
    other_v2 = hmac_hex(v2_key(info=b"hmac-sha384-inbound"), message, "sha384")
    yield v2("v2-key/other-use", other_v2, "The key is drawn for another use.", why)
    shorter = hmac_hex(v2_key()[:32], message, "sha384")
    yield v2("v2-key-length/thirty-two", shorter, "A third of the key is missing.", "The key has 48 bytes")
    yield v2(
        "v2-hash/sha512-cut-off", hmac_hex(v2_key(), message, "sha512")[:96], "It is SHA-512, cut off.", "v2 is SHA-384"
    )
    doubled_v1 = HONEST.v1 + HONEST.v1[:32]
    yield v2("v2-hash/v1-repeated", doubled_v1, "v2 is v1, made longer.", "v2 is SHA-384")
    yield v2(
        "v2-covered/body-alone",
        hmac_hex(v2_key(), BODY, "sha384"),
        "It covers the body alone.",
        "It covers what v1 covers",
    )
