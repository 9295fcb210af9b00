"""Run mutants of the servers of `examples/second`, record the verdicts, and write the pages."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

from tools.mutants.choice import Mutant
from tools.mutants.results import Result, Results
from tools.mutants.second import agent_servers, rail_servers
from tools.mutants.second.mutants import SecondMutant, Verdicts, load, load_recorded, record
from tools.mutants.second.page import page
from tools.mutants.second.suite_verdicts import find_noticing_rows

KIND = "second"
_NO_START = "(it does not start)"


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        title: Its name on its page.
        source: Its folder.
        surroundings: Holds what it needs for as long as its mutants run, in a folder.
        start: Starts a copy of its source beside those surroundings, with a folder for its data, and gives the
            profile that describes it.
        otherwise: Rows that it leaves undecided as it stands.
    """

    title: str
    source: Path
    surroundings: Callable[[Path], AbstractContextManager[Mapping[str, str]]]
    start: Callable[[Mapping[str, str], Path, Path], AbstractContextManager[Path]]
    otherwise: tuple[str, ...] = ()


SERVERS: Final[Mapping[str, Server]] = {
    "agent": Server(
        "the second agent and control plane",
        agent_servers.SOURCE,
        agent_servers.nothing,
        agent_servers.servers,
        ("CP-CONF-04",),
    ),
    "rail": Server("the second rail", rail_servers.SOURCE, rail_servers.chain, rail_servers.rail),
}


def load_all(*, only_new: bool = False) -> list[Mutant[tuple[str, SecondMutant]]]:
    """Return the mutants of all servers, or only those without recorded verdicts; an id begins with the server."""
    return [
        Mutant(
            f"{name}/{mutant.id}",
            f"examples/second/{name}/{mutant.place}",
            f"{mutant.judged}  {mutant.clause}",
            (name, mutant),
        )
        for name, server in SERVERS.items()
        for mutant in load(server.source)
        if not only_new or mutant.id not in load_recorded(server.source)
    ]


def run_mutants(mutants: Sequence[tuple[str, SecondMutant]], results: Results) -> None:
    """Start each server with one mutant after the other, and run the requirements that the mutant names.

    The verdicts are recorded in `found.json`, and the pages are written again. A verdict that differs from the recorded
    one is reported.
    """
    for name, mutants_of_server in groupby(sorted(mutants, key=itemgetter(0)), itemgetter(0)):
        server = SERVERS[name]
        with tempfile.TemporaryDirectory() as folder, server.surroundings(Path(folder)) as around:
            for _, mutant in mutants_of_server:
                start_time = time.monotonic()
                rows = found_by(server, around, mutant)
                before = load_recorded(server.source).get(mutant.id)
                record(server.source, mutant.id, rows)
                results.add(_result(name, mutant, rows, before, round(time.monotonic() - start_time, 1)))
    write_pages()


def write_pages() -> None:
    """Write `mutants.md` of each server from its mutants and the recorded verdicts."""
    for server in SERVERS.values():
        text = page(server.title, load(server.source), load_recorded(server.source))
        (server.source / "mutants.md").write_text(text, "utf-8")


def found_by(server: Server, around: Mapping[str, str], mutant: SecondMutant) -> list[str]:
    """Start a server with a mutant and return the requirements that do not pass, with the marks of `found.json`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            with server.start(around, mutant.copy_into(folder / "source", server.source), folder) as profile:
                return find_noticing_rows(profile, mutant.asked, server.otherwise)
        except RuntimeError:
            return [_NO_START]


def _result(
    server: str, mutant: SecondMutant, rows: Sequence[str], before: Sequence[str] | None, seconds: float
) -> Result:
    verdicts = Verdicts.of(rows)
    outcome = {"fails": "killed", "warns": "warned", "undecided": "unsettled", "missed": "survived"}[verdicts.outcome]
    return Result(
        KIND,
        f"{server}/{mutant.id}",
        "no-start" if _NO_START in rows else outcome,
        []
        if before is None or before == rows
        else [f"recorded: {' '.join(before) or 'nothing'}", f"now: {' '.join(rows) or 'nothing'}"],
        killed_by=dict.fromkeys(verdicts.fails, ""),
        warned_by=dict.fromkeys(verdicts.warns, ""),
        unsettled=dict.fromkeys(verdicts.undecided_rows, ""),
        seconds=seconds,
        facts={"clause": mutant.clause, "judged": mutant.judged, "is_new": before is None},
    )
