"""Payloads that are not objects, of another canonical form, or not in canonical form; each has a true signature."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.oracles.hash_recipes import jcs_bytes
from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.material import (
    ATTESTATION,
    COMPLIANCE,
    KINDS,
    PAYABLE,
    draft_refusal,
    over,
    without,
)

_ROW = "GW-RCPT-19"


def drafts() -> Iterator[Draft]:
    """Yield them."""
    yield from _no_object()
    yield from _not_strict()
    yield from _versions()
    yield from _white_space()
    yield from _escapes()
    yield from _numbers()
    yield from _members_twice()
    yield from _no_form()


def with_member(name: str, value: str) -> bytes:
    """Return a compliance receipt's canonical payload with one more member, which stands last, as text."""
    return jcs_bytes(dict(COMPLIANCE))[:-1] + f',"{name}":{value}}}'.encode()


def _bad(stage: str, variant: str, payload: bytes, fault: str, why: str, *pins: str) -> Draft:
    return draft_refusal(stage, variant, over(payload), fault, why, _ROW, pins=pins)


def _no_object() -> Iterator[Draft]:
    whole = jcs_bytes(dict(COMPLIANCE))
    why = "a payload is a JSON object, whatever signed it"
    for name, payload in (("words", b"ALLOW"), ("half", whole[: len(whole) // 2]), ("quotes", _single_quotes())):
        yield _bad("payload/not_json", name, payload, "the payload is not JSON", why)
    for name, payload in (("array", b"[" + whole + b"]"), ("text", b'"ALLOW"'), ("number", b"1")):
        yield _bad("payload/no_object", name, payload, f"the payload is JSON, and no object: {name}", why)
    for name, payload in (("null", b"null"), ("true", b"true"), ("text_of_json", json.dumps(whole.decode()).encode())):
        yield _bad("payload/no_object_either", name, payload, "the payload is JSON, and no object", why)
    why = "JSON is UTF-8 (RFC 8259 section 8.1)"
    for name, payload in (
        ("latin_1", with_member("note", '"é"').decode().encode("latin-1")),
        ("utf_16", whole.decode().encode("utf-16-le")),
        ("surrogate", with_member("note", '"~"').replace(b"~", b"\xed\xa0\xbd\xed\xb8\x80")),
    ):
        yield _bad("payload/not_utf8", name, payload, "the payload is not UTF-8", why)


def _single_quotes() -> bytes:
    return jcs_bytes(dict(COMPLIANCE)).replace(b'"', b"'")


def _not_strict() -> Iterator[Draft]:
    why = "what some parsers read beyond JSON is no receipt"
    strict = "P-CV-02"
    for name, value in (("nan", "NaN"), ("infinity", "Infinity"), ("minus_infinity", "-Infinity")):
        payload = with_member("x", value)
        yield _bad("payload/no_number_of_json", name, payload, f"a member is {value}", why, strict)
    for name, payload in (
        ("comment", with_member("x", "1/**/")),
        ("comma", with_member("x", "1,")),
        ("leading_zero", with_member("x", "01")),
    ):
        yield _bad("payload/javascript", name, payload, "the payload is JavaScript and not JSON", why, strict)
    whole = jcs_bytes(dict(COMPLIANCE))
    for name, more in (("object", whole), ("word", b"x"), ("nul", b"\0")):
        yield _bad("payload/trailing", name, whole + more, "something stands after the object", why, strict)
    for name, letter in (("line_end", "\n"), ("tab", "\t"), ("nul", "\0")):
        payload = with_member("x", f'"a{letter}b"')
        yield _bad(
            "payload/raw_control", name, payload, "a control character stands in a text, not escaped", why, strict
        )
    with_byte_order_mark = b"\xef\xbb\xbf" + whole
    yield _bad(
        "payload/byte_order_mark", "utf_8", with_byte_order_mark, "a byte order mark begins the payload", why, strict
    )
    why = "32 levels of nesting are the most that is read"
    for name, opening_text, right in (("arrays", "[", "]"), ("objects", '{"a":', "}")):
        payload = with_member("x", opening_text * 32 + "0" + right * 32)
        yield _bad("payload/depth", name, payload, "the payload nests 33 levels deep", why, strict)


def _versions() -> Iterator[Draft]:
    why = "a form that is not named is not guessed"
    pin = "profile 2.4 step 6"
    for kind, claims in KINDS.items():
        payload = jcs_bytes(without(claims, "canon_version"))
        yield _bad("canon_version/absent", kind, payload, "there is no canon_version", why, pin)
        payload = jcs_bytes({**claims, "canon_version": None})
        yield _bad("canon_version/null", kind, payload, "canon_version is null", why, pin)
    for name, value in (("v2", "jcs-rfc8785-v2"), ("cbor", "dcbor-v1"), ("empty", "")):
        payload = jcs_bytes({**COMPLIANCE, "canon_version": value})
        yield _bad("canon_version/another", name, payload, f"canon_version is {name}", why, pin)
    why = "the name is compared letter by letter"
    for name, value in (
        ("upper_case", "JCS-RFC8785-V1"),
        ("space_after", "jcs-rfc8785-v1 "),
        ("line_end_after", "jcs-rfc8785-v1\n"),
    ):
        payload = jcs_bytes({**PAYABLE, "canon_version": value})
        yield _bad("canon_version/spelling", name, payload, "canon_version is spelled otherwise", why, pin)
    for name, other_version in (("number", 1), ("array", ["jcs-rfc8785-v1"]), ("object", {"name": "jcs-rfc8785-v1"})):
        payload = jcs_bytes({**ATTESTATION, "canon_version": other_version})
        yield _bad("canon_version/no_text", name, payload, "canon_version is no text", why, pin)


_CANONICAL = ("profile 2.4 step 7",)


def _plain(stage: str, variant: str, payload: bytes, fault: str, why: str) -> Draft:
    return _bad(f"canonical/{stage}", variant, payload, fault, why, *_CANONICAL)


def _white_space() -> Iterator[Draft]:
    why = "canonical JSON has no white space (RFC 8785 section 3.2.1)"
    for (kind, claims), indent in zip(KINDS.items(), (None, 1, 2), strict=True):
        payload = json.dumps(claims, indent=indent, sort_keys=True).encode()
        yield _plain("white_space", kind, payload, "white space stands in the payload", why)
    whole = jcs_bytes(dict(COMPLIANCE))
    for name, payload in (
        ("line_end_after", whole + b"\n"),
        ("space_before", b" " + whole),
        ("tab", b"{\t" + whole[1:]),
    ):
        yield _plain("white_space_around", name, payload, "one white space stands at an end of the payload", why)
    why = "members stand in the order of their names (RFC 8785 section 3.2.3)"
    for kind, claims in KINDS.items():
        payload = json.dumps(dict(reversed(list(claims.items()))), separators=(",", ":")).encode()
        yield _plain("order", kind, payload, "members are not in order", why)
    why = "names are ordered by UTF-16 code units, also in objects within"
    # U+FB33 stands before U+1F600 as code points and bytes, after its first surrogate as code units.
    by_code_point = with_member("z", '{"\ufb33":1,"\U0001f600":2}')
    nested_member = with_member("z", '{"b":1,"a":2}')
    numbers = with_member("z", '{"2":1,"10":2}')
    for name, payload in (("by_code_point", by_code_point), ("nested", nested_member), ("by_number", numbers)):
        yield _plain("order_within", name, payload, "members of an object within are not in order", why)


def _escapes() -> Iterator[Draft]:
    why = "a text has one spelling: what need not be escaped is not (RFC 8785 section 3.2.2.2)"
    for name, value in (("letter", "\\u0041"), ("stroke", "\\/"), ("beyond_ascii", "\\u00e9")):
        payload = with_member("x", f'"{value}"')
        yield _plain("needless_escape", name, payload, "a letter is escaped without need", why)
    for name, value in (("emoji", "\\ud83d\\ude00"), ("delete", "\\u007f"), ("line_separator", "\\u2028")):
        payload = with_member("x", f'"{value}"')
        yield _plain("needless_escape_of", name, payload, "a character is escaped without need", why)
    for name, value in (("upper_case", "\\u001F"), ("tab", "\\u0009"), ("quote", "\\u0022")):
        payload = with_member("x", f'"{value}"')
        yield _plain("escape_of_another_form", name, payload, "an escape is not in its one form", why)
    payload = jcs_bytes(dict(COMPLIANCE)).replace(b'"screen_result"', b'"screen_resul\\u0074"')
    yield _plain("name_escaped", "letter", payload, "a letter of a member's name is escaped", why)


def _numbers() -> Iterator[Draft]:
    why = "a number has one spelling, that of ECMAScript (RFC 8785 section 3.2.2.3)"
    groups: dict[str, tuple[tuple[str, str], ...]] = {
        "number_fraction": (("whole", "1.0"), ("zero", "0.0"), ("trailing_zero", "0.50")),
        "number_exponent": (("e2", "1e2"), ("capital", "1E+21"), ("no_sign", "1e21")),
        "number_exponent_due": (("small", "0.0000001"), ("small_plain", "1e-6"), ("leading_zero", "1e-07")),
        "number_sign": (("minus_zero", "-0"), ("minus_zero_fraction", "-0.0")),
        "number_digits": (
            ("too_many", "333333333.33333329"),
            ("beyond_binary64", "0.1000000000000000055"),
            ("e22", "10000000000000000000000.0"),
        ),
    }
    for stage, spellings in groups.items():
        for name, text in spellings:
            payload = with_member("x", text)
            yield _plain(stage, name, payload, f"a number is written {text}", why)
    why = "integers beyond 2^53 - 1 are not the same for every reader (P-CV-20)"
    for name, number in (("two_to_53", 2**53), ("minus_two_to_53", -(2**53)), ("two_to_64", 2**64)):
        payload = with_member("x", str(number))
        fault = "an integer is beyond 2^53 - 1"
        yield _bad("canonical/large_integer", name, payload, fault, why, *_CANONICAL, "P-CV-20")
    why = "a number outside binary64 has no canonical form"
    for name, text in (("exponent", "1e400"), ("minus", "-1e400")):
        payload = with_member("x", text)
        fault = "a number is outside binary64"
        yield _bad("canonical/number_outside", name, payload, fault, why, *_CANONICAL, "P-CV-20")


def _members_twice() -> Iterator[Draft]:
    why = "two readers that take another of two members read two receipts (RFC 8785 section 3.1)"
    whole = jcs_bytes(dict(COMPLIANCE))
    same_member = whole.replace(b'"screen_result":"ALLOW"', b'"screen_result":"ALLOW","screen_result":"ALLOW"')
    other_member = whole.replace(b'"screen_result":"ALLOW"', b'"screen_result":"DENY","screen_result":"ALLOW"')
    version = whole.replace(b'{"canon_version"', b'{"canon_version":"jcs-rfc8785-v1","canon_version"')
    for name, payload in (("same", same_member), ("another_first", other_member), ("canon_version", version)):
        yield _plain("member_twice", name, payload, "a member stands twice", why)
    for name, value in (
        ("nested", '{"a":1,"a":1}'),
        ("in_array", '[{"a":1,"a":2}]'),
        ("escaped", '{"a":1,"\\u0061":1}'),
    ):
        yield _plain(
            "member_twice_within", name, with_member("x", value), "a member of an object within stands twice", why
        )


def _no_form() -> Iterator[Draft]:
    why = "half of a surrogate pair is no character and has no UTF-8 (RFC 8785 section 3.2.2.2)"
    values: tuple[tuple[str, Any], ...] = (("high", '"\\ud83d"'), ("low", '"\\ude00"'), ("swapped", '"\\ude00\\ud83d"'))
    for name, value in values:
        yield _plain("lone_surrogate", name, with_member("x", value), "a text holds half of a surrogate pair", why)
    payload = with_member("x", '{"\\ud83d":1}')
    yield _plain("lone_surrogate_in_name", "nested", payload, "a name holds half of a surrogate pair", why)
