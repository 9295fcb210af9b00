"""The suite's verifier: one judge for each family of vectors, on the suite's oracles, without server libraries.

`python -m conformance.vectors.judges` speaks the line protocol of `weldproof vectors run`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one vector's input.

    Attributes:
        valid: Whether it holds.
        stage: Where it is refused, one of its family's stages; None when it holds.
        codes: The refusal's codes; none when it holds.
        values: What was worked out on the way, by name: texts, whole numbers, truth values.
    """

    valid: bool
    stage: str | None = None
    codes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def holds(cls, **values: Any) -> Verdict:
        """Return the verdict on a valid input."""
        return cls(valid=True, values=values)

    @classmethod
    def refuse(cls, stage: str, *codes: str, **values: Any) -> Verdict:
        """Return the verdict on an input that a stage refuses; without a code, the stage is the code."""
        return cls(valid=False, stage=stage, codes=codes or (stage,), values=values)
