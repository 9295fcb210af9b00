"""Where the time of a job goes, by module: the profile that explains a figure."""

from __future__ import annotations

import cProfile
import pstats
from collections import defaultdict
from pathlib import Path
from typing import Any

import reference
from tools.bench.reference.rounds import Measured

_OURS = Path(reference.__file__).parent
_BUILT_IN = "~"
_LEAST = 0.01
_DALEK = "'verify' of 'solders.signature.Signature'"

Function = tuple[str, int, str]


async def shares(contestant: Measured) -> list[dict[str, Any]]:
    """Return the share of each module in a calibrated contender's work, the largest first.

    Our own modules stand by their names, packages by theirs, the rest as `Python`. A function in C counts as its
    caller's, but for those of cryptography, which are what the work is about. Less than one percent is left out.
    """
    parts = await contestant.contender.prepare(contestant.count)
    profile = cProfile.Profile()
    with profile:
        await contestant.contender.run(parts)
    seconds: defaultdict[str, float] = defaultdict(float)
    entries: dict[Function, Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for function, (_, _, own, _, callers) in entries.items():
        if function[0] == _BUILT_IN and not _is_cryptography(function[2]):
            for caller, (_, _, part, _) in callers.items():
                seconds[_part(caller)] += part
        else:
            seconds[_part(function)] += own
    whole = sum(seconds.values())
    parts_by_cost = sorted(seconds.items(), key=lambda one: one[1], reverse=True)
    return [{"part": part, "share": round(own / whole, 3)} for part, own in parts_by_cost if own >= _LEAST * whole]


def _is_cryptography(name: str) -> bool:
    return _DALEK in name or any(word in name for word in ("crypto_sign", "hmac_digest", "openssl_sha"))


def _part(function: Function) -> str:
    file, _, name = function
    if file == _BUILT_IN and _DALEK in name:
        return "C: dalek verify_strict"
    if file == _BUILT_IN:
        return f"C: {name.rpartition('.')[2].rstrip('>')}" if _is_cryptography(name) else "Python"
    path = Path(file)
    if path.is_relative_to(_OURS):
        return ".".join(("reference", *path.relative_to(_OURS).with_suffix("").parts))
    packages = file.partition("site-packages/")[2]
    return packages.partition("/")[0].removesuffix(".py") if packages else "Python"
