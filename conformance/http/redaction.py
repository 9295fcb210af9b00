"""Redaction: secrets, which are found anywhere in a text, and live values, which are looked up as words."""

from __future__ import annotations

import base64
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from conformance.log.thread_ownership import Owned
from conformance.text.secret_forms import forms_of
from conformance.text.shell_words import Span

# The shortest text that is taken for a secret or a live value.
SHORTEST: Final = 6
# Precedes a name in a redacted text, instead of the `$` that a target may write as well. It is half of a surrogate
# pair, which no text has that was decoded from bytes.
MARK: Final = "\udc24"
WORD: Final = re.compile(r"[A-Za-z0-9_+/:.\-]{6,}={0,2}")
PART: Final = re.compile(r"[^/:]{6,}")
# The length of the pieces by which secrets are found, and the distance from one piece to the next.
_PIECE: Final = 6
_STEP: Final = 7
_PIECES: Final = re.compile(f"(.{{{_PIECE}}}).{{0,{_STEP - _PIECE}}}", re.DOTALL)


class Secrets:
    """Secret texts that are searched for anywhere in another text."""

    def __init__(self) -> None:
        self.longest = 0
        # The search: the replacements happen one after the other, in the order in which the secrets were added. To
        # find the candidates quickly, a text is read in steps of 7 letters. A secret of at least 12 letters covers
        # one of the places 0, 7, 14, … with 6 letters, whatever its place. So a look-up of the 6 letters at each
        # place yields the secrets that may be there: most often none. Shorter secrets are always candidates.
        self._starts: defaultdict[str, list[str]] = defaultdict(list)
        self._values: list[str] = []
        self._names: dict[str, str] = {}
        self._short: list[int] = []
        self._pieces: defaultdict[str, list[int]] = defaultdict(list)

    def hold(self, value: str, name: str) -> bool:
        """Replace `value` by `name` from now on; return whether that changes anything."""
        before = self._names.get(value)
        self._names[value] = name
        if before is None:
            self.longest = max(self.longest, len(value))
            self._starts[value[:SHORTEST]].append(value)
            place = len(self._values)
            self._values.append(value)
            if len(value) < _PIECE + _STEP - 1:
                self._short.append(place)
            else:
                for start in range(_STEP):
                    self._pieces[value[start : start + _PIECE]].append(place)
        return before != name

    def name_of(self, value: str) -> str | None:
        """Return the replacement of a known value, None for any other."""
        return self._names.get(value)

    def replace(self, text: str) -> str:
        """Return `text` with a name for each secret."""
        for place in self._find_candidates(text):
            value = self._values[place]
            text = text.replace(value, self._names[value])
        return text

    def replace_beginnings(self, text: str, cuts: Iterable[int]) -> str:
        """Return `text` with a name for each beginning of a secret that ends at one of the places where it was cut."""
        # Most texts contain no first letters of a secret. An index of every place where a secret may be cut would be
        # far larger than the secrets: a signed credential has thousands of letters, in each of its forms.
        starts = [at for at in range(len(text) - SHORTEST + 1) if text[at : at + SHORTEST] in self._starts]
        if not starts:
            return text
        for cut in sorted(cuts, reverse=True):
            first, end = bisect_left(starts, cut - self.longest), bisect_right(starts, cut - SHORTEST)
            for start in starts[first:end]:
                part = text[start:cut]
                whole = next((one for one in self._starts.get(part[:SHORTEST], ()) if one.startswith(part)), None)
                if whole is not None:
                    text = text[:start] + self._names[whole] + text[cut:]
                    break
        return text

    def _find_candidates(self, text: str) -> list[int]:
        """Return the indexes of the secrets that may be in `text`, in the order in which they were added."""
        pieces = self._pieces
        known_pieces = pieces.keys() & _PIECES.findall(text)
        return (
            sorted(set(self._short).union(*(pieces[piece] for piece in known_pieces)))
            if known_pieces or self._short
            else []
        )


def list_words(text: str) -> list[str]:
    """Return all parts of a text that are looked up among the live values; see `Names.redact`."""
    words = WORD.findall(text)
    words_found = [text, *words]
    for word in words:
        bare = word.rstrip("=")
        if bare != word:
            words_found.append(bare)
        if "/" in bare or ":" in bare:
            words_found += PART.findall(bare)
    return words_found


# Paths and header values repeat thousands of times, so this many short texts are cached.
_TEXTS_REMEMBERED: Final = 4096
_LONGEST_REMEMBERED: Final = 1024
# The longest live value is a proof of payment.
_LONGEST_LIVE: Final = 16_384
# Places where a text may have been cut: an ellipsis, or its end.
_CUTS: Final = re.compile("…|\\Z")
# The endings of the names of addresses.
_ADDRESSES: Final = ("HOST", "ADDRESS")
_MARKED_NAME: Final = re.compile(MARK + r"([A-Za-z0-9_]*)")
_ESCAPED_MARK: Final = MARK.encode("ascii", "backslashreplace").decode()


