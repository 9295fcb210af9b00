"""Text of others, made safe to show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance.text.target_text_escaping import one_line, shorten, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_visible_text_is_utf_8_and_xml(text: str) -> None:
    """No lone surrogate and no character that XML 1.0 forbids is left; nothing is dropped silently."""
    visible_text = visible(text)
    assert visible_text.encode("utf-8").decode("utf-8") == visible_text
    assert all(c in "\t\n" or (" " <= c < "\ufffe" and c != "\x7f") or c >= "\U00010000" for c in visible_text)
    assert len(visible_text) >= len(text)


def test_ordinary_text_is_left_alone() -> None:
    """Letters of any script, emoji, tab and line feed stay as they are."""
    assert visible("naïve 漢字 🎉\tx\ny") == "naïve 漢字 🎉\tx\ny"


def test_escapes_name_the_character() -> None:
    """A reader can tell which character was there."""
    assert visible("a\x1b[2Jb\u202ec\ud800") == r"a\x1b[2Jb\u202ec\ud800"


def test_cut_text_says_how_much_is_gone() -> None:
    """A cut never looks like the end."""
    assert shorten("abcdef", 4) == "abcd… (2 more characters)"
    assert one_line(" a\n b\tc ") == "a b c"
