"""The checks as data, for commands that describe them and run none: importing them brings every chain's SDK along.

`catalogue.json` is made from the checks by `python -m conformance.engine.catalogue`; a test holds it to them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from conformance.engine.exclusive import Exclusive
from conformance.engine.quick import Quick

if TYPE_CHECKING:
    from conformance.engine.check import Check

_FOLDER: Final = "conformance.engine"
_FILE: Final = "catalogue.json"


@dataclass(frozen=True, slots=True)
class Described:
    """A check as it describes itself.

    Attributes:
        id: Its name.
        rows: Requirement ids it decides.
        surface: Surface it talks to.
        lane: The lane it needs, `each`, or None.
        exclusive: In what company it runs, as `Check.exclusive`.
        sentence: What it sends and expects.
        fix: What an implementer does about a breach.
        quick: What `run --quick` makes of it.
        file: Where its function stands, from the project's folder.
    """

    id: str
    rows: tuple[str, ...]
    surface: str
    lane: str | None
    exclusive: Exclusive
    sentence: str
    fix: str
    quick: Quick
    file: str

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


@cache
def catalogue() -> tuple[Described, ...]:
    """Return every check of the suite, by name."""
    values = orjson.loads(files(_FOLDER).joinpath(_FILE).read_bytes())
    typed: dict[str, Callable[[Any], Any]] = {
        "rows": tuple,
        "exclusive": Exclusive,
        "quick": lambda quick: Quick(**quick),
    }
    return tuple(Described(**{**one, **{name: form(one[name]) for name, form in typed.items()}}) for one in values)


def described(checks: Iterable[Check]) -> tuple[Described, ...]:
    """Return what checks say of themselves."""
    return tuple(
        Described(one.id, one.rows, one.surface, one.lane, one.exclusive, one.sentence, one.fix, one.quick, _file(one))
        for one in checks
    )


def _file(one: Check) -> str:
    return f"{one.run.__module__.replace('.', '/')}.py"


def encoded(entries: Iterable[Described]) -> bytes:
    """Return the catalogue as its file holds it: a check a line."""
    lines = (orjson.dumps(entry.as_json()) for entry in entries)
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def typical(log: Path) -> bytes:
    """Return what each check took in a recorded run, as `typical_seconds.json` holds it."""
    events = import_module("conformance.log.events").read(log)
    seconds = {one["check"]: round(one["seconds"], 1) for one in events if one["event"] == "check.finished"}
    return bytes(orjson.dumps(seconds, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)) + b"\n"


def main() -> None:
    """Write the catalogue anew, and from an event log, where one is given, what checks typically take."""
    folder = Path(str(files(_FOLDER)))
    checks = import_module("conformance.engine.registration").registered()
    (folder / _FILE).write_bytes(encoded(described(checks)))
    sys.stdout.write(f"{len(checks)} checks\n")
    for log in sys.argv[1:]:
        Path(str(files("conformance.ledger")), "typical_seconds.json").write_bytes(typical(Path(log)))


if __name__ == "__main__":
    main()