@dataclass(slots=True)
class _RedactedText:
    """A text whose secrets are replaced.

    Attributes:
        text: The text without secrets.
        words: The parts that must be looked up among the live values.
    """

    text: str
    words: Collection[str]


@dataclass
class Names(Owned):
    """Values that never appear in the log, and the name that replaces each."""

    # Secrets are few, and may be inside other text. Live values (tokens, transaction ids, proofs) are many, and are
    # whole words, so one look-up for each word finds them.
    _secrets: Secrets = field(default_factory=Secrets)
    _live: dict[str, str] = field(default_factory=dict)
    _cache: dict[str, _RedactedText] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _longest_name: int = 0

    def secret(self, value: str, name: str) -> None:
        """From now on write `$name` wherever `value` would appear, even inside other text.

        An encoded form becomes a name such as `$name_IN_BASE64`.
        """
        self._check_owner()
        if len(value) < SHORTEST:
            return
        has_changed = self._secrets.hold(value, self._mark(name))
        for form, texts in forms_of(value).items() if has_changed and not name.endswith(_ADDRESSES) else ():
            marked = self._mark(f"{name}_{form.upper().replace(' ', '_').replace('-', '_')}")
            for text in texts:
                self._secrets.hold(text, marked)
        # The cached texts were redacted without this secret.
        if has_changed:
            self._cache.clear()

    def key(self, value: str, name: str, *, is_given: bool) -> None:
        """Redact a key: anywhere if the operator gave it, only as a word if it is one of many live keys."""
        if is_given:
            self.secret(value, name)
            return
        self.name(value, name)
        for form in ("in base64", "in hex") if len(value) >= SHORTEST else ():
            # Base64 is written with and without padding; the last letter depends on it.
            for text in (*forms_of(value).get(form, ()), base64.b64encode(value.encode()).decode().rstrip("=")):
                self.name(text, f"{name}_{form.upper().replace(' ', '_')}")

    def name(self, value: str, name: str) -> None:
        """From now on write `$name` wherever `value` would appear as a word or as a whole text."""
        self._check_owner()
        if len(value) >= SHORTEST:
            self._live[value] = self._mark(name)

    def stands_for_another(self, value: str, name: str) -> bool:
        """Return whether a live value has another name, which this one would replace."""
        self._check_owner()
        return self._live.get(value, MARK + name) != MARK + name

    def name_of(self, value: str) -> str | None:
        """Return the name of a secret or live value, None for any other value."""
        self._check_owner()
        name = self._secrets.name_of(value) or self._live.get(value)
        return None if name is None else name.removeprefix(MARK)

    def _mark(self, name: str) -> str:
        bare = name.lstrip("$")
        self._names.add(bare)
        self._longest_name = max(self._longest_name, len(bare))
        return MARK + bare

    def redact_cut(self, text: str) -> str:
        """Return `text` as `redact` does, also without the beginning of a secret at its end or before an ellipsis."""
        marked_text = self._mark_names(text)
        cuts = (found.start() for found in _CUTS.finditer(marked_text))
        return self._secrets.replace_beginnings(marked_text, cuts).replace(MARK, "$")

    def redact_beginning(self, text: str, limit: int) -> tuple[str, list[Span], bool]:
        """Return the redacted beginning of a text, up to `limit` letters, its names' places, and if it is complete."""
        if len(text) <= limit:
            return (*self.redact_with_places(text), True)
        # Redacted before it is cut, so that no part of a secret is left at the cut. A secret that begins in the last
        # letters of this piece is only partly in it: these letters are dropped.
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
        """Return `text` as `redact` does, with the places of the names that it inserted."""
        marked_text = self._mark_names(text)
        return marked_text.replace(MARK, "$"), [self._place_of(found) for found in _MARKED_NAME.finditer(marked_text)]

    def _place_of(self, match: re.Match[str]) -> Span:
        """Return the place of a name; the letters after it may look like a longer name."""
        # A target may send tens of thousands of letters after a name; no name is that long.
        longest = match[1][: self._longest_name]
        name = next((longest[:end] for end in range(len(longest), 0, -1) if longest[:end] in self._names), longest)
        return match.start(), 1 + len(name)

    def _mark_names(self, text: str) -> str:
        self._check_owner()
        # A target that sends the mark could otherwise pass its own text off as the name of a variable.
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

        Equals signs after it may be base64 padding, or not part of it.
        """
        word = match[0]
        bare = word.rstrip("=")
        replacement = self._live.get(bare)
        if replacement is None:
            # Most words have one part, which was looked up already.
            several = "/" in bare or ":" in bare
            replacement = PART.sub(lambda part: self._live.get(part[0], part[0]), bare) if several else bare
        return self._live.get(word) or replacement + word[len(bare) :]
