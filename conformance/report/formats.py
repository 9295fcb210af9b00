"""The report formats by name: each a pure function from the events of a run to the bytes of one file.

What renders a format is imported when a file of it is written: commands offer the names without any of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from conformance.log.events import Event
from conformance.text.files import replace_file


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        file: Name of the file it is written to.
        module: The module of this package whose `render` makes it.
    """

    file: str
    module: str

    def render(self, events: Iterable[Event]) -> bytes:
        """Return the file's bytes; the same events always give the same bytes."""
        content: bytes = import_module(f"conformance.report.{self.module}").render(events)
        return content


# Modules are named and not imported: a command that writes JSON does not load the template engine.
FORMATS: Final[Mapping[str, Format]] = {
    "badge": Format("badge.svg", "badge"),
    "html": Format("index.html", "html"),
    "json": Format("report.json", "json"),
    "junit": Format("junit.xml", "junit"),
    "markdown": Format("report.md", "markdown"),
    "sarif": Format("report.sarif", "sarif"),
}


def write(events: Sequence[Event], directory: Path, names: Iterable[str]) -> list[Path]:
    """Write a run in the formats called `names` into `directory`, which is made when it is not there.

    Returns:
        The files written, in the order of `names`, each once.
    """
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in dict.fromkeys(names):
        path = directory / FORMATS[name].file
        replace_file(path, FORMATS[name].render(events))
        paths.append(path)
    return paths
