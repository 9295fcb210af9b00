"""Processes that a check starts: the operator's control plane and addons."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from conformance.engine.check import Case
from conformance.outcome import Inconclusive
from conformance.processes.launching import Program, RunningProgram, run_program
from conformance.processes.process_cleanup import temporary_folder
from conformance.surfaces.control_plane.access import Hub
from conformance.target.hub import BUNDLED, HUB_PORT, PORTS, Addon

TOKEN_FILE = "admin_token"  # noqa: S105 - a file's name
_OTHER_PORT = 8080
_TOKEN_SECONDS = 2.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class StartedHub:
    """A control plane that the suite started.

    Attributes:
        hub: Its client, with its admin token if there is one.
        process: Its process.
    """

    hub: Hub
    process: RunningProgram

    @property
    def folder(self) -> Path:
        """Its data directory."""
        return self.process.folder


@dataclass(frozen=True, slots=True)
class AddonSubject:
    """An addon under test.

    Attributes:
        name: Its name in the profile.
        addon: Its table in the profile.
        is_bundled: Whether it is one of the interface's bundled services.
    """

    name: str
    addon: Addon
    is_bundled: bool

    @property
    def where(self) -> dict[str, str]:
        """The addon of a judgement, for the reader."""
        return {"addon": self.name}

    @property
    def program(self) -> Program:
        """The program that starts it.

        Raises:
            Inconclusive: The profile has no command.
        """
        if self.addon.command is None:
            raise Inconclusive(f"needs to start the addon: give [addons.{self.name}] command")
        port = PORTS.get(self.name, _OTHER_PORT)
        return Program(self.addon.command, dict(self.addon.environment or {}), port, f"the addon {self.name}")


def hub_program(case: Case) -> Program:
    """Return the program that starts the operator's control plane.

    Raises:
        Inconclusive: The profile has no command.
    """
    bindings = case.profile.hub_bindings
    if bindings.command is None:
        raise Inconclusive("needs to start a control plane: give [hub] command, word by word")
    return Program(bindings.command, dict(bindings.environment or {}), HUB_PORT, "the control plane")


def token_in(folder: Path) -> str | None:
    """Return the admin token of a data directory, or None."""
    try:
        return (folder / TOKEN_FILE).read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


async def _token_once_there(folder: Path) -> str | None:
    """Return the admin token, or None if the file does not appear within two seconds of the first answer."""
    # The interface does not say whether the service answers first or writes the token first.
    ends = time.monotonic() + _TOKEN_SECONDS
    while True:
        token = token_in(folder)
        if token is not None or time.monotonic() > ends:
            return token
        await asyncio.sleep(_POLL_SECONDS)


@contextmanager
def data_folder() -> Iterator[Path]:
    """Yield an empty data directory in a temporary folder, so that files next to it are also removed."""
    with temporary_folder("weldproof-hub-") as around:
        place = around / "data"
        # A control plane may refuse a data directory that others can read.
        place.mkdir(mode=0o700)
        yield place


@asynccontextmanager
async def started_hub(case: Case, folder: Path | None = None, **variables: str) -> AsyncIterator[StartedHub]:
    """Start a control plane on SQLite in an empty or given data directory, and end it on leaving.

    Args:
        case: The case of the check that starts it.
        folder: Its data directory.
        variables: Further environment.

    Raises:
        Inconclusive: It cannot be started.
    """
    with data_folder() as own:
        place = folder or own
        program = hub_program(case).with_environment(S2CP_DATA_DIR=str(place), **variables)
        async with run_program(program, case.client.names, folder=place) as process:
            case.client.names.secret(process.url.removeprefix("http://"), "HUB_ADDRESS")
            token = await _token_once_there(place)
            if token is not None:
                case.client.names.secret(token, "ADMIN_TOKEN")
            yield StartedHub(Hub(case, process.url, case.profile.hub_bindings, token), process)


def bundled_names(case: Case) -> tuple[str, ...]:
    """Return the bundled services that the profile names, by default all of the interface."""
    return case.profile.hub_bindings.bundled if case.profile.hub_bindings.bundled is not None else BUNDLED


def subjects(case: Case, *, bundled_only: bool = False) -> list[AddonSubject]:
    """Return the addons of the profile that are started for checks, in its order.

    Raises:
        Inconclusive: The profile has no addon.
    """
    names = bundled_names(case)
    addons = [
        AddonSubject(name, addon, name in names)
        for name, addon in case.profile.addon_bindings.items()
        if name in names or (name not in BUNDLED and not bundled_only)
    ]
    if bundled_only:
        names_of_addons = {one.name for one in addons}
        addons += [AddonSubject(name, Addon(), is_bundled=True) for name in names if name not in names_of_addons]
    if not addons:
        raise Inconclusive("needs an addon to start: give [addons.NAME] command, or --addon -- COMMAND")
    return addons


@asynccontextmanager
async def started_addon(
    case: Case,
    subject: AddonSubject,
    hub_url: str,
    token: str,
    folder: Path | None = None,
    *,
    variables: Mapping[str, str] = MappingProxyType({}),
    without: Collection[str] = (),
) -> AsyncIterator[RunningProgram]:
    """Start an addon with the three variables of the contract, and end it on leaving.

    Args:
        case: The case of the check that starts it.
        subject: The addon.
        hub_url: Address of its hub.
        token: Token of its hub.
        folder: Its data directory.
        variables: Further environment.
        without: Variables of the contract that it does not get.

    Raises:
        Inconclusive: It cannot be started.
    """
    own = subject.addon.url
    contract = {
        # The operator's environment may override the port, but not the three variables of the
        # contract.
        "PORT": "{port}",
        **subject.program.environment,
        "S2_HUB_URL": hub_url,
        "S2_HUB_TOKEN": token,
        "S2_HUB_SELF_URL": (own or "http://127.0.0.1:{port}").rstrip("/"),
        **variables,
    }
    environment = {name: value for name, value in contract.items() if name not in without}
    async with run_program(
        subject.program.with_environment(**environment), case.client.names, folder=folder, at=own
    ) as process:
        case.client.names.secret(process.url.partition("://")[2], "ADDON_ADDRESS")
        yield process
