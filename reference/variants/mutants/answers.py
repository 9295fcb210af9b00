"""What changes every challenge: used by mutants in Python; those of this module are data in `mutants/rail.toml`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from reference.rail import challenges
from reference.rail.challenges import Challenges
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

MUTANTS: Final[tuple[Mutant, ...]] = ()


def every_challenge(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes every 402 document."""

    def changed(issue: Callable[..., Any]) -> Callable[..., Any]:
        def issued(*args: Any, **kwargs: Any) -> Any:
            document = orjson.loads(issue(*args, **kwargs).body)
            change(document)
            return challenges.Challenge(orjson.dumps(document))

        return issued

    return lambda: replace(Challenges, "issue", changed)
