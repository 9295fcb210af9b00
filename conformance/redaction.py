"""How secrets are found in a text, many at once, and live values, of which there are thousands, by its words."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

# The shortest text that is taken for a secret or a live value.
SHORTEST: Final = 6
WORD: Final = re.compile(r"[A-Za-z0-9_+/:.\-]{6,}={0,2}")
PART: Final = re.compile(r"[^/:]{6,}")
# Letters of the pieces by which secrets are found, and from one piece to the next.
_PIECE: Final = 6
_STEP: Final = 7


class Secrets:
    """Texts that are looked for anywhere in another text, many at once.

    One after the other, in the order in which they came, is what is done; where it starts is found by pieces. Whatever
    stands in a text covers one of the places 0, 7, 14, … by six letters, if it has twelve or more. So a look at the six
    letters at each of them says which of the secrets may be there, most often none.
    """

    def __init__(self) -> None:
        self._values: list[str] = []
        self._names: dict[str, str] = {}
        self._short: list[int] = []
        self._pieces: defaultdict[str, list[int]] = defaultdict(list)

    def hold(self, value: str, name: str) -> bool:
        """Write `name` for `value` from now on; return whether that changes anything."""
        before = self._names.get(value)
        self._names[value] = name
        if before is None:
            place = len(self._values)
            self._values.append(value)
            if len(value) < _PIECE + _STEP - 1:
                self._short.append(place)
            else:
                for start in range(_STEP):
                    self._pieces[value[start : start + _PIECE]].append(place)
        return before != name

    def replaced(self, text: str) -> str:
        """Return `text` with a name for each secret."""
        place = self._next(text, 0)
        while place is not None:
            value = self._values[place]
            text = text.replace(value, self._names[value])
            place = self._next(text, place + 1)
        return text

    def _next(self, text: str, first: int) -> int | None:
        """Return the place of the first secret from `first` on that stands in `text`."""
        pieces = self._pieces
        met = {piece for at in range(0, len(text), _STEP) if (piece := text[at : at + _PIECE]) in pieces}
        places = set(self._short).union(*(pieces[piece] for piece in met))
        return min((place for place in places if place >= first and self._values[place] in text), default=None)


def words_of(text: str) -> list[str]:
    """Return everything in a text that is looked up among the live values; see `Names.redact`."""
    words = WORD.findall(text)
    found = [text, *words]
    for word in words:
        bare = word.rstrip("=")
        if bare != word:
            found.append(bare)
        if "/" in bare or ":" in bare:
            found += PART.findall(bare)
    return found
