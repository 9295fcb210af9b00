"""Headers that a receiver cannot use, or that are not of the form; every MAC in them is right as far as it goes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.webhook_signatures import clauses
from tools.vectors_builder.webhook_signatures.deliveries import BODY, HONEST, SECRET, T, draft_refusal, hmac_hex

_V1: Final = HONEST.v1
_V2: Final = HONEST.of(scheme="v2")


def _over(t: str) -> str:
    """Return a header whose time is a text, signed as that text."""
    return f"t={t},v1={hmac_hex(SECRET.encode(), t.encode() + b'.' + BODY)}"


def absent() -> Iterator[Draft]:
    """Yield headers without a time or without a v1."""
    why = "Nothing to verify is nothing verified"
    yield draft_refusal("header/empty/no-text", HONEST, "", "The header is empty.", why)
    yield draft_refusal("header/empty/commas", HONEST, ",,", "The header has no members.", why)
    yield draft_refusal("header/empty/names-alone", HONEST, "t=,v1=", "The members have no values.", why)
    fault, why = "The header has no t.", "Without its time no signature can be computed, or be old"
    bare = hmac_hex(SECRET.encode(), b"." + BODY)
    yield draft_refusal("header/no-time/left-out", HONEST, f"v1={_V1}", fault, why)
    yield draft_refusal("header/no-time/no-value", HONEST, f"t=,v1={bare}", "t has no value.", why)
    yield draft_refusal("header/no-time/other-name", HONEST, f"ts={T},v1={_V1}", fault, "Names are not shortened")
    fault, why = "The header has no v1.", "A member left out must not count as one that holds"
    yield draft_refusal("header/no-v1/left-out", HONEST, f"t={T}", fault, why)
    yield draft_refusal("header/no-v1/no-value", HONEST, f"t={T},v1=", "v1 has no value.", why)
    why = "Another scheme's member is no v1, whatever it holds"
    yield draft_refusal("header/no-v1/v0-alone", HONEST, f"t={T},v0={_V1}", fault, why)
    yield draft_refusal("header/other-scheme/v2-alone", HONEST, f"t={T},v2={HONEST.v2}", fault, why)
    yield draft_refusal("header/other-scheme/longer-name", HONEST, f"t={T},v11={_V1}", fault, why)
    why = "Names of members have one spelling"
    yield draft_refusal("header/name-case/time", HONEST, f"T={T},v1={_V1}", "t is written T.", why, clauses.FORM)
    yield draft_refusal("header/name-case/v1", HONEST, f"t={T},V1={_V1}", "v1 is written V1.", why, clauses.FORM)


def times() -> Iterator[Draft]:
    """Yield times that are not a decimal number of seconds, and two times."""
    why = "One receiver takes the first, another the last: what was signed is open"
    other_header = f"v1={HONEST.of(t=T + 60).v1}"
    fault = "There are two times."
    yield draft_refusal("header/two-times/alike", HONEST, f"t={T},t={T},v1={_V1}", fault, why, clauses.FORM)
    yield draft_refusal(
        "header/two-times/first-is-signed", HONEST, f"t={T},v1={_V1},t={T + 60}", fault, why, clauses.FORM
    )
    yield draft_refusal(
        "header/two-times/last-is-signed", HONEST, f"t={T},{other_header},t={T + 60}", fault, why, clauses.FORM
    )
    why = "Unix seconds are a decimal number (interface, Authentication)"
    for variant, text, fault in (
        ("date", "2026-01-01T00:00:00Z", "The time is a date."),
        ("fraction", f"{T}.0", "The time has a fraction."),
        ("hexadecimal", f"{T:x}", "The time is hexadecimal."),
    ):
        yield draft_refusal(f"header/time-form/{variant}", HONEST, _over(text), fault, why)
    for variant, text, fault in (
        ("exponent", "1.7672256e9", "The time has an exponent."),
        ("word", "now", "The time is a word."),
        ("list", f"{T};{T}", "The time is a list."),
    ):
        yield draft_refusal(f"header/time-text/{variant}", HONEST, _over(text), fault, why)
    why = "A reader of numbers takes it, and signs or compares other digits than came"
    for variant, text, fault in (
        ("plus-sign", f"+{T}", "The time has a plus sign."),
        ("leading-zero", f"0{T}", "A zero leads the time."),
        ("underscores", f"{T:_}", "The time has underscores."),
    ):
        yield draft_refusal(f"header/time-spelling/{variant}", HONEST, f"t={text},v1={_V1}", fault, why, clauses.FORM)
    wide = "".join(chr(ord(digit) + 0xFEE0) for digit in str(T))
    fault = "The digits of the time are not ASCII."
    yield draft_refusal("header/time-digits/fullwidth", HONEST, f"t={wide},v1={_V1}", fault, why, clauses.FORM)
    fault = "The time is negative."
    yield draft_refusal("header/time-digits/negative", HONEST, _over(f"-{T}"), fault, "Before 1970 nothing was sent")
    fault = "The time has a hundred digits."
    yield draft_refusal(
        "header/time-digits/hundred", HONEST, _over("1" * 100), fault, "No machine's number holds it", clauses.FORM
    )


def macs() -> Iterator[Draft]:
    """Yield a v1 that is not 64 lower-case hexadecimal digits."""
    raw = bytes.fromhex(_V1)
    why = "v1 is hexadecimal (interface, Authentication)"
    mac_base64, safe = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")
    yield draft_refusal("header/not-hex/base64", HONEST, f"t={T},v1={mac_base64}", "v1 is base64.", why)
    yield draft_refusal("header/not-hex/base64url", HONEST, f"t={T},v1={safe}", "v1 is base64url.", why)
    yield draft_refusal("header/not-hex/letter-beyond-f", HONEST, f"t={T},v1={_V1[:-1]}g", "v1 has the letter g.", why)
    why = "v1 is hexadecimal alone"
    yield draft_refusal(
        "header/dressed/algorithm-before", HONEST, f"t={T},v1=sha256={_V1}", "v1 names its algorithm.", why
    )
    yield draft_refusal("header/dressed/prefix", HONEST, f"t={T},v1=0x{_V1}", "v1 has the prefix 0x.", why)
    yield draft_refusal("header/dressed/quotes", HONEST, f't={T},v1="{_V1}"', "v1 has quotes.", why)
    why = "A comparison of the shorter length would take it"
    yield draft_refusal("header/length/half", HONEST, f"t={T},v1={_V1[:32]}", "Half of v1 is missing.", why)
    yield draft_refusal("header/length/one-digit-less", HONEST, f"t={T},v1={_V1[:-1]}", "v1 has a digit less.", why)
    yield draft_refusal("header/length/one-byte-more", HONEST, f"t={T},v1={_V1}00", "v1 has two digits more.", why)
    why = "v1 is HMAC-SHA256: 64 digits"
    for digest in ("sha1", "sha384", "sha512"):
        other_mac = hmac_hex(SECRET.encode(), HONEST.message, digest)
        fault = f"v1 is an HMAC with {digest.upper()}."
        yield draft_refusal(f"header/other-hash/{digest}", HONEST, f"t={T},v1={other_mac}", fault, why)
    mixed_case = _V1[:32] + _V1[32:].upper()
    why = "The profile has one spelling; who compares text refuses another anyway"
    yield draft_refusal(
        "header/case/capitals", HONEST, f"t={T},v1={_V1.upper()}", "v1 is in capitals.", why, clauses.FORM
    )
    yield draft_refusal(
        "header/case/mixed", HONEST, f"t={T},v1={mixed_case}", "Half of v1 is in capitals.", why, clauses.FORM
    )


def punctuation() -> Iterator[Draft]:
    """Yield headers with members in another order, spaces, and commas that separate nothing."""
    why = "The form has an order"
    yield draft_refusal("header/order/v1-first", HONEST, f"v1={_V1},t={T}", "v1 comes before t.", why, clauses.FORM)
    yield draft_refusal(
        "header/order/another-first", HONEST, f"v0=1,t={T},v1={_V1}", "Another member comes first.", why, clauses.FORM
    )
    yield draft_refusal(
        "header/order/another-between",
        HONEST,
        f"t={T},v0=1,v1={_V1}",
        "Another member stands between.",
        why,
        clauses.FORM,
    )
    why = "The form has no spaces"
    for variant, header, where in (
        ("after-the-comma", f"t={T}, v1={_V1}", "after the comma"),
        ("about-equals-signs", f"t = {T},v1 = {_V1}", "about the equals signs"),
        ("tab-at-the-end", f"t={T},v1={_V1}\t", "at the end"),
    ):
        yield draft_refusal(
            f"header/space/{variant}", HONEST, header, f"White space stands {where}.", why, clauses.FORM
        )
    why = "A comma separates two members"
    yield draft_refusal(
        "header/comma/at-the-end", HONEST, f"t={T},v1={_V1},", "A comma ends the header.", why, clauses.FORM
    )
    yield draft_refusal(
        "header/comma/at-the-start", HONEST, f",t={T},v1={_V1}", "A comma begins the header.", why, clauses.FORM
    )
    yield draft_refusal(
        "header/comma/two", HONEST, f"t={T},,v1={_V1}", "Two commas follow each other.", why, clauses.FORM
    )
    why = "A member is a name, an equals sign and a value"
    yield draft_refusal(
        "header/member/without-a-name", HONEST, f"t={T},v1={_V1},=1", "A member has no name.", why, clauses.FORM
    )
    yield draft_refusal(
        "header/member/without-equals", HONEST, f"t={T},v1={_V1},v0", "A member has no equals sign.", why, clauses.FORM
    )
    why = "Members are separated by commas"
    yield draft_refusal(
        "header/separator/semicolon", HONEST, f"t={T};v1={_V1}", "A semicolon separates the members.", why
    )
    yield draft_refusal(
        "header/separator/ampersand", HONEST, f"t={T}&v1={_V1}", "An ampersand separates the members.", why
    )
    yield draft_refusal("header/separator/colon", HONEST, f"t:{T},v1:{_V1}", "Colons stand for equals signs.", why)


def second_scheme() -> Iterator[Draft]:
    """Yield headers without a usable v2, to receivers that go by it."""
    why = "Who goes by v2 must not fall back to v1 when somebody takes v2 away"
    v1, v2 = f"t={T},v1={_V1}", _V2.v2
    yield draft_refusal("header/no-v2/left-out", _V2, v1, "The header has no v2.", why, clauses.V2)
    yield draft_refusal("header/no-v2/no-value", _V2, f"{v1},v2=", "v2 has no value.", why, clauses.V2)
    why = "v2 is 96 digits in lower-case hex"
    yield draft_refusal(
        "header/v2-form/two-thirds", _V2, f"{v1},v2={v2[:64]}", "A third of v2 is missing.", why, clauses.V2
    )
    yield draft_refusal("header/v2-form/capitals", _V2, f"{v1},v2={v2.upper()}", "v2 is in capitals.", why, clauses.V2)
    v2_base64 = base64.b64encode(bytes.fromhex(v2)).decode()
    yield draft_refusal("header/v2-form/base64", _V2, f"{v1},v2={v2_base64}", "v2 is base64.", why, clauses.V2)
