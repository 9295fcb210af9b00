"""The operator's control plane and addons as processes that a check starts for itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.processes.launching import Program, Running, running
from conformance.processes.watch import temporary_folder
from conformance.surfaces.control_plane.access import Hub
from conformance.target.hub import BUNDLED, HUB_PORT, PORTS, Addon

TOKEN_FILE = "admin_token"  # noqa: S105 - a file's name
_OTHER_PORT = 8080
_TOKEN_SECONDS = 2.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class StartedHub:
    """A control plane of the suite's own.

    Attributes:
        hub: How it is called, with its admin token once that is there.
        running: Its process.
    """

    hub: Hub
    process: Running

    @property
    def folder(self) -> Path:
        """Its data directory."""
        return self.process.folder


@dataclass(frozen=True, slots=True)
class AddonSubject:
    """An addon that a check looks at.

    Attributes:
        name: Its name in the profile.
        addon: How it is started and what is known of it.
        bundled: Whether it is one of the interface's bundled services.
    """

    name: str
    addon: Addon
    is_bundled: bool

    @property
    def where(self) -> dict[str, str]:
        """Which addon a judgement is about."""
        return {"addon": self.name}

    @property
    def program(self) -> Program:
        """How it is started.

        Raises:
            Inconclusive: Nobody says how.
        """
        if self.addon.command is None:
            raise Inconclusive(f"needs to start the addon: give [addons.{self.name}] command")
        port = PORTS.get(self.name, _OTHER_PORT)
        return Program(self.addon.command, dict(self.addon.environment or {}), port, f"the addon {self.name}")


def hub_program(case: Case) -> Program:
    """Return how the operator's control plane is started.

    Raises:
        Inconclusive: Nobody says how.
    """
    bindings = case.profile.hub_bindings
    if bindings.command is None:
        raise Inconclusive("needs to start a control plane: give [hub] command, word by word")
    return Program(bindings.command, dict(bindings.environment or {}), HUB_PORT, "the control plane")


def token_in(folder: Path) -> str | None:
    """Return the admin token of a data directory, None where there is none."""
    try:
        return (folder / TOKEN_FILE).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


async def _token_once_there(folder: Path) -> str | None:
    """Return the admin token, None where there is none a while after the first answer: nobody says which is first."""
    ends = time.monotonic() + _TOKEN_SECONDS
    while True:
        token = token_in(folder)
        if token is not None or time.monotonic() > ends:
            return token
        await asyncio.sleep(_POLL_SECONDS)


@contextmanager
def data_folder() -> Iterator[Path]:
    """Hold an empty data directory in a folder of its own: what is written beside it is removed with it."""
    with temporary_folder("weldproof-hub-") as around:
        place = around / "data"
        place.mkdir(mode=0o700)
        yield place


@asynccontextmanager
async def started_hub(case: Case, folder: Path | None = None, **variables: str) -> AsyncIterator[StartedHub]:
    """Start a control plane on SQLite in an empty data directory, or a given one, and end it on leaving.

    Args:
        case: The check that starts it.
        folder: Its data directory.
        variables: Further environment.

    Raises:
        Inconclusive: It cannot be started.
    """
    with data_folder() as own:
        place = folder or own
        program = hub_program(case).given(S2CP_DATA_DIR=str(place), **variables)
        async with running(program, case.client.names, folder=place) as process:
            case.client.names.secret(process.url.removeprefix("http://"), "HUB_ADDRESS")
            token = await _token_once_there(place)
            if token is not None:
                case.client.names.secret(token, "ADMIN_TOKEN")
            yield StartedHub(Hub(case, process.url, case.profile.hub_bindings, token), process)


def bundled_names(case: Case) -> tuple[str, ...]:
    """Return the bundled services that the operator says he has."""
    return case.profile.hub_bindings.bundled if case.profile.hub_bindings.bundled is not None else BUNDLED


def subjects(case: Case, *, bundled_only: bool = False) -> list[AddonSubject]:
    """Return the addons of the profile that are started to be looked at, in its order.

    Raises:
        Inconclusive: There is none.
    """
    names = bundled_names(case)
    addons = [
        AddonSubject(name, addon, name in names)
        for name, addon in case.profile.addon_bindings.items()
        if name in names or (name not in BUNDLED and not bundled_only)
    ]
    if bundled_only:
        names_of_addons = {one.name for one in addons}
        addons += [AddonSubject(name, Addon(), bundled=True) for name in names if name not in names_of_addons]
    if not addons:
        raise Inconclusive("needs an addon to start: give [addons.NAME] command, or --addon -- COMMAND")
    return addons


@asynccontextmanager
async def started_addon(
    case: Case, subject: AddonSubject, hub_url: str, token: str, folder: Path | None = None
) -> AsyncIterator[Running]:
    """Start an addon with the three variables of the contract, and end it on leaving.

    Raises:
        Inconclusive: It cannot be started.
    """
    own = subject.addon.url
    variables = {
        "PORT": "{port}",
        **subject.program.environment,
        "S2_HUB_URL": hub_url,
        "S2_HUB_TOKEN": token,
        "S2_HUB_SELF_URL": (own or "http://127.0.0.1:{port}").rstrip("/"),
    }
    async with running(subject.program.given(**variables), case.client.names, folder=folder, at=own) as process:
        case.client.names.secret(process.url.partition("://")[2], "ADDON_ADDRESS")
        yield process
