"""The servers of `examples/second`: where their source is, and how a copy of it is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.mutants.second import agent, rail


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        title: Its name on its page.
        source: Its folder.
        surroundings: Holds what it needs for as long as its mutants run, in a folder.
        started: Starts a copy of its source beside those surroundings, with a folder for its data, and gives the
            profile that describes it.
        otherwise: Rows that it leaves undecided as it stands.
    """

    title: str
    source: Path
    surroundings: Callable[[Path], AbstractContextManager[Mapping[str, str]]]
    started: Callable[[Mapping[str, str], Path, Path], AbstractContextManager[Path]]
    otherwise: tuple[str, ...] = ()


SERVERS: Final[Mapping[str, Server]] = {
    "agent": Server(
        "the second agent and control plane",
        agent.SOURCE,
        agent.nothing,
        agent.servers,
        ("CP-CONF-04",),
    ),
    "rail": Server("the second rail", rail.SOURCE, rail.chain, rail.rail),
}
