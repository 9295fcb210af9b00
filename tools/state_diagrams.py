"""Diagrams of states, drawn from the tables that decide: `python -m tools.state_diagrams`; --check writes nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from reference.protocol.link_payment import LINK
from reference.protocol.redemption import REDEMPTION
from reference.protocol.state_table import StateTable
from reference.protocol.webhook_delivery import DELIVERY

DOCS: Final = Path(__file__).parents[1] / "docs"
# Each page has one such diagram.
DRAWN: Final[Mapping[str, StateTable[Any, Any]]] = {
    "spec/5-rail-redemption.md": REDEMPTION,
    "spec/3-gateway.md": LINK,
    "architecture.md": DELIVERY,
}
_DIAGRAM: Final = re.compile(r"(?<=```mermaid\n)stateDiagram-v2\n(?: {4}.*\n)*(?=```\n)")


def diagram(table: StateTable[Any, Any]) -> str:
    """Return a table as a state diagram of Mermaid: an arrow for each of its lines, a dot where it begins and ends."""
    return "stateDiagram-v2\n" + "".join(f"    {arrow}\n" for arrow in _arrows(table))


def _arrows(table: StateTable[Any, Any]) -> Iterator[str]:
    yield f"[*] --> {table.first}: {table.start_label}"
    for (start, happening), end in table.moves.items():
        yield f"{start} --> {end}: {happening}"
    for final in table.finals:
        yield f"{final} --> [*]"


def drawn_anew(page: str, table: StateTable[Any, Any]) -> str:
    """Return a page with its diagram as the table has it.

    Raises:
        ValueError: The page has no diagram, or several.
    """
    parts = _DIAGRAM.split(page)
    if len(parts) != 2:
        raise ValueError(f"{len(parts) - 1} diagrams of states instead of one")
    return diagram(table).join(parts)


def main() -> int:
    """Draw the diagrams of all pages, or check them; return 1 when one is not right."""
    stale = []
    for name, table in DRAWN.items():
        path = DOCS / name
        page = path.read_text("utf-8")
        made = drawn_anew(page, table)
        if made != page:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                path.write_text(made, "utf-8")
    if "--check" not in sys.argv[1:]:
        return 0
    for name in stale:
        sys.stderr.write(f"{name}: its diagram is not what its table says\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
