"""Seeds whose look of the correct server was sound, as data: `python -m tools.sound_looks RESULT.json…` adds some.

Each RESULT is what `weldproof selftest --chameleon SEED… --json` printed, of whole runs. In how many looks each row
passed is on the page of proof by requirement.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from conformance.ledger import load as ledger
from conformance.ledger.derived_files import ROOT

FILE: Final = ROOT / "conformance/recorded/sound_looks.json"
_LINE: Final = 110


@dataclass(frozen=True, slots=True)
class SoundLooks:
    """What was found so far.

    Attributes:
        seeds: The seeds, in their order.
        passed: In how many of them each row passed.
    """

    seeds: tuple[int, ...]
    passed: Mapping[str, int]

    def with_trials(self, trials: Iterable[Mapping[str, Any]]) -> SoundLooks:
        """Return it with those of some trials that are sound and are not here yet."""
        seeds, passed = [*self.seeds], Counter(self.passed)
        for trial in trials:
            if not trial["differences"] and trial["seed"] not in seeds:
                seeds.append(trial["seed"])
                passed.update(trial["passed"])
        return SoundLooks(tuple(sorted(seeds)), passed)


def load(path: Path = FILE) -> SoundLooks:
    """Return what is kept."""
    data = json.loads(path.read_bytes())
    return SoundLooks(tuple(data["seeds"]), data["passed"])


def save(looks: SoundLooks, path: Path = FILE) -> None:
    """Keep it: seeds in lines of some, and a line a row in the ledger's order."""
    lines, line = [], ""
    for word in (f"{seed}," for seed in looks.seeds):
        if len(line) + len(word) > _LINE:
            lines.append(line)
            line = ""
        line += f" {word}" if line else word
    seeds = "\n".join(f"  {one}" for one in [*lines, line]).rstrip(",")
    rows = ",\n".join(f'  "{row.id}": {looks.passed[row.id]}' for row in ledger() if looks.passed.get(row.id))
    path.write_text(f'{{\n "seeds": [\n{seeds}\n ],\n "passed": {{\n{rows}\n }}\n}}\n', "utf-8")


def main(words: Sequence[str]) -> int:
    """Add the trials of some results; return 1 if a trial is not sound, 2 if a trial does not belong to a whole run."""
    trials = [trial for word in words for trial in json.loads(Path(word).read_bytes())["trials"]]
    everywhere = {row.id for row in ledger() if row.surface == "shared" and row.decides}
    parts = [trial["seed"] for trial in trials if not everywhere & {*trial["passed"]}]
    if parts:
        sys.stderr.write(f"these are of some rows only: {', '.join(map(str, parts))}\n")
        return 2
    save(load().with_trials(trials))
    unsound = [trial["seed"] for trial in trials if trial["differences"]]
    if unsound:
        sys.stderr.write(f"not sound, and not kept: {', '.join(map(str, unsound))}\n")
    return 1 if unsound else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
