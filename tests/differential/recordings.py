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


def recorded(name: str, measured: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return the recording of a name, after writing what was measured when the environment asks for that."""
    file = _FOLDER / f"{name}.json"
    if os.environ.get("WELDPROOF_RECORD"):
        told = [asdict(one) for one in measured]
        file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    found: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return found


def as_recorded(measured: Sequence[Difference]) -> list[dict[str, Any]]:
    """Return what was measured in the form of a recording."""
    told: list[dict[str, Any]] = json.loads(json.dumps([asdict(one) for one in measured]))
    return told
