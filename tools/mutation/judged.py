"""What survivors are, as data: each with a verdict and its reason."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VERDICTS = ("equivalent", "invisible", "allowed", "test", "hole")
_FILE = Path(__file__).parent / "judged.toml"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a survivor is: one of `VERDICTS`, and why."""

    verdict: str
    reason: str


def load(path: Path = _FILE) -> Mapping[str, Judgement]:
    """Return the judgements by mutant.

    Raises:
        ValueError: A verdict that is unknown, a mutant that is judged twice, or one without a reason.
    """
    judgements: dict[str, Judgement] = {}
    for verdict, entries in tomllib.loads(path.read_text("utf-8")).items():
        for name, reason in entries.items():
            if verdict not in VERDICTS or name in judgements or not reason.strip():
                raise ValueError(f"{name}: {verdict} {reason!r} is no judgement, or not the only one")
            judgements[name] = Judgement(verdict, reason)
    return judgements
