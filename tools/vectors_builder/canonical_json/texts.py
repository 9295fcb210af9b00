"""Everything but numbers that has a canonical form: space, order of members, strings, nesting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.canonical_json.making import holds
from tools.vectors_builder.drafting import Draft

_NONCHARACTER: Final = (
    "profile 1.1 P-CV-07: JCS is RFC 8785, which wants Unicode; RFC 7493 2.1 forbids noncharacters",
)
_DEPTH: Final = ("profile 1.1 P-CV-02 limits bodies alone; RFC 8259 9 lets an implementation limit depth",)


def structure() -> Iterator[Draft]:
    """Yield literals, what is empty, and white space."""
    yield holds("literals", "null-alone", "null", "null", "A text need not be an object (RFC 8259)")
    yield holds("literals", "in-an-array", "[ true , false , null ]", "[true,false,null]", "Arrays keep their order")
    yield holds("literals", "string-alone", '"true"', '"true"', "A string that looks like a literal stays a string")
    yield holds("empty", "object", "{ }", "{}", "Nothing between the braces")
    yield holds("empty", "array", "[\n]", "[]", "Nothing between the brackets")
    yield holds("empty", "string", '[""]', '[""]', "A string without characters")
    why = "Space, tab, line feed and carriage return stand between tokens and are dropped"
    yield holds("white-space", "around", ' \t\r\n{"a":1}\n\r\t ', '{"a":1}', why)
    yield holds("white-space", "between-all-tokens", '{ "a"\t:\n[ 1\r,\t2 ] }', '{"a":[1,2]}', why)
    yield holds("white-space", "in-strings", '{" a ": "  b "}', '{" a ":"  b "}', "In strings and names it is kept")


def members() -> Iterator[Draft]:
    """Yield objects whose members have to be sorted, by UTF-16 code units of their names."""
    text = '{"b":1,"a":2,"B":3,"_":4,"10":5,"2":6,"é":7}'
    form = '{"10":5,"2":6,"B":3,"_":4,"a":2,"b":1,"é":7}'
    yield holds("member-order", "by-code-unit", text, form, "Digits, capitals, small letters: no locale, no numbers")
    yield holds(
        "member-order",
        "prefix",
        '{"aa":1,"a":2,"a\\u0000":3,"":4}',
        '{"":4,"a":2,"a\\u0000":3,"aa":1}',
        "The shorter first",
    )
    text, form = (
        '{"z":[{"y":1,"x":2}],"a":{"d":{"f":1,"e":2},"c":3}}',
        '{"a":{"c":3,"d":{"e":2,"f":1}},"z":[{"x":2,"y":1}]}',
    )
    yield holds("member-order", "nested", text, form, "Objects are sorted at every depth, in arrays too")
    why = "By UTF-16 a character beyond U+FFFF comes before U+E000 to U+FFFF; by code point or UTF-8 it does not"
    yield holds(
        "utf16-order", "emoji-and-presentation-form", '{"\ufb33":1,"\U0001f600":2}', '{"\U0001f600":2,"\ufb33":1}', why
    )
    yield holds(
        "utf16-order",
        "private-use",
        '{"\ue000":1,"\U00010000":2,"\ud7ff":3}',
        '{"\ud7ff":3,"\U00010000":2,"\ue000":1}',
        why,
    )
    yield holds(
        "utf16-order", "after-a-common-start", '{"a\uff61":1,"a\U0002f800":2}', '{"a\U0002f800":2,"a\uff61":1}', why
    )
    yield holds("member-name", "empty", '{"a":1,"":2}', '{"":2,"a":1}', "An empty name is a name, and the first")
    text, form = '{"b":1,"__proto__":{"a":2},"constructor":3}', '{"__proto__":{"a":2},"b":1,"constructor":3}'
    yield holds("member-name", "of-a-prototype", text, form, "Names that mean something to a language are names")
    why = "Sorted by what a name is, not by how it is spelled"
    yield holds("member-name", "spelled-with-escapes", '{"b":1,"\\u0061":2}', '{"a":2,"b":1}', why)
    why = "Nothing is normalised: what looks alike stays two members"
    yield holds("normalisation", "names", '{"\u00e9":1,"e\u0301":2}', '{"e\u0301":2,"\u00e9":1}', why)
    yield holds("normalisation", "strings", '["\u212b","\u00c5","A\u030a"]', '["\u212b","\u00c5","A\u030a"]', why)
    yield holds("normalisation", "ligature", '["\ufb01","fi"]', '["\ufb01","fi"]', why)


def strings() -> Iterator[Draft]:
    """Yield strings: what is escaped, how, and what is not."""
    why = "Five control characters have an escape of two characters"
    yield holds("short-escapes", "from-code-points", r'"\u0008\u0009\u000a\u000C\u000d"', r'"\b\t\n\f\r"', why)
    yield holds("short-escapes", "kept", r'"\b\f\n\r\t"', r'"\b\f\n\r\t"', why)
    yield holds(
        "short-escapes",
        "quote-and-backslash",
        r'"\u0022\u005c\u005C"',
        r'"\"\\\\"',
        "Two more characters must be escaped",
    )
    why = "Other control characters are written with four digits, in small letters"
    yield holds("control-escapes", "unit-separator", r'"\u001F"', r'"\u001f"', why)
    yield holds("control-escapes", "nul", r'"\u0000"', r'"\u0000"', why)
    yield holds("control-escapes", "vertical-tab-and-others", r'"\u000B\u001b\u0001"', r'"\u000b\u001b\u0001"', why)
    yield holds("no-escapes", "solidus", r'"\/\u002F/"', '"///"', "A solidus needs no escape")
    yield holds(
        "no-escapes",
        "delete",
        r'"\u007f\u0080"',
        '"\x7f\x80"',
        "Control characters above U+001F are written as they are",
    )
    text, form = r'"\u2028\u2029\u003c\u0026\u0027"', '"\u2028\u2029<&\'"'
    yield holds("no-escapes", "line-separators-and-markup", text, form, "Neither JavaScript nor HTML is asked")
    yield holds("unicode", "euro", r'"\u20AC"', '"€"', "What needs no escape is written in UTF-8")
    yield holds(
        "unicode",
        "surrogate-pair",
        r'"\ud83d\ude00\uDBFF\uDFFD"',
        '"\U0001f600\U0010fffd"',
        "Two escapes are one character of four bytes",
    )
    yield holds(
        "unicode",
        "literal",
        '"\u05d0\u202e\u200d\ufeff\U0001f468"',
        '"\u05d0\u202e\u200d\ufeff\U0001f468"',
        "Marks that show nothing are kept",
    )
    why = "RFC 8785 takes every character of Unicode; RFC 7493 forbids these"
    yield holds("noncharacter", "last-of-the-plane", r'"\uffff"', '"\uffff"', why, _NONCHARACTER)
    yield holds("noncharacter", "in-the-middle", '"\ufdd0"', '"\ufdd0"', why, _NONCHARACTER)


def nesting() -> Iterator[Draft]:
    """Yield deep texts, and the text of a request hash."""
    why = "As deep as a request body may be"
    yield holds("nesting", "thirty-two-arrays", "[ " * 32 + "]" * 32, "[" * 32 + "]" * 32, why, _DEPTH)
    why = "A hundred levels are no attack yet"
    yield holds("nesting", "hundred-arrays", "[" * 100 + "]" * 100 + "\n", "[" * 100 + "]" * 100, why, _DEPTH)
    yield holds(
        "nesting", "hundred-objects", '{"a": ' * 100 + "1" + "}" * 100, '{"a":' * 100 + "1" + "}" * 100, why, _DEPTH
    )
    head, tail = '"method":"POST","path":"/pay/v1/verify/receipt"', '"query":"","service_id":"receipt-verify"'
    text, form = f'{{{tail},{head}, "body": {{"jws": "a.b.c"}}}}', f'{{"body":{{"jws":"a.b.c"}},{head},{tail}}}'
    yield holds("hashed", "request", text, form, "The text whose hash a receipt binds the request by (P-RH-01)")
    text, form = '{"verified": true, "error_code": null}', '{"error_code":null,"verified":true}'
    yield holds("hashed", "response", text, form, "The text whose hash a receipt binds the response by (P-RH-02)")
