"""Write what each check takes, from the event log of a whole run: `python -m tools.typical EVENTS`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from conformance.ledger.derived import ROOT
from conformance.ledger.typical import FILE
from conformance.log.events import read


def seconds_of(log: Path) -> Mapping[str, float]:
    """Return what each check of a run took, by its name."""
    return {one["check"]: round(one["seconds"], 1) for one in read(log) if one["event"] == "check.finished"}


def main() -> None:
    """Write the file, a check a line."""
    seconds = seconds_of(Path(sys.argv[1]))
    encoded = orjson.dumps(seconds, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    (ROOT / "conformance" / FILE).write_bytes(encoded + b"\n")


if __name__ == "__main__":
    main()
