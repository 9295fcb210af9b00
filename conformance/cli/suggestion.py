"""What to say when a name is unknown: the nearest known ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from conformance.ledger import Ledger


def nearest(text: str, known: Iterable[str], *, count: int = 3) -> tuple[str, ...]:
    """Return the known names that look most like `text`, best first, whatever its case."""
    names = {name.upper(): name for name in known}
    return tuple(names[match] for match in difflib.get_close_matches(text.upper(), names, n=count, cutoff=0.5))


def unknown(text: str, known: Iterable[str], what: str) -> str:
    """Return one sentence: there is no such name, and which ones are near."""
    near = nearest(text, known)
    hint = f"did you mean {' or '.join(near)}?" if near else "`weldproof list` shows what there is"
    return f"no {what} {text!r}; {hint}"


def prefixes(ledger: Ledger) -> tuple[str, ...]:
    """Return every id of the ledger and every prefix of one that ends at a hyphen."""
    found: dict[str, None] = {}
    for row in ledger:
        parts = row.id.split("-")
        found |= dict.fromkeys("-".join(parts[:length]) for length in range(1, len(parts) + 1))
    return tuple(found)
