"""Mutants as data from the folder `mutants`: the edits that a service process needs.

The suite reads the same files for the rows that must catch each mutant, with its own reader.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from reference.variants.edits import Edit, edit_modules, import_edited
from reference.variants.mutants.mutant import Mutant

# The folder that contains the packages: a checkout, or site-packages.
ROOT: Final = Path(__file__).parents[3]
_FOLDER: Final = ROOT / "mutants"
_HEAD: Final = "[[mutant]]\n"
# The service that is edited, by the first word of the mutant's rows; an entry may name another in `service`.
_SERVICES: Final[Mapping[str, str]] = {
    "AGENT": "agent",
    "CP": "control_plane",
    "GW": "gateway",
    "PAYER": "variants.payer",
    "RAIL": "rail",
    "WH": "gateway",
    "X": "rail",
}


def find_mutant(name: str) -> Mutant | None:
    """Return the mutant of an id, or None if no entry with edits has it."""
    for part in _parts():
        # Only the entry itself is parsed. Parsing the whole folder takes a third of a second, and each service
        # process starts here.
        if part.startswith(f'{_HEAD}id = "{name}"\n'):
            return _mutant(tomllib.loads(part)["mutant"][0])
    return None


def load_mutants() -> tuple[Mutant, ...]:
    """Return every mutant with edits, file by file, each in its own order."""
    all_mutants = (_mutant(entry) for part in _parts() for entry in tomllib.loads(part)["mutant"])
    return tuple(mutant for mutant in all_mutants if mutant is not None)


def _parts() -> Iterator[str]:
    """Yield the text of each entry."""
    for path in sorted(_FOLDER.glob("*.toml")):
        _, *parts = path.read_text("utf-8").split(_HEAD)
        yield from (_HEAD + part for part in parts)


def _mutant(entry: Mapping[str, Any]) -> Mutant | None:
    edits = tuple(Edit(**edit) for edit in entry.get("edits", ()))
    if not edits:
        return None
    service = entry.get("service") or _SERVICES[re.split("[- ]", entry["surface"])[0]]
    return Mutant(entry["id"], entry["rule"], partial(_apply, edits), service, edits)


def _apply(edits: tuple[Edit, ...]) -> None:
    import_edited(edit_modules(edits, ROOT))
