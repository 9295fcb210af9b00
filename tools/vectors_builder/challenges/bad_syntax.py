"""Texts that are not tokens. Each has true halves over its parts as they are written, so only its form is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tools.vectors_builder.challenges.drafting import ALL_MEMBERS, PINS, UNIX, UNKNOWN, Offer
from tools.vectors_builder.drafting import Draft

_LENIENT: Final = "a lenient reader would take it for a second spelling of a good token, and spend it twice"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _times()
    yield from _nonces()
    for fault_name, variant, respell, fault in _RESPELLINGS:
        offer = Offer(f"{fault_name} {variant}")
        yield _draft_refusal(fault_name, variant, offer, respell(offer.token()), fault, _LENIENT)


def _times() -> Iterator[Draft]:
    texts = (
        ("time-length", "nine-digits", "999999999", "the issue time has nine digits"),
        ("time-length", "twelve-digits", "176722560000", "the issue time has twelve digits"),
        ("time-length", "milliseconds", f"{UNIX}000", "the issue time is in milliseconds"),
        ("time-form", "leading-zero", f"0{UNIX}", "the issue time begins with a zero"),
        ("time-form", "plus-sign", f"+{UNIX}", "the issue time has a sign"),
        ("time-form", "fraction", f"{UNIX}.0", "the issue time has a fraction"),
        ("time-digits", "arabic-indic", _in_digits(UNIX, 0x660), "the issue time is in Arabic-Indic digits"),
        ("time-digits", "full-width", _in_digits(UNIX, 0xFF10), "the issue time is in full-width digits"),
        ("time-digits", "underscore", "1_767_225_600", "the issue time has underscores between its digits"),
        ("time-digits-hex", "lower-case", f"0x{UNIX:x}", "the issue time is in hexadecimal"),
    )
    for fault_name, variant, text, fault in texts:
        offer = Offer(f"{fault_name} {variant}", issued_at=text)
        yield _draft_refusal(fault_name, variant, offer, offer.token(), fault, _LENIENT)


def _nonces() -> Iterator[Draft]:
    texts = (
        ("nonce-length", "fifteen", "0123456789abcde", "the nonce has fifteen digits"),
        ("nonce-length", "seventeen", "0123456789abcdef0", "the nonce has seventeen digits"),
        ("nonce-length", "none", "", "the nonce is missing"),
        ("nonce-digits", "upper-case", "0123456789ABCDEF", "the nonce is in upper case"),
        ("nonce-digits", "no-hex", "0123456789abcdeg", "the nonce has a letter that is no hex digit"),
        ("nonce-digits", "full-width", "\uff10123456789abcdef", "the nonce has a full-width digit"),
    )
    for fault_name, variant, text, fault in texts:
        offer = Offer(f"{fault_name} {variant}", nonce=text)
        yield _draft_refusal(fault_name, variant, offer, offer.token(), fault, _LENIENT)


def _draft_refusal(fault_name: str, variant: str, offer: Offer, token: str, fault: str, why: str) -> Draft:
    return Draft(
        stage="syntax",
        fault_name=fault_name,
        variant=variant,
        input=offer.input(token),
        why=why,
        requirements=("RAIL-WELD-07",),
        fault=fault,
        codes=UNKNOWN,
        pinned_members=ALL_MEMBERS,
        pins=PINS,
    )


def _in_digits(number: int, zero: int) -> str:
    return "".join(chr(zero + int(digit)) for digit in str(number))


def _upper_mac(token: str) -> str:
    unix, nonce, mac = token.split(":")
    return f"{unix}:{nonce}:{mac.upper()}"


def _colons(separator: str) -> Callable[[str], str]:
    return lambda token: token.replace(":", separator)


_RESPELLINGS: Final[tuple[tuple[str, str, Callable[[str], str], str], ...]] = (
    ("mac-length", "half-a-only", lambda token: token[:-32], "the mac ends after half A"),
    ("mac-length", "one-digit-less", lambda token: token[:-1], "the mac has 63 digits"),
    ("mac-length", "one-digit-more", lambda token: token + "0", "the mac has 65 digits"),
    ("mac-digits", "upper-case", _upper_mac, "the mac is in upper case"),
    ("mac-digits", "full-width", lambda token: token[:-1] + "\uff10", "the mac's last digit is full-width"),
    ("mac-digits", "prefix", lambda token: ":".join((*token.split(":")[:2], "0x" + token.split(":")[2])),
     "the mac begins with 0x"),
    ("separator", "dot", _colons("."), "the parts are separated by dots"),
    ("separator", "full-width-colon", _colons("\uff1a"), "the parts are separated by full-width colons"),
    ("separator", "encoded-colon", _colons("%3A"), "the colons are percent-encoded"),
    ("parts", "two", lambda token: token.rpartition(":")[0], "the mac is missing"),
    ("parts", "four", lambda token: token + ":", "there is a fourth part, an empty one"),
    ("parts", "none", lambda _: "", "the token is empty"),
    ("space", "before", lambda token: " " + token, "there is a space before the token"),
    ("space", "line-end", lambda token: token + "\n", "there is a line end after the token"),
    ("space", "within", lambda token: token.replace(":", ": ", 1), "there is a space after the first colon"),
    ("wrapping", "memo-prefix", lambda token: "weldproof:" + token, "the service word stands before the token"),
    ("wrapping", "quotes", lambda token: f'"{token}"', "the token is in quotation marks"),
    ("wrapping", "nul", lambda token: token + "\x00", "there is a NUL after the token"),
)  # fmt: skip
