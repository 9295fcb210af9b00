"""Places that no check comes by on the clean reference, each with the reason, as data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

_FILE = Path(__file__).parent / "unreached_reasons.toml"


def load(path: Path = _FILE) -> Mapping[str, str]:
    """Return the reason by place.

    Raises:
        ValueError: A place without a reason.
    """
    reasons: dict[str, str] = tomllib.loads(path.read_text("utf-8"))
    bare = [name for name, reason in reasons.items() if not reason.strip()]
    if bare:
        raise ValueError(f"places without a reason: {', '.join(bare)}")
    return reasons
