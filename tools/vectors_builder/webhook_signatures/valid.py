"""Deliveries that verify."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.webhook_signatures import clauses
from tools.vectors_builder.webhook_signatures.deliveries import EVENT, HONEST, OTHER_SECRET, T, holds

_EXAMPLE: Final = HONEST.with_secret("weldw_example").of(body=b'{"id":"evt_1"}')


def events() -> Iterator[Draft]:
    """Yield ordinary deliveries."""
    yield holds("plain/event", HONEST, "An event as a sender makes it")
    yield holds("plain/example-of-the-profile", _EXAMPLE, "The profile's own example")
    why = "A redelivery has the same body and is signed anew with its own time"
    yield holds("plain/redelivery", HONEST.of(t=T + 30), why)
    yield holds("body/empty", HONEST.of(body=b""), "A signature covers a body without bytes too")
    yield holds("body/binary", HONEST.of(body=bytes(range(256))), "Bytes are covered, whatever they mean")
    yield holds(
        "body/sixteen-kilobytes", HONEST.of(body=b'{"pad":"' + b"x" * 16_384 + b'"}'), "Longer than any block or buffer"
    )
    why = "What a reader of JSON drops is covered"
    yield holds("white-space/line-end", HONEST.of(body=b'{"id":"evt_1"}\n'), why)
    yield holds("white-space/crlf", HONEST.of(body=b'{\r\n "id": "evt_1"\r\n}\r\n'), why)
    yield holds("white-space/indented", HONEST.of(body=json.dumps(EVENT, indent=2).encode()), why)
    text = '{"label":"Caf\u00e9 Cafe\u0301 \u20ac \U0001f512"}'
    why = "Text is covered as the bytes that came"
    yield holds("text/utf-8", HONEST.of(body=text.encode()), why)
    yield holds("text/escaped", HONEST.of(body=json.dumps(json.loads(text)).encode()), why)
    yield holds("text/byte-order-mark", HONEST.of(body=b"\xef\xbb\xbf{}"), why)
    why = "The event is not read before the signature is judged"
    yield holds("no-event/not-json", HONEST.of(body=b"id=evt_1&type=payment.confirmed"), why)
    yield holds("no-event/member-twice", HONEST.of(body=b'{"id":"evt_1","id":"evt_2"}'), why)
    yield holds("no-event/starts-with-a-point", HONEST.of(body=b"..1767225600."), why)
    why = "The template is filled in once: what the body says of t and body stays"
    yield holds("placeholder/time", HONEST.of(body=b'{"label":"{t}"}'), why)
    yield holds("placeholder/body", HONEST.of(body=b'{"label":"{body}"}'), why)
    yield holds("placeholder/percent-and-backslash", HONEST.of(body=b'{"label":"%s \\\\1 $0"}'), why)


def members() -> Iterator[Draft]:
    """Yield headers with members in addition to t and v1."""
    why = "Members that a receiver does not know are left alone"
    for variant, further in (
        ("older-scheme", ("v0=" + "0" * 40,)),
        ("equals-sign-in-a-value", ("sig=YWJj==",)),
        ("two-unknown", ("kid=a1", "v9=")),
    ):
        yield holds(f"beside/{variant}", HONEST.of(further=further), why, clauses.FORM)
    why = "Who goes by v1 does not look at v2"
    yield holds("beside-v2/right", HONEST.of(further=(f"v2={HONEST.v2}",)), why, clauses.FORM)
    yield holds("beside-v2/wrong", HONEST.of(further=("v2=" + "0" * 96,)), why, clauses.FORM)
    yield holds("beside-v2/not-hexadecimal", HONEST.of(further=("v2=-",)), why, clauses.FORM)
    old = HONEST.of(secret=OTHER_SECRET)
    why = "During a rotation a sender may sign with both secrets; one that fits is enough"
    header = f"t={T},v1={HONEST.v1},v1={old.v1}"
    yield holds("rotation/first-fits", HONEST, why, clauses.ROTATION, header)
    yield holds("rotation/second-fits", old, why, clauses.ROTATION, header)
    header = f"t={T},v1={'0' * 64},v1={'f' * 64},v1={HONEST.v1}"
    yield holds("rotation/third-fits", HONEST, why, clauses.ROTATION, header)


def times() -> Iterator[Draft]:
    """Yield times at the edges of what a receiver allows."""
    why = "At the tolerance is within it"
    yield holds("tolerance/past", HONEST.of(late=300), why, clauses.TIME)
    yield holds("tolerance/future", HONEST.of(late=-300), why, clauses.TIME)
    yield holds("tolerance/none", HONEST.of(late=0, tolerance=0), "The very second", clauses.TIME)
    yield holds("wide-tolerance/a-day", HONEST.of(late=86_400, tolerance=86_400), why, clauses.TIME)
    why = "A time is a number of any length"
    yield holds("time/zero", HONEST.of(t=0, late=0), why)
    yield holds("time/nine-digits", HONEST.of(t=999_999_999), why)
    yield holds("time/eleven-digits", HONEST.of(t=10_000_000_000), "Beyond 32 bits")


def secrets() -> Iterator[Draft]:
    """Yield secrets that look like something else than the text they are."""
    why = "A secret is text: what it looks like is not decoded"
    hexadecimal, base64_secret = "00112233445566778899aabbccddeeff" * 2, "c2VjcmV0IGtleSBvZiBhIHdlYmhvb2s="
    yield holds("secret/like-hexadecimal", HONEST.of(secret=hexadecimal), why, clauses.KEY)
    yield holds("secret/like-base64", HONEST.of(secret=base64_secret), why, clauses.KEY)
    yield holds(
        "secret/with-a-prefix", HONEST.of(secret="whsec_" + base64_secret), "The prefix is part of the key", clauses.KEY
    )
    why = "Nothing is trimmed or normalised"
    yield holds("secret-text/white-space-at-its-ends", HONEST.with_secret(" weldw_spaced \t"), why, clauses.KEY)
    yield holds(
        "secret-text/beyond-ascii", HONEST.with_secret("weldw_g\u00e9heim-\U0001f511"), "Text is UTF-8", clauses.KEY
    )
    yield holds("secret-text/decomposed", HONEST.with_secret("weldw_ge\u0301heim"), why, clauses.KEY)
    why = "HMAC hashes a key that is longer than a block, and pads a shorter one"
    yield holds("secret-length/one-letter", HONEST.with_secret("w"), why)
    yield holds("secret-length/a-block", HONEST.with_secret("w" * 64), why)
    yield holds("secret-length/more-than-a-block", HONEST.with_secret("w" * 65), why)


def templates() -> Iterator[Draft]:
    """Yield other strings that an operator may declare as covered (the interface shows none)."""
    why = "What is covered is the operator's word"
    for variant, template in (
        ("colon", "{t}:{body}"),
        ("body-first", "{body}.{t}"),
        ("words-around", "v0:{t}:{body}\n"),
    ):
        yield holds(f"template/{variant}", HONEST.of(template=template), why)
    why = "Where the time is not covered, nothing but the receiver's clock judges it"
    yield holds("uncovered-time/body-alone", HONEST.of(template="{body}"), why)


def second_scheme() -> Iterator[Draft]:
    """Yield deliveries to receivers that go by v2."""
    v2, why = HONEST.of(scheme="v2"), "HMAC-SHA384 with a key drawn from the secret"
    yield holds("v2/event", v2, why, clauses.V2)
    yield holds("v2/example-of-the-profile", _EXAMPLE.of(scheme="v2"), "The profile's own example", clauses.V2)
    yield holds(
        "v2/other-service", v2.of(word="Acme"), "The service's word is in the salt, in small letters", clauses.V2
    )
    why = "The longer key of v2 is drawn from any text"
    yield holds("v2-secret/with-a-prefix", v2.with_secret("whsec_c2VjcmV0"), why, clauses.V2)
    yield holds("v2-secret/beyond-ascii", v2.with_secret("g\u00e9heim"), why, clauses.V2)
    header = f"t={T},v1={HONEST.v1},v2={'0' * 96},v2={v2.v2}"
    yield holds("v2-rotation/second-fits", v2, "One that fits is enough", (*clauses.V2, *clauses.ROTATION), header)
    yield holds("v2-template/colon", v2.of(template="{t}:{body}"), "It covers what v1 covers", clauses.V2)
    yield holds("v2-body/empty", v2.of(body=b""), "It covers what v1 covers", clauses.V2)
