"""Write the clauses of the specification as data: `python -m tools.clauses [FOLDER]`, FOLDER being the project's."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from conformance.ledger.specification import FILE, FOLDER, Clause
from tools.clauses.pages import Faults, entries, in_order


def read(folder: Path) -> tuple[Clause, ...]:
    """Return the sections and clauses of the pages below a project's folder.

    Raises:
        Faults: The pages break the form of the specification.
    """
    pages = {page.name: page.read_text("utf-8") for page in (folder / FOLDER).glob("*.md")}
    return entries({name: pages[name] for name in in_order(pages)})


def encoded(found: tuple[Clause, ...]) -> bytes:
    """Return sections and clauses as their file holds them: one a line."""
    return b"[\n" + b",\n".join(orjson.dumps(one) for one in found) + b"\n]\n"


def main() -> None:
    """Write the file, or say what is wrong with the pages and end with exit code 1."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    try:
        found = read(folder)
    except Faults as faults:
        sys.exit(str(faults))
    (folder / "conformance" / FILE).write_bytes(encoded(found))
    sys.stdout.write(f"{len(found)} sections and clauses\n")


if __name__ == "__main__":
    main()
