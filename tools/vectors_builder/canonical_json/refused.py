"""Texts without a canonical form: no JSON, no UTF-8, a member twice, half a character, a number out of range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.vectors_builder.canonical_json.making import draft_refusal
from tools.vectors_builder.drafting import Draft

_MARK: Final = ("profile 1.1 P-CV-02: a byte order mark counts as not JSON (RFC 8259 8.1 lets a parser ignore it)",)
_EXACT: Final = ("profile 1.1 P-CV-20: an integer beyond 2^53 - 1 has no canonical form (RFC 7493 2.2 only advises)",)


def encodings() -> Iterator[Draft]:
    """Yield bytes that are not UTF-8."""
    stage = "encoding"
    why = "A mark that one parser drops and another hashes"
    mark = "The text begins with a byte order mark."
    yield draft_refusal(stage, "byte-order-mark", "before-an-object", b'\xef\xbb\xbf{"a":1}', mark, why, _MARK)
    why = "JSON that is exchanged is UTF-8 (RFC 8259 8.1); a lenient decoder turns other bytes into characters"
    for variant, data, fault in (
        ("overlong", b'"\xc0\xaf"', "A solidus is encoded in two bytes."),
        ("lone-continuation", b'"\x80"', "A continuation byte stands alone."),
        ("cut-off", b'"\xe2\x82"', "The third byte of a character is missing."),
    ):
        yield draft_refusal(stage, "not-utf-8", variant, data, fault, why)
    fault = "Half of a surrogate pair is encoded in three bytes."
    yield draft_refusal(stage, "surrogate-in-utf-8", "half", b'"\xed\xa0\x80"', fault, why)
    fault = "A character beyond U+FFFF is encoded as two surrogates of three bytes each (CESU-8)."
    yield draft_refusal(stage, "surrogate-in-utf-8", "pair", b'"\xed\xa0\xbd\xed\xb8\x80"', fault, why)
    yield draft_refusal(
        stage, "beyond-unicode", "u110000", b'"\xf4\x90\x80\x80"', "A code point is above U+10FFFF.", why
    )
    yield draft_refusal(stage, "latin-1", "e-acute", b'{"caf\xe9":1}', "A letter is encoded in Latin-1.", why)
    why = "UTF-16 was allowed once (RFC 4627) and is not any more"
    for variant, codec, mark in (
        ("little-endian", "utf-16-le", ""),
        ("big-endian", "utf-16-be", ""),
        ("with-mark", "utf-16-le", "\ufeff"),
    ):
        data = (mark + '{"a":1}').encode(codec)
        yield draft_refusal(stage, "utf-16", variant, data, "The text is encoded in UTF-16.", why)


_SCRIPT: Final = "JavaScript allows it, JSON does not"
_NOT_JSON: Final[tuple[tuple[str, str, str, str, str], ...]] = (
    ("nothing", "no-bytes", "", "There is no text.", "Nothing is no value"),
    ("nothing", "white-space-alone", " \n", "There is white space alone.", "Nothing is no value"),
    ("cut-off", "object", '{"a":1', "The closing brace is missing.", "A stream that ended early"),
    ("cut-off", "string", '["a', "A string does not end.", "A stream that ended early"),
    ("cut-off", "literal", "[tru", "A literal is not finished.", "A stream that ended early"),
    ("trailing-comma", "array", "[1,]", "A comma stands after the last value.", _SCRIPT),
    ("trailing-comma", "object", '{"a":1,}', "A comma stands after the last member.", _SCRIPT),
    ("comma", "missing", '["a" "b"]', "No comma stands between two values.", "A separator is needed"),
    ("comma", "twice", "[1,,2]", "Two commas follow each other.", "JavaScript reads a hole there"),
    ("comma", "first", "[,1]", "A comma stands before the first value.", "JavaScript reads a hole there"),
    ("colon", "missing", '{"a" 1}', "No colon stands after a name.", "A separator is needed"),
    ("colon", "equals-sign", '{"a"=1}', "An equals sign stands for the colon.", "A separator is needed"),
    ("comment", "line", '{"a":1} // one', "A comment follows the value.", "JSON has no comments"),
    ("comment", "block", '{/* one */"a":1}', "A comment stands before a name.", "JSON has no comments"),
    ("comment", "hash", "# one\n1", "A comment of a configuration file comes first.", "JSON has no comments"),
    ("quotes", "single", "['a']", "A string has single quotes.", _SCRIPT),
    ("quotes", "none-about-a-name", "{a:1}", "A name has no quotes.", _SCRIPT),
    ("quotes", "curly", "[\u201ca\u201d]", "A string has the quotes of a text editor.", "They look alike"),
    ("leading-zero", "one", "01", "A zero leads a number.", "Octal to some readers, decimal to others"),
    ("leading-zero", "negative", "-01", "A zero leads a negative number.", "Octal to some readers, decimal to others"),
    ("leading-zero", "before-a-fraction", "[00.5]", "Two zeros stand before the point.", "Only one zero may"),
    ("number-form", "plus-sign", "+1", "A number has a plus sign.", "Only an exponent may have one"),
    ("number-form", "no-digit-before-the-point", ".5", "No digit stands before the point.", _SCRIPT),
    ("number-form", "no-digit-after-the-point", "5.", "No digit stands after the point.", _SCRIPT),
    ("exponent-form", "empty", "1e", "An exponent has no digits.", "Some readers take it for one"),
    ("exponent-form", "sign-alone", "[1E+]", "An exponent has a sign and no digits.", "Some readers take it for one"),
    ("exponent-form", "with-a-fraction", "1e1.5", "An exponent has a fraction.", "An exponent is a whole number"),
    ("digits", "hexadecimal", "0x10", "A number is hexadecimal.", _SCRIPT),
    ("digits", "underscore", "1_000", "Digits are grouped by an underscore.", "Python's int() allows it"),
    ("digits", "fullwidth", "[\uff11]", "A digit is not ASCII.", "Readers that ask whether it is a digit say yes"),
    ("sign", "alone", "-", "A sign has no number.", "A cut-off number"),
    ("sign", "twice", "--1", "A number has two signs.", "No language should read it"),
    ("sign", "minus-of-unicode", "[\u22121]", "The sign is the minus of Unicode.", "They look alike"),
    ("literal", "capital", "[True]", "A literal begins with a capital.", "Python's spelling"),
    ("literal", "undefined", '{"a":undefined}', "A value is undefined.", "JavaScript's own word"),
    ("literal", "too-long", "nulll", "A letter follows a literal.", "A reader that compares a beginning takes it"),
    ("control-character", "line-feed", '"a\nb"', "A line feed in a string is not escaped.", "It must be (RFC 8259 7)"),
    ("control-character", "tab", '"a\tb"', "A tab in a string is not escaped.", "It must be (RFC 8259 7)"),
    ("control-character", "nul", '"a\x00b"', "NUL in a string is not escaped.", "A string of C ends here"),
    ("escape", "hexadecimal", r'"\x41"', "An escape has two digits.", _SCRIPT),
    ("escape", "single-quote", r'''"\'"''', "A single quote is escaped.", _SCRIPT),
    ("escape", "bad-digit", r'"\u12G4"', "An escape has a letter that is no digit.", "A reader may stop before it"),
    ("escape-length", "three-digits", r'"\u041"', "An escape has three digits.", "It needs four"),
    ("escape-length", "braces", r'"\u{1f600}"', "An escape has its digits in braces.", _SCRIPT),
    ("escape-length", "sign", r'"\u+041"', "An escape has a sign.", "A reader of numbers takes it"),
    ("space", "no-break", "\u00a01", "A no-break space comes first.", "JSON has four kinds of white space"),
    ("space", "form-feed", "[1\f]", "A form feed stands between tokens.", "JSON has four kinds of white space"),
    ("space", "line-separator", "[1,\u20282]", "A line separator stands between tokens.", "White space elsewhere"),
    ("two-documents", "objects", '{"a":1}{"a":2}', "A second text follows.", "Which of them is signed?"),
    ("two-documents", "on-two-lines", "1\n2", "A second text follows on its own line.", "Lines of JSON are no JSON"),
    ("two-documents", "bracket", "[1]]", "A bracket closes nothing.", "A reader that stops at the end of a value"),
    ("brackets", "crossed", '[{"a":1]}', "Brackets are closed in the wrong order.", "A reader that counts only"),
    ("brackets", "other-kind", "[1}", "A brace closes a bracket.", "A reader that counts only"),
    ("brackets", "twenty-thousand-open", "[" * 20_000, "Twenty thousand brackets stay open.", "Stack runs out"),
    ("member-name", "number", '{"a":1,2:3}', "A name is a number.", "Names are strings"),
    ("member-name", "missing", "{:1}", "A member has no name.", "Names are strings"),
    ("member-name", "value-missing", '{"a":}', "A member has no value.", "A reader that takes nothing for null"),
    ("foreign", "nul-after", '{"a":1}\x00', "NUL follows the text.", "A string of C ends before it"),
    ("foreign", "record-separator", '\x1e{"a":1}', "A record separator comes first.", "That is RFC 7464"),
    ("foreign", "guard", ")]}',\n[1]", "A guard against scripts comes first.", "Some answers begin with it"),
)  # fmt: skip


def not_json() -> Iterator[Draft]:
    """Yield UTF-8 that does not parse as JSON (RFC 8259)."""
    for fault_name, variant, text, fault, why in _NOT_JSON:
        yield draft_refusal("not_json", fault_name, variant, text, fault, why)


def duplicates() -> Iterator[Draft]:
    """Yield objects with two members of one name: readers take the first, the last or both."""
    stage, why = "duplicate_members", "Readers take the first or the last, so two see two documents (RFC 8785 3.1)"
    yield draft_refusal(stage, "same-name", "two-values", '{"a":1,"a":2}', "Two members have one name.", why)
    yield draft_refusal(
        stage, "same-name", "one-value", '{"a":1,"b":2,"a":1}', "Two members have one name and one value.", why
    )
    yield draft_refusal(stage, "same-name", "empty", '{"":1,"":2}', "Two members have the empty name.", why)
    fault = "Two members have one name, once spelled with an escape."
    yield draft_refusal(stage, "other-spelling", "escaped-letter", '{"a":1,"\\u0061":2}', fault, why)
    yield draft_refusal(stage, "other-spelling", "digits-in-both-cases", '{"\\u00EF":1,"\\u00ef":2}', fault, why)
    yield draft_refusal(stage, "other-spelling", "surrogate-pair", '{"\U0001f600":1,"\\ud83d\\ude00":2}', fault, why)
    fault = "Two members of an inner object have one name."
    yield draft_refusal(stage, "nested", "in-an-object", '{"a":{"b":1,"b":2}}', fault, why)
    yield draft_refusal(stage, "nested", "in-an-array", '[{"a":1},{"b":1,"b":null}]', fault, why)
    yield draft_refusal(stage, "nested", "deeper", '{"a":[{"b":1,"b":2}],"c":0}', fault, why)


def halves() -> Iterator[Draft]:
    """Yield strings with half of a surrogate pair."""
    stage, why = "string", "Half a character has no UTF-8; a lenient encoder writes something else (RFC 8785 3.2.2.2)"
    fault = "A string has half of a surrogate pair."
    yield draft_refusal(stage, "lone-surrogate", "high", r'"\ud83d"', fault, why)
    yield draft_refusal(stage, "lone-surrogate", "low", r'["\udead"]', fault, why)
    yield draft_refusal(
        stage, "lone-surrogate", "reversed", r'"\ude00\ud83d"', "The halves of a pair stand in the wrong order.", why
    )
    fault = "A name has half of a surrogate pair."
    yield draft_refusal(stage, "lone-surrogate-in-a-name", "high", r'{"\ud83d":1}', fault, why)
    yield draft_refusal(stage, "lone-surrogate-in-a-name", "nested", r'{"a":[{"b\udc00":1}]}', fault, why)
    fault = "A character stands between the halves of a pair."
    yield draft_refusal(stage, "parted-pair", "by-a-letter", r'"\ud83da\ude00"', fault, why)


def out_of_range() -> Iterator[Draft]:
    """Yield numbers that binary64 has not, and integers that it cannot tell from their neighbours."""
    stage, why = "number", "It is read as infinity, which has no form (RFC 8785 3.1)"
    fault = "A number is outside binary64."
    yield draft_refusal(stage, "outside-binary64", "large", "1e400", fault, why)
    yield draft_refusal(stage, "outside-binary64", "negative", '{"a":[-1e400]}', fault, why)
    yield draft_refusal(stage, "outside-binary64", "just-above", "1.7976931348623159e308", fault, why)
    why = "A literal of JavaScript that several readers take"
    for text in ("NaN", "Infinity", "-Infinity"):
        variant = {"-": "minus-infinity", "N": "nan", "I": "infinity"}[text[0]]
        yield draft_refusal(stage, "literal", variant, f'{{"a":{text}}}', f"A value is {text}.", why)
    why = "A neighbour is read as the same number, so an amount may change under a hash that holds"
    fault = "An integer is beyond 2^53 - 1."
    yield draft_refusal(stage, "inexact-integer", "two-to-the-53rd", "9007199254740992", fault, why, _EXACT)
    yield draft_refusal(stage, "inexact-integer", "odd", "[-9007199254740993]", fault, why, _EXACT)
    yield draft_refusal(stage, "inexact-integer", "thirty-digits", "123456789012345678901234567890", fault, why, _EXACT)
