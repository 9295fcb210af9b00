"""What shows in no log: secrets, found in a text many at once, and live values, of which there are many, by words."""

from __future__ import annotations

import base64
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from conformance.log.owner import Owned
from conformance.text.secret_forms import forms_of
from conformance.text.shell_words import Span

# The shortest text that is taken for a secret or a live value.
SHORTEST: Final = 6
# Stands before a name where the text has been looked through, instead of the `$` that others may write as well. It is
# half of a surrogate pair, which no text has that was read from bytes.
MARK: Final = "\udc24"
WORD: Final = re.compile(r"[A-Za-z0-9_+/:.\-]{6,}={0,2}")
PART: Final = re.compile(r"[^/:]{6,}")
# Letters of the pieces by which secrets are found, and from one piece to the next.
_PIECE: Final = 6
_STEP: Final = 7
_PIECES: Final = re.compile(f"(.{{{_PIECE}}}).{{0,{_STEP - _PIECE}}}", re.DOTALL)


class Secrets:
    """Texts that are looked for anywhere in another text, many at once.

    One after the other, in the order in which they came, is what is done; where it starts is found by pieces. Whatever
    stands in a text covers one of the places 0, 7, 14, … by six letters, if it has twelve or more. So a look at the six
    letters at each of them says which of the secrets may be there, most often none.
    """

    def __init__(self) -> None:
        self.longest = 0
        self._starts: defaultdict[str, list[str]] = defaultdict(list)
        # All runs of so many letters in the secrets: a beginning of a secret ends with one of them.
        self._runs: set[str] = set()
        self._values: list[str] = []
        self._names: dict[str, str] = {}
        self._short: list[int] = []
        self._pieces: defaultdict[str, list[int]] = defaultdict(list)

    def hold(self, value: str, name: str) -> bool:
        """Write `name` for `value` from now on; return whether that changes anything."""
        before = self._names.get(value)
        self._names[value] = name
        if before is None:
            self.longest = max(self.longest, len(value))
            self._starts[value[:SHORTEST]].append(value)
            self._runs.update(value[start : start + SHORTEST] for start in range(len(value) - SHORTEST + 1))
            place = len(self._values)
            self._values.append(value)
            if len(value) < _PIECE + _STEP - 1:
                self._short.append(place)
            else:
                for start in range(_STEP):
                    self._pieces[value[start : start + _PIECE]].append(place)
        return before != name

    def name_of(self, value: str) -> str | None:
        """Return what is written for a value that is held, None for another."""
        return self._names.get(value)

    def replace(self, text: str) -> str:
        """Return `text` with a name for each secret."""
        for place in self._find_candidates(text):
            value = self._values[place]
            text = text.replace(value, self._names[value])
        return text

    def replace_beginnings(self, text: str, cuts: Iterable[int]) -> str:
        """Return `text` with a name for each beginning of a secret that ends at one of the places where it was cut."""
        for cut in sorted(cuts, reverse=True):
            if text[max(0, cut - SHORTEST) : cut] not in self._runs:
                continue
            for start in range(max(0, cut - self.longest), cut - SHORTEST + 1):
                part = text[start:cut]
                whole = next((one for one in self._starts.get(part[:SHORTEST], ()) if one.startswith(part)), None)
                if whole is not None:
                    text = text[:start] + self._names[whole] + text[cut:]
                    break
        return text

    def _find_candidates(self, text: str) -> list[int]:
        """Return the places of the secrets that may stand in `text`, in the order in which they came."""
        pieces = self._pieces
        known_pieces = pieces.keys() & _PIECES.findall(text)
        return (
            sorted(set(self._short).union(*(pieces[piece] for piece in known_pieces)))
            if known_pieces or self._short
            else []
        )


def list_words(text: str) -> list[str]:
    """Return everything in a text that is looked up among the live values; see `Names.redact`."""
    words = WORD.findall(text)
    words_found = [text, *words]
    for word in words:
        bare = word.rstrip("=")
        if bare != word:
            words_found.append(bare)
        if "/" in bare or ":" in bare:
            words_found += PART.findall(bare)
    return words_found


# Paths and header values come thousands of times; so many texts are remembered, none of them longer than that.
_TEXTS_REMEMBERED: Final = 4096
_LONGEST_REMEMBERED: Final = 1024
# Live values are no longer than that: a proof of payment is the longest.
_LONGEST_LIVE: Final = 16_384
# Where a text was cut: at an ellipsis, or at its end.
_CUTS: Final = re.compile("…|\\Z")
# How the names of addresses end.
_ADDRESSES: Final = ("HOST", "ADDRESS")
_MARKED_NAME: Final = re.compile(MARK + r"([A-Za-z0-9_]*)")
_ESCAPED_MARK: Final = MARK.encode("ascii", "backslashreplace").decode()


@dataclass(slots=True)
class _RedactedText:
    """A text that was looked at.

    Attributes:
        text: The text without secrets.
        words: What it would be changed for, were one of these a live value.
    """

    text: str
    words: Collection[str]


