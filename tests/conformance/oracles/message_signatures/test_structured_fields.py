"""Structured fields as the message oracle reads them: RFC 8941, strictly; http-sfv and http-sf are asked beside it."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import http_sf
import pytest
from http_sfv.dictionary import Dictionary
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.oracles.message_signatures import structured
from conformance.oracles.message_signatures.structured import InnerList, Item, Malformed, Token

LETTERS = st.text("abc01 \t,;=()\"\\:?@%*._-+/AZ'é", max_size=24)


def test_a_dictionary_is_read_with_its_order_its_types_and_its_parameters() -> None:
    """Every type of RFC 8941 is there, and written again strictly."""
    text = ' a=1,  b=2.50;x;y="q\\"";z=:AQI=:,\tc=(a "s"  ?0;p=-1.0);w=*t:/x , d, e=?1;f=?0'
    expected_members = {
        "a": Item(1),
        "b": Item(Decimal("2.50"), (("x", True), ("y", 'q"'), ("z", b"\x01\x02"))),
        "c": InnerList((Item(Token("a")), Item("s"), Item(False, (("p", Decimal("-1.0")),))), (("w", Token("*t:/x")),)),
        "d": Item(True),
        "e": Item(True, (("f", False),)),
    }
    members = structured.read_dictionary(text)
    assert expected_members == members
    strict = 'a=1, b=2.5;x;y="q\\"";z=:AQI=:, c=(a "s" ?0;p=-1.0);w=*t:/x, d, e;f=?0'
    assert strict == structured.write_dictionary(members)


@pytest.mark.parametrize(
    "text",
    [
        "a=@1",
        'a=%"x"',
        "a=(@1)",
        "a;p=@1",
        "a=1.",
        "a=1.2345",
        "a=1234567890123456",
        "a=1,",
        "a=1 b=2",
        "A=1",
        'a="\\x"',
        'a="é"',
        "a=(b",
        "a=(b\tc)",
        "a=(b)c",
        'a=("b""c")',
        "a=",
        "=1",
        "a=:A:",
        "a=:AQ=:",
        "a=:=AQ:",
        "a=:A Q:",
        "a=:A_-Q:",
        "a=:AQ==",
        "a=?2",
        "a=+1",
        "a=--1",
        'a="b',
        "a ;b",
        "a=1;B",
        "é",
    ],
)
def test_what_is_no_dictionary_is_refused_with_its_place(text: str) -> None:
    """One fault each; the sentence says where the text breaks."""
    with pytest.raises(Malformed, match=r"character \d+"):
        structured.read_dictionary(text)


def test_what_comes_twice_is_refused_only_where_a_caller_wants_it_unique() -> None:
    """RFC 8941 lets the last key and parameter win; labels and digests must be unique."""
    assert {"a": Item(2)} == structured.read_dictionary("a=1, a=2")
    assert {"a": Item(1, (("p", 2),))} == structured.read_dictionary("a=1;p=1;p=2")
    for text in ("a=1, a=2", "a=1;p=1;p=2", "a=(b;p;p)", "a, a"):
        with pytest.raises(Malformed, match="twice"):
            structured.read_dictionary(text, unique=True)


def test_base64_is_read_leniently_unless_a_caller_wants_its_one_spelling() -> None:
    """RFC 8941 4.2.7 asks parsers not to fail on missing padding or spare bits."""
    for text in ("a=:AQ:", "a=:AR==:", "a=:AQ==:"):
        assert {"a": Item(b"\x01")} == structured.read_dictionary(text)
    assert {"a": Item(b"\x01")} == structured.read_dictionary("a=:AQ==:", canonical="a")
    for text in ("a=:AQ:", "a=:AR==:"):
        assert {"a": Item(b"\x01")} == structured.read_dictionary(text, canonical="b")
        with pytest.raises(Malformed, match="canonical"):
            structured.read_dictionary(text, canonical="a")


def test_an_empty_text_is_a_dictionary_and_a_list_without_members_and_no_item() -> None:
    """RFC 8941 4.2."""
    assert structured.read_dictionary("  ") == {}
    assert structured.read_list("") == []
    with pytest.raises(Malformed):
        structured.read_item("")


def test_what_has_no_text_cannot_be_written() -> None:
    """A String beyond ASCII, an integer of 16 digits."""
    for value in ("é", 10**15):
        with pytest.raises(Malformed):
            structured.write(Item(value))


def _plain_sfv(text: str) -> Any:
    members = Dictionary()
    members.parse(text.encode("latin-1", "replace"))
    return str(members) if len(members) else ""


@settings(max_examples=300, deadline=None)
@given(LETTERS)
@example('a=1;b="x", c=(d e);f')
@example("a=:AQ==:")
@example("a=:AQ:")
@example("a=1.")
@example("a=@1")
def test_http_sfv_reads_the_same_but_for_what_is_named_here(text: str) -> None:
    """Its own dictionary agrees, save: dates, display strings, `1.`, base64 without padding, letters beyond ASCII."""
    try:
        ours = structured.write_dictionary(structured.read_dictionary(text))
    except Malformed:
        ours = None
    try:
        theirs = _plain_sfv(text)
    except (ValueError, UnicodeError):
        theirs = None
    is_known = any(mark in text for mark in ("@", "%", ".", ":")) or not text.isascii() or not text.strip(" ")
    assert is_known or ours == theirs


@settings(max_examples=300, deadline=None)
@given(LETTERS)
@example("a=1;p, b=(c);q=?0")
@example("a=1;p=1;p=2")
@example("a=1.")
def test_http_sf_reads_the_same_but_for_what_is_new_in_rfc_9651(text: str) -> None:
    """Another parser, of the newer RFC, agrees save on dates, display strings and sloppy base64."""
    try:
        ours = structured.write_dictionary(structured.read_dictionary(text))
    except Malformed:
        ours = None
    try:
        parsed_field = http_sf.parse(text.encode("utf-8"), tltype="dictionary")
        theirs = http_sf.ser(parsed_field) if parsed_field else ""
    except (ValueError, KeyError):
        theirs = None
    is_known = any(mark in text for mark in ("@", "%", ":"))
    assert is_known or ours == theirs


def test_both_comparisons_can_fail() -> None:
    """The control: on the edges that the comparisons leave out, the libraries do answer otherwise."""
    assert _plain_sfv("a=@1") == "a=@1"
    assert _plain_sfv("a=1.") == "a=1.0"
    assert http_sf.parse(b"a=@1", tltype="dictionary")
    for text in ("a=@1", "a=1."):
        with pytest.raises(Malformed):
            structured.read_dictionary(text)


VALUES = (
    st.integers(-(10**15) + 1, 10**15 - 1)
    | st.booleans()
    | st.binary(max_size=8)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
    | st.from_regex(r"[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,6}", fullmatch=True).map(Token)
    | st.integers(-(10**6), 10**6).map(lambda number: Decimal(number) / 8)
)
KEYS = st.from_regex(r"[a-z*][a-z0-9_.*-]{0,6}", fullmatch=True)
PARAMETERS = st.dictionaries(KEYS, VALUES, max_size=3).map(lambda found: tuple(found.items()))
ITEMS = st.builds(Item, VALUES, PARAMETERS)
MEMBERS = ITEMS | st.builds(InnerList, st.lists(ITEMS, max_size=3).map(tuple), PARAMETERS)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, MEMBERS, max_size=4))
def test_what_is_written_reads_back(members: dict[str, structured.Member]) -> None:
    """Any dictionary survives being written and read; types stay apart."""
    text = structured.write_dictionary(members)
    members_read = structured.read_dictionary(text, unique=True, canonical=members)
    assert members == members_read
    assert text == structured.write_dictionary(members_read)
    assert [type(one.value) for one in members.values() if isinstance(one, Item)] == [
        type(item.value) for item in members_read.values() if isinstance(item, Item)
    ]


def test_a_long_text_is_read_in_reasonable_time() -> None:
    """A thousand parameters and a signature of a hundred kilobytes are no trouble."""
    text = "a" + "".join(f";p{number}={number}" for number in range(1000))
    assert len(structured.read_item(f"1{text[1:]}").parameters) == 1000
    raw = bytes(75_000)
    assert {"a": Item(raw)} == structured.read_dictionary(f"a=:{base64.b64encode(raw).decode()}:")
