"""Write what each check takes, from the event log of a whole run: `python -m tools.typical EVENTS`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import orjson

from conformance.ledger.derived_files import ROOT
from conformance.ledger.typical_seconds import FILE, typical_seconds
from conformance.log.events import read_log

_NOISE_SECONDS: Final = 0.5


def seconds_of(log: Path) -> Mapping[str, float]:
    """Return what each check of a run took, by its name."""
    return {one["check"]: round(one["seconds"], 1) for one in read_log(log) if one["event"] == "check.finished"}


def merge_seconds(before: Mapping[str, float], now: Mapping[str, float]) -> Mapping[str, float]:
    """Return the seconds to keep: a check has its old figure unless it takes half as long again, or half as long.

    Runs differ by that much, so that the file changes only where a check did. A check that is gone is left out.
    """
    return {name: before[name] if _alike(before.get(name), seconds) else seconds for name, seconds in now.items()}


def _alike(before: float | None, now: float) -> bool:
    if before is None:
        return False
    return abs(now - before) <= _NOISE_SECONDS or before / 2 <= now <= before * 1.5


def main() -> None:
    """Write the file, a check a line."""
    seconds = merge_seconds(typical_seconds(), seconds_of(Path(sys.argv[1])))
    content = orjson.dumps(seconds, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    (ROOT / "conformance" / FILE).write_bytes(content + b"\n")


if __name__ == "__main__":
    main()
