"""The report formats by name: each a pure function from the events of a run to the bytes of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from conformance.events import Event
from conformance.report import badge, html, json, junit, markdown, sarif


@dataclass(frozen=True, slots=True)
class Format:
    """One format.

    Attributes:
        file: Name of the file it is written to.
        render: Events to the file's bytes; the same events always give the same bytes.
    """

    file: str
    render: Callable[[Iterable[Event]], bytes]


FORMATS: Final[Mapping[str, Format]] = {
    "badge": Format("badge.svg", badge.render),
    "html": Format("index.html", html.render),
    "json": Format("report.json", json.render),
    "junit": Format("junit.xml", junit.render),
    "markdown": Format("report.md", markdown.render),
    "sarif": Format("report.sarif", sarif.render),
}


def write(events: Sequence[Event], directory: Path, names: Iterable[str]) -> list[Path]:
    """Write a run in the formats called `names` into `directory`, which is made when it is not there.

    Returns:
        The files written, in the order of `names`, each once.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name in dict.fromkeys(names):
        path = directory / FORMATS[name].file
        path.write_bytes(FORMATS[name].render(events))
        written.append(path)
    return written
