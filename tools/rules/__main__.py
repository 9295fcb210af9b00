"""Write which functions of the reference decide each row: `python -m tools.rules`; --check writes nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

import conformance
from conformance.ledger.rules import FILE
from tools.rules.deciding import deciding


def encoded() -> bytes:
    """Return the data as their file holds them: a row a line."""
    lines = (orjson.dumps({"row": row, "rules": names}) for row, names in deciding().items())
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def main() -> None:
    """Write the file, or say that it is stale and end with exit code 1."""
    path = Path(conformance.__file__).parent / FILE
    made = encoded()
    if "--check" in sys.argv[1:]:
        sys.exit(f"{path.name} is stale" if path.read_bytes() != made else 0)
    path.write_bytes(made)


if __name__ == "__main__":
    main()
