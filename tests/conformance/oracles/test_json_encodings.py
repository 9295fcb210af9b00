"""Encodings that are mistaken for RFC 8785 are what the encoders of other languages write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.oracles.hash_recipes import jcs_bytes
from conformance.oracles.json_encodings import AS_SENT, OTHER_ENCODINGS, encoder

VALUE: dict[str, Any] = {
    "\ufb33": "a&b <c>\u2028/é\U0001f600\b\f",
    "\U0001f600": [1e21, 1e20, 1e-7, -0.0, 5.0, 7, True, None],
    "a": {},
}
# As the encoders themselves write "a&b <c>\u2028/é\U0001f600\b\f+'".
WRITTEN_FORMS = {
    "escapes &, < and > as Go's json.Marshal does": r'"a\u0026b \u003cc\u003e\u2028/é😀\b\f+' + "'\"",
    "escapes what is not ASCII as Python's json.dumps does": r'"a&b <c>\u2028/\u00e9\ud83d\ude00\b\f+' + "'\"",
    "escapes / as PHP's json_encode does": r'"a&b <c>\u2028\/\u00e9\ud83d\ude00\b\f+' + "'\"",
    r"writes \b and \f as \u0008 and \u000c": '"a&b <c>\u2028/é😀' + r"\u0008\u000c+" + "'\"",
}


def test_without_a_change_the_encoder_writes_the_canonical_form() -> None:
    """Each other encoding so differs by what it names alone."""
    assert encoder()(VALUE) == jcs_bytes(VALUE)


@pytest.mark.parametrize("name", WRITTEN_FORMS)
def test_texts_are_escaped_as_other_encoders_do(name: str) -> None:
    """The expected text was written down from the encoder of that language."""
    assert OTHER_ENCODINGS[name]("a&b <c>\u2028/é\U0001f600\b\f+'").decode() == WRITTEN_FORMS[name]


def test_python_with_sorted_keys_is_python_itself() -> None:
    """The encoding that says that it is json.dumps writes what json.dumps writes."""
    sorted_text = json.dumps(VALUE, sort_keys=True, separators=(",", ":"))
    assert OTHER_ENCODINGS["is Python's json.dumps with sort_keys"](VALUE).decode() == sorted_text


def test_dotnet_escapes_quotes_and_accents_by_upper_case_digits() -> None:
    """System.Text.Json escapes quotes, apostrophes, plus and accents as well as the letters of markup."""
    text = OTHER_ENCODINGS["escapes what System.Text.Json escapes"]("a+'`\"\\\n\u00e9\U0001f600")
    assert text == rb'"a\u002B\u0027\u0060\u0022\\\n\u00E9\uD83D\uDE00"'


@pytest.mark.parametrize("name", OTHER_ENCODINGS)
def test_each_encoding_differs_from_the_canonical_form(name: str) -> None:
    """An encoding that never differed would explain every hash."""
    assert OTHER_ENCODINGS[name](VALUE) != jcs_bytes(VALUE)


def test_members_as_they_were_sent_keep_their_order() -> None:
    """What JSON.stringify makes of a parsed text is in the text's order."""
    assert AS_SENT({"b": 1.0, "a": "&"}) == b'{"b":1,"a":"&"}'
