"""The servers of `examples/second`: where their source is, and how a copy of it is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.breaches import second_agent, second_rail
from tools.breaches.breach import Breach, broken


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        title: What its page is called.
        source: Its folder.
        surroundings: Holds what it needs for as long as breaches of it are tried, in a folder.
        started: Starts a copy of its source beside those surroundings, with a folder for its data, and gives the
            profile that describes it.
        otherwise: Rows that it leaves undecided as it stands.
    """

    title: str
    source: Path
    surroundings: Callable[[Path], AbstractContextManager[Mapping[str, str]]]
    started: Callable[[Mapping[str, str], Path, Path], AbstractContextManager[Path]]
    otherwise: tuple[str, ...] = ()

    def with_breach(self, around: Mapping[str, str], breach: Breach, folder: Path) -> AbstractContextManager[Path]:
        """Start it with a breach in it, and give the profile that describes it."""
        return self.started(around, broken(breach, self.source, folder / "source"), folder)


SERVERS: Final[Mapping[str, Server]] = {
    "agent": Server(
        "the second agent and control plane",
        second_agent.SOURCE,
        second_agent.nothing,
        second_agent.servers,
        ("CP-CONF-04",),
    ),
    "rail": Server("the second rail", second_rail.SOURCE, second_rail.chain, second_rail.rail),
}
