"""JSON in, RFC 8785 out."""

from __future__ import annotations

import json
from typing import Any

import jcs
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from reference.protocol.canonical_json import (
    DuplicateMember,
    NotCanonical,
    NotJson,
    canonical_and_whole,
    canonicalise,
    parse,
    whole_numbers,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SAFE_INTEGERS = st.integers(-(2**53) + 1, 2**53 - 1)
SCALARS = st.none() | st.booleans() | SAFE_INTEGERS | st.floats(allow_nan=False, allow_infinity=False, width=64) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_canonical_bytes_agree_with_two_other_libraries(value: Any) -> None:
    """The canonical form is byte for byte what rfc8785 and jcs write."""
    expected = rfc8785.dumps(value)
    assert expected == canonicalise(value)
    assert expected == jcs.canonicalize(value)


def test_plain_sorted_json_is_not_the_canonical_form() -> None:
    """The comparison above can fail: sorted JSON of the standard library differs on a float and on a name."""
    value = {"\U0001f600": 1e21, "\ufb33": 1.0}
    plain = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert plain != canonicalise(value)
    assert '{"\U0001f600":1e+21,"\ufb33":1}'.encode() == canonicalise(value)


def test_names_sort_by_utf_16() -> None:
    """An astral name sorts before one from the end of the basic plane, which its UTF-8 bytes would not."""
    assert canonicalise({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


@given(VALUES)
def test_canonical_bytes_are_a_fixed_point(value: Any) -> None:
    """Reading canonical bytes and writing them again changes nothing, where the integers in them are safe ones."""
    canonical = canonicalise(value)
    again = parse(canonical)
    if all(abs(number) < 2**53 for number in _integers(again)):
        assert canonical == canonicalise(again)


def _integers(value: Any) -> list[int]:
    if isinstance(value, dict | list):
        members = value.values() if isinstance(value, dict) else value
        return [number for member in members for number in _integers(member)]
    return [value] if isinstance(value, int) else []


@given(VALUES, st.sampled_from([None, 1, 3]))
def test_reading_agrees_with_the_standard_library(value: Any, indent: int | None) -> None:
    """Any JSON text without duplicates, compact or not, reads as the standard library reads it."""
    text = json.dumps(value, indent=indent)
    assert json.loads(text) == parse(text.encode())
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert json.loads(compact) == parse(compact.encode())


@given(st.dictionaries(TEXT, SCALARS, min_size=1, max_size=4), st.data())
def test_a_member_named_twice_is_refused(members: dict[str, Any], data: st.DataObject) -> None:
    """An object with a duplicate member is no JSON of ours, at any depth, even with equal values."""
    name = data.draw(st.sampled_from(sorted(members)))
    pairs = [*members.items(), (name, members[name])]
    text = ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs)
    for body in (f"{{{text}}}", f'[0,{{"in":{{{text}}}}}]'):
        with pytest.raises(DuplicateMember):
            parse(body.encode())
        assert parse(body.encode(), keep_last_duplicate=True) == json.loads(body)


def test_two_spellings_of_one_name_are_a_duplicate() -> None:
    """A name written with an escape is the same name."""
    with pytest.raises(DuplicateMember):
        parse(b'{"a":1,"\\u0061":2}')


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":"\xff"}',
        b'"\xed\xa0\x80"',
        b"NaN",
        b"[Infinity]",
        b'{"a":-Infinity}',
        b"{'a':1}",
        b'{"a":1,}',
        b'{"a":01}',
        b"[1]x",
        b'"\x01"',
        '{"a":1}'.encode("utf-16"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    """A BOM, bad UTF-8, NaN, Infinity and every other breach of RFC 8259 is NotJson and nothing worse."""
    with pytest.raises(NotJson):
        parse(data)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[ ", b" ]")])
def test_nesting_is_read_to_32_levels(opening: bytes, closing: bytes) -> None:
    """32 levels are read, 33 are not, whichever reader is at work; brackets in strings do not count."""
    parse(opening * 32 + b"0" + closing * 32)
    parse(b'["' + b"[{" * 40 + b'"]')
    parse(b"[" + b"[]," * 40 + b"[]]")
    with pytest.raises(NotJson, match="32"):
        parse(opening * 33 + b"0" + closing * 33)
    with pytest.raises(NotJson, match="32"):
        parse(opening * 32 + b"[]" + closing * 32)


@pytest.mark.parametrize(
    "data",
    [
        b"9007199254740992",
        b"-9007199254740992",
        b"18446744073709551615",
        b"9" * 400,
        b"9" * 60_000,
        b"-" + b"9" * 60_000,
        b"1e999",
        b"[-1e999]",
        b'"\\ud800"',
        b'{"\\udfff":1}',
        b'["\\udc00\\ud800"]',
    ],
)
def test_what_parses_but_has_no_canonical_form(data: bytes) -> None:
    """Unsafe integers, numbers outside binary64 and lone surrogates parse, and are refused when hashed."""
    value = parse(data)
    with pytest.raises(NotCanonical):
        canonicalise(value)
    with pytest.raises(NotCanonical):
        canonicalise({"a": [value]})


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, {1, 2}, object(), 10**400])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    """A value that JSON lacks has no canonical form, though a faster writer might find one."""
    with pytest.raises(NotCanonical):
        canonicalise(value)


def test_safe_integers_and_a_surrogate_pair_have_a_canonical_form() -> None:
    """The bounds themselves are inside, and an escaped pair is one character."""
    assert canonicalise(parse(b"[-9007199254740991, 9007199254740991]")) == b"[-9007199254740991,9007199254740991]"
    assert '"\U0001f600"'.encode() == canonicalise(parse(b'"\\ud83d\\ude00"'))


@given(VALUES)
def test_whole_numbers_change_no_hash(value: Any) -> None:
    """The RFC 8785 form, and with it each hash, is the same; what is not whole stays."""
    assert canonicalise(value) == canonicalise(whole_numbers(value))


@given(VALUES)
def test_one_look_gives_form_and_whole_numbers(value: Any) -> None:
    """It is the same as asking for each of them."""
    form, whole = canonical_and_whole(value)

    assert form == canonicalise(value)
    assert repr(whole) == repr(whole_numbers(value))


@pytest.mark.parametrize("data", [b'{"a":"\\ud800"}', b'{"a":9007199254740993}', b"[1e400]"])
def test_one_look_refuses_what_has_no_form(data: bytes) -> None:
    """Whichever way it would have been written."""
    with pytest.raises(NotCanonical):
        canonical_and_whole(parse(data))


@given(SAFE_INTEGERS)
def test_whole_floats_become_integers(number: int) -> None:
    """However deep they are."""
    integer = whole_numbers([{"a": [float(number)]}])[0]["a"][0]

    assert (number, int) == (integer, type(integer))
