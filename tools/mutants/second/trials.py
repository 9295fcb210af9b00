"""Run mutants of the servers of `examples/second`, record the verdicts, and write the pages."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tools.mutants.results import Result, Results
from tools.mutants.second.mutants import SecondMutant, load, load_recorded, record
from tools.mutants.second.page import page
from tools.mutants.second.servers import SERVERS, Server
from tools.mutants.second.verdicts import noticed

KIND = "second"
_NO_START = "(it does not start)"


@dataclass(frozen=True, slots=True)
class ServerMutant:
    """A mutant with its server; the id begins with the server's name."""

    server: str
    mutant: SecondMutant

    @property
    def id(self) -> str:
        """`SERVER/ID`."""
        return f"{self.server}/{self.mutant.id}"

    @property
    def place(self) -> str:
        """The first file that it changes."""
        return f"examples/second/{self.server}/{self.mutant.place}"


def load_all(*, only_new: bool = False) -> list[ServerMutant]:
    """Return the mutants of all servers, or only those without recorded verdicts."""
    return [
        ServerMutant(name, mutant)
        for name, server in SERVERS.items()
        for mutant in load(server.source)
        if not only_new or mutant.id not in load_recorded(server.source)
    ]


def run(mutants: Sequence[ServerMutant], results: Results) -> None:
    """Start each server with one mutant after the other, and run the requirements that the mutant names.

    The verdicts are recorded in `found.json`, and the pages are written again. A verdict that differs from the recorded
    one is reported.
    """
    for name, some in groupby(sorted(mutants, key=_server), _server):
        server = SERVERS[name]
        with tempfile.TemporaryDirectory() as folder, server.surroundings(Path(folder)) as around:
            for one in some:
                started = time.monotonic()
                rows = found_by(server, around, one.mutant)
                before = load_recorded(server.source).get(one.mutant.id)
                record(server.source, one.mutant.id, rows)
                results.add(_result(one, rows, before, round(time.monotonic() - started, 1)))
    write_pages()


def _server(mutant: ServerMutant) -> str:
    return mutant.server


def write_pages() -> None:
    """Write `mutants.md` of each server from its mutants and the recorded verdicts."""
    for server in SERVERS.values():
        text = page(server, load(server.source), load_recorded(server.source))
        (server.source / "mutants.md").write_text(text, "utf-8")


def found_by(server: Server, around: Mapping[str, str], mutant: SecondMutant) -> list[str]:
    """Start a server with a mutant and return the requirements that do not pass, with the marks of `found.json`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with server.started(around, mutant.copy_into(folder / "source", server.source), folder) as profile:
                return noticed(profile, mutant.asked, server.otherwise)
        except RuntimeError:
            return [_NO_START]


def _result(one: ServerMutant, rows: Sequence[str], before: Sequence[str] | None, seconds: float) -> Result:
    warned, undecided = ([row[:-1] for row in rows if row[-1] == mark] for mark in "?~")
    failed = [row for row in rows if row[-1] not in "?~" and row != _NO_START]
    outcome = "killed" if failed else "warned" if warned else "unsettled" if undecided else "survived"
    return Result(
        KIND,
        one.id,
        "no-start" if _NO_START in rows else outcome,
        []
        if before is None or before == rows
        else [f"recorded: {' '.join(before) or 'nothing'}", f"now: {' '.join(rows) or 'nothing'}"],
        killed_by=dict.fromkeys(failed, ""),
        warned_by=dict.fromkeys(warned, ""),
        unsettled=dict.fromkeys(undecided, ""),
        seconds=seconds,
        facts={"clause": one.mutant.clause, "judged": one.mutant.judged, "is_new": before is None},
    )
