"""What redaction does, held against its plain definition: one secret after the other, then word by word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from conformance.http.client import Names

# A name that was inserted is no text of the target: a secret that looks like one is not found in it.
MARK = "\ue000"


class PlainNames:
    """The definition, slow and obvious."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}
        self.live: dict[str, str] = {}

    def secret(self, value: str, name: str) -> None:
        if len(value) >= 6:
            self.secrets[value] = MARK + name

    def name(self, value: str, name: str) -> None:
        if len(value) >= 6:
            self.live[value] = MARK + name

    def redact(self, text: str) -> str:
        for value, name in self.secrets.items():
            text = text.replace(value, name)
        named_text = self.live.get(text) or re.sub(r"[A-Za-z0-9_+/:.\-]{6,}={0,2}", self._word, text)
        return named_text.replace(MARK, "$")

    def _word(self, match: re.Match[str]) -> str:
        word = match[0]
        if word in self.live:
            return self.live[word]
        bare = word.rstrip("=")
        tail = word[len(bare) :]
        if bare in self.live:
            return self.live[bare] + tail
        return re.sub(r"[^/:]{6,}", lambda part: self.live.get(part[0], part[0]), bare) + tail


# So few letters that texts hold secrets, secrets hold and overlap one another, and names make new ones.
LETTERS = st.text(st.sampled_from("ab$/:= \n"), max_size=24)
PIECES = st.sampled_from(
    ["aaaaaa", "abababab", "babababababa", "ababababababababab", "$AAAAA", "aaaaaabbbbbb", "/", "="]
)
TEXTS = st.lists(LETTERS | PIECES, max_size=6).map("".join)
STEPS = st.lists(
    st.tuples(st.just("redact"), TEXTS, st.none())
    | st.tuples(st.sampled_from(["secret", "name"]), TEXTS, st.sampled_from(["A", "B", "AAAAA", "aaaaaa", "ab"])),
    max_size=30,
)


@given(STEPS, TEXTS)
def test_it_is_one_secret_after_the_other_and_then_word_by_word(
    steps: list[tuple[str, str, str | None]], again: str
) -> None:
    """Overlapping and nested secrets, names that change, and texts that come again are treated as defined."""
    quick, plain = Names(), PlainNames()
    for verb, text, name in steps:
        for redacted_text in (text, again):
            assert quick.redact(redacted_text) == plain.redact(redacted_text)
        if name is not None:
            getattr(quick, verb)(text, name)
            getattr(plain, verb)(text, name)
    for _, text, _ in steps:
        assert quick.redact(text) == plain.redact(text)


@given(st.text(min_size=6, max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_secret_is_found_wherever_it_stands(secret: str, before: str, after: str) -> None:
    """At every distance from the beginning, of every length, in every script."""
    names, plain = Names(), PlainNames()
    for redactor in (names, plain):
        redactor.secret(secret, "S")
    assert names.redact(before + secret + after) == plain.redact(before + secret + after)


def test_many_texts_do_not_change_what_is_found() -> None:
    """However many texts were looked at, a value that is named later is taken out of one that was seen before."""
    names = Names()
    for number in range(10_000):
        assert names.redact(f"/page/{number:08}/shown") == f"/page/{number:08}/shown"
    names.name("00000003", "TOKEN")
    names.secret("00000004/shown", "SECRET")
    assert names.redact("/page/00000003/shown") == "/page/$TOKEN/shown"
    assert names.redact("/page/00000004/shown") == "/page/$SECRET"


def test_a_value_that_has_another_name_is_known() -> None:
    """A live value without a name, or with the same one, can be named so; one of another name would lose it."""
    names = Names()
    names.name("1790000000", "CREATED")
    assert not names.stands_for_another("1790000000", "CREATED")
    assert names.stands_for_another("1790000000", "AUTHORIZATION_VALIDBEFORE")
    assert not names.stands_for_another("1790000001", "CREATED")
