"""Lookalikes of the word "Paid" in names of tenants, in any letters (P-CK-01, decision 0073).

A name that reads as "Paid" may be written in letters of other scripts, in styled letters, with marks or with invisible
characters. A name is therefore reduced to a skeleton, in the way of Unicode Technical Standard 39: compatibility
decomposition, case folding, no marks, no invisible characters, and each letter that looks like a letter of the reserved
word is replaced by it. The table has the characters of the standard's `confusables.txt` that decomposition leaves over,
for the letters of the reserved word alone; and strokes, hooks and small capitals of these letters.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Characters that change the direction of text, written as the inside of a character class of a regular expression.
BIDI_CONTROLS: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"

_LOOK_LIKE: Final = {
    "p": (
        "\u03c1\u03f1\u0440\u13e2\u146d\u2374\u2ca3\ua4d1\U00010295"  # rho, Cyrillic er, Cherokee, Canadian, Coptic
        "\u01a5\u1d7d\u1d18"  # hook, stroke, small capital
        "\u00fe\u0569\u0584\u2117\ua751\ua753"  # thorn, Armenian, sound recording sign, letters with a line or flourish
    ),
    "a": (
        "\u0251\u03b1\u0430\u13aa\u15c5\u237a\ua4ee\U000102a0\U00016f40"  # alpha, Cyrillic a, Cherokee, Canadian, Lisu
        "\u2c65\u1d00"
        "4@\u0250\u03bb\u0467\u15e9\u2200\U00010300"  # turned a, lambda, little yus, Canadian, for all, Old Italic
    ),
    "i": (
        "l1\u0131\u0196\u01c0\u0269\u026a\u03b9\u0456\u04cf\u06f1\u13a5\u16c1\u2c93\u2d4f\ua4f2\ua647\uab75"
        "\U0001028a\U00010309\U00010320\U000118c3\U00016f28"
        "\u0268\u0142"
        "\u05c0\u05df\u0661\u1d09\u2d4a"  # Hebrew, Arabic-Indic one, turned i, Tifinagh
    ),
    "d": (
        "\u0501\u13a0\u13e7\u146f\u15de\u15ea\ua4d2\ua4d3"  # Cyrillic komi de, Cherokee, Canadian syllabics, Lisu
        "\u0111\u0256\u0257\u1d05"
        "\u00f0\u056a\u10eb\u1d81\u1d91\u2181\u2202"  # eth, Armenian, Georgian, hooks, a Roman numeral
    ),
}
_LETTER_OF: Final = {ord(one): letter for letter, looks in _LOOK_LIKE.items() for one in looks}
# Signs that look like an i inside a word. Elsewhere they are punctuation, so they are tried separately.
_SIGNS: Final = dict.fromkeys(map(ord, "|!\u00a1\u00a6\u02db\u037a\u2223\u2373\u23fd\uffe8"), "i")
# Letters on a background and flag letters have no decomposition. Each row is the alphabet from A on.
_STYLED_ROWS: Final = (0x1F150, 0x1F170, 0x1F1E6)
_STYLED_LETTERS: Final = {row + place: chr(ord("a") + place) for row in _STYLED_ROWS for place in range(26)}
# Trade and service mark: TM and SM by decomposition.
_MARKS: Final = "\u2120\u2122"
# Spaces that are too narrow to separate two letters visibly.
_NARROW: Final = dict.fromkeys((0x2005, 0x2006, 0x2008, 0x2009, 0x200A, 0x202F, 0x205F))
# Letters that fonts draw as nothing.
_FILLERS: Final = dict.fromkeys((0x115F, 0x1160, 0x3164, 0xFFA0))
_UNSEEN: Final = frozenset({"Mn", "Me", "Cf", "Cn", "Co"})
# The word, or its letters with something between each two of them.
_STATE: Final = re.compile(r"(?<![^\W_])(?:paid|p[\W_]+a[\W_]+i[\W_]+d)(?![^\W_])")


def reads_as_state(name: str) -> bool:
    """Return whether a name has a word that reads as "Paid", the state of a payment."""
    # A trade mark sign behind the word becomes letters by decomposition, "PaidTM", and would hide it. So the name is
    # also tried with such signs replaced by spaces.
    spaced_name = "".join(" " if _is_added(one) else one for one in name)
    plains = {skeleton(text) for text in (name, spaced_name, spaced_name.translate(_NARROW))}
    return any(_STATE.search(one) is not None for plain in plains for one in (plain, plain.translate(_SIGNS)))


def _is_added(character: str) -> bool:
    """Return whether a sign after a word, such as a trade mark's, becomes letters of the word by decomposition."""
    is_sign = unicodedata.category(character) in {"So", "No"}
    return character in _MARKS or (is_sign and not unicodedata.normalize("NFKD", character).isalpha())


def skeleton(name: str) -> str:
    """Return a name in plain letters, as far as it looks like letters of the reserved word; see the module."""
    # Decomposition first, as it turns styled letters and ligatures into plain ones, then case folding, then marks are
    # dropped.
    folded_name = unicodedata.normalize("NFKD", name.translate(_STYLED_LETTERS).translate(_FILLERS)).casefold()
    visible_letters = "".join(
        one for one in unicodedata.normalize("NFKD", folded_name) if unicodedata.category(one) not in _UNSEEN
    )
    return visible_letters.translate(_LETTER_OF)
