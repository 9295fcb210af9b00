"""Receipts that hold, over canonical payloads that are easy to get wrong: texts, numbers, order, depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.drafting import Draft
from tools.vectors_builder.receipts.bad_payloads import with_member
from tools.vectors_builder.receipts.material import over, valid

_TOLERANT: Final = ("P-RV-02",)


def drafts() -> Iterator[Draft]:
    """Yield them."""
    why = "letters beyond ASCII stand as they are, in UTF-8 (RFC 8785 section 3.2.2.2)"
    yield _extra("text", "accents", '"Zürich — 中文"', why)
    yield _extra("text", "emoji", '"\U0001f600\U0001f1ea\U0001f1fa"', why)
    yield _extra(
        "text", "not_composed", '"e\u0301 \u1e9b\u0323"', "nothing is composed or normalised (RFC 8785 section 3.1)"
    )
    why = "what looks like a control character and is none stands as it is"
    yield _extra("text_unescaped", "delete", '"\x7f"', why)
    yield _extra("text_unescaped", "line_separators", '"\u2028\u2029"', why)
    yield _extra("text_unescaped", "stroke_and_html", '"</script>&\'"', why)
    why = "control characters have one escape each, in lower-case hex where there is no short one"
    yield _extra("text_escaped", "short", '"\\b\\t\\n\\f\\r"', why)
    yield _extra("text_escaped", "hex", '"\\u0000\\u000b\\u001f"', why)
    yield _extra("text_escaped", "quote_and_backslash", '"\\"\\\\"', why)
    why = "numbers are written as ECMAScript writes them (RFC 8785 section 3.2.2.3)"
    yield _extra("number_exponent", "1e21", "1e+21", why)
    yield _extra("number_exponent", "1e-7", "1e-7", why)
    yield _extra("number_exponent", "smallest_and_largest", "[5e-324,1.7976931348623157e+308]", why)
    yield _extra("number_plain", "0.000001", "0.000001", why)
    yield _extra("number_plain", "zero_from_minus_zero", "0", "what was computed as -0 is written 0")
    yield _extra("number_plain", "fractions", "[0.1,-1.5,333333333.3333333]", why)
    why = "the largest integers that every reader reads alike"
    yield _extra("number_integer", "two_to_53_less_one", "9007199254740991", why)
    yield _extra("number_integer", "negative", "-9007199254740991", why)
    why = "names are ordered by UTF-16 code units (RFC 8785 section 3.2.3)"
    yield _extra("order", "surrogates_before_letters", '{"\U0001f600":1,"\ufb33":2}', why)
    yield _extra("order", "rfc_8785", '{"\\r":1,"1":2,"\x80":3,"ö":4,"€":5,"\U0001f600":6,"\ufb33":7}', why)
    yield _extra("order", "empty_and_digits", '{"":0,"10":1,"2":2,"A":3,"a":4,"aa":5}', why)
    why = "arrays keep their order, and what is empty is written so"
    yield _extra("array", "order", '["b","a",null,true,false]', why)
    yield _extra("array", "empty", '[[],{},""]', why)
    why = "32 levels of nesting are the most that must be read"
    for name, opening_text, right in (("arrays", "[", "]"), ("objects", '{"a":', "}")):
        payload = with_member("x", opening_text * 31 + "0" + right * 31)
        yield valid("depth", f"32_{name}", over(payload), why, payload=payload, pins=(*_TOLERANT, "P-CV-02"))


def _extra(property_name: str, variant: str, value: str, why: str) -> Draft:
    payload = with_member("x", value)
    return valid(f"canonical_{property_name}", variant, over(payload), why, payload=payload, pins=_TOLERANT)