@dataclass
class Names(Owned):
    """Values that never appear in the log, and the name that stands for each.

    Secrets are looked for anywhere in a text, in the order in which they came. Live values (tokens, transaction ids,
    proofs) are many and stand as words of their own, so they are looked up word by word.
    """

    _secrets: Secrets = field(default_factory=Secrets)
    _live: dict[str, str] = field(default_factory=dict)
    _cache: dict[str, _RedactedText] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def secret(self, value: str, name: str) -> None:
        """From now on write `$name` wherever `value` would appear, even inside other text.

        An encoded form of it becomes such as `$name_IN_BASE64`. An address is no secret: it is hidden because it
        changes from run to run, and stands in the signed payloads of tokens, which are to be read.
        """
        self._check_owner()
        if len(value) < SHORTEST:
            return
        has_changed = self._secrets.hold(value, self._mark(name))
        for form, texts in forms_of(value).items() if has_changed and not name.endswith(_ADDRESSES) else ():
            marked = self._mark(f"{name}_{form.upper().replace(' ', '_').replace('-', '_')}")
            for text in texts:
                self._secrets.hold(text, marked)
        if has_changed:
            self._cache.clear()

    def key(self, value: str, name: str, *, is_given: bool) -> None:
        """Keep a key out of the log: one we were given anywhere, one of the many we make or get where it is a word."""
        if is_given:
            self.secret(value, name)
            return
        self.name(value, name)
        for form in ("in base64", "in hex") if len(value) >= SHORTEST else ():
            # A word of base64 has its padding, or none, and ends with the letter that the padding decides.
            for text in (*forms_of(value).get(form, ()), base64.b64encode(value.encode()).decode().rstrip("=")):
                self.name(text, f"{name}_{form.upper().replace(' ', '_')}")

    def name(self, value: str, name: str) -> None:
        """From now on write `$name` wherever `value` would appear as a word or as a whole text."""
        self._check_owner()
        if len(value) >= SHORTEST:
            self._live[value] = self._mark(name)

    def stands_for_another(self, value: str, name: str) -> bool:
        """Return whether a live value has another name than this one, which it would lose."""
        self._check_owner()
        return self._live.get(value, MARK + name) != MARK + name

    def name_of(self, value: str) -> str | None:
        """Return the name that stands for a secret or live value, None for a value that is none."""
        self._check_owner()
        name = self._secrets.name_of(value) or self._live.get(value)
        return None if name is None else name.removeprefix(MARK)

    def _mark(self, name: str) -> str:
        bare = name.lstrip("$")
        self._names.add(bare)
        return MARK + bare

    def redact_cut(self, text: str) -> str:
        """Return `text` as `redact` does, also without the beginning of a secret at its end or before an ellipsis.

        What was cut by its length before it came here may end in the midst of a key.
        """
        marked_text = self._mark_names(text)
        cuts = (found.start() for found in _CUTS.finditer(marked_text))
        return self._secrets.replace_beginnings(marked_text, cuts).replace(MARK, "$")

    def redact_beginning(self, text: str, limit: int) -> tuple[str, list[Span], bool]:
        """Return the beginning of a text as `redact_with_places` does, at most `limit` letters, and whether that is all of it.

        It is redacted before it is cut, so that no part of a secret is left at the cut.
        """
        if len(text) <= limit:
            return (*self.redact_with_places(text), True)
        # Of a secret that begins in the last letters of this piece, only a part is in it: these letters are left out.
        margin = max(self._secrets.longest, _LONGEST_LIVE)
        marked_text = self._mark_names(text[: limit + 2 * margin])
        if len(text) > limit + 2 * margin:
            marked_text = marked_text[:-margin]
        beginning = marked_text[:limit]
        spans = [self._place_of(found) for found in _MARKED_NAME.finditer(marked_text)]
        return beginning.replace(MARK, "$"), [span for span in spans if sum(span) <= len(beginning)], False

    def redact(self, text: str) -> str:
        """Return `text` without secrets and live values, `$NAMES` in their places."""
        return self._mark_names(text).replace(MARK, "$")

    def redact_with_places(self, text: str) -> tuple[str, list[Span]]:
        """Return `text` as `redact` does, and where the names stand that it put there; others may write `$`, too."""
        marked_text = self._mark_names(text)
        return marked_text.replace(MARK, "$"), [self._place_of(found) for found in _MARKED_NAME.finditer(marked_text)]

    def _place_of(self, match: re.Match[str]) -> Span:
        """Return where a name stands; letters that follow it may look like more of it."""
        longest = match[1]
        name = next((longest[:end] for end in range(len(longest), 0, -1) if longest[:end] in self._names), longest)
        return match.start(), 1 + len(name)

    def _mark_names(self, text: str) -> str:
        self._check_owner()
        if MARK in text:
            text = text.replace(MARK, _ESCAPED_MARK)
        if len(text) < SHORTEST:
            return text
        plain = self._cache.get(text) or self._redact_secrets(text)
        if self._live.keys().isdisjoint(plain.words):
            return plain.text
        whole = self._live.get(plain.text)
        return whole or WORD.sub(self._name_word, plain.text)

    def _redact_secrets(self, text: str) -> _RedactedText:
        text_without_secrets = self._secrets.replace(text)
        plain = _RedactedText(text_without_secrets, list_words(text_without_secrets))
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self._cache) == _TEXTS_REMEMBERED:
                self._cache.clear()
            self._cache[text] = plain
        return plain

    def _name_word(self, match: re.Match[str]) -> str:
        """Return the name of a word, else of its parts: a path's segments, a memo's token.

        Equals signs after it may be padding of base64 or no part of it.
        """
        word = match[0]
        bare = word.rstrip("=")
        replacement = self._live.get(bare)
        if replacement is None:
            # Most words are one part, and looked up already.
            several = "/" in bare or ":" in bare
            replacement = PART.sub(lambda part: self._live.get(part[0], part[0]), bare) if several else bare
        return self._live.get(word) or replacement + word[len(bare) :]
