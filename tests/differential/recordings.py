"""Measured differences, kept as data so that both answers can be read without running the nodes.

`WELDPROOF_RECORD=1` writes them again; without it they are compared, so that an outdated recording is noticed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.differential.comparison import Difference

_FOLDER = Path(__file__).with_name("recorded")


def update_recording(name: str, measured_differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return the recording of a name, after writing what was measured when the environment asks for that."""
    file = _FOLDER / f"{name}.json"
    if os.environ.get("WELDPROOF_RECORD"):
        new_rows = [asdict(one) for one in measured_differences]
        file.write_text(json.dumps(new_rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
    recorded_rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return recorded_rows


def as_recorded(measured_differences: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return what was measured in the form of a recording."""
    rows: list[dict[str, Any]] = json.loads(json.dumps([asdict(one) for one in measured_differences]))
    return rows
