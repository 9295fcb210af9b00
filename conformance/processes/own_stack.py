"""The stack of `run --reference`, started as a child process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from conformance import extras, target
from conformance.ledger import Requirement
from conformance.processes.children import end_child
from conformance.processes.process_cleanup import temporary_folder
from conformance.target import Profile

# The surfaces of the stack; rows of other surfaces are not applicable on it.
SURFACES = frozenset({"rail", "gateway", "agent", "control_plane"})
_PAYER = "payer"
# These rows need an agent that can reach no network, and an agent whose limit they may exhaust.
_SECOND_AGENT_ROWS = frozenset({"AGENT-VERIFY-20", "AGENT-RATE-01"})
# These rows exhaust a rail's limits, and take its nodes away for longer than other rows could bear.
_LIMITED_RAIL_ROWS = frozenset({"RAIL-RATE-01", "RAIL-LANE-06", "RAIL-402-25"})
# Surfaces that a row checks if they are claimed, in addition to those that it needs.
_ALSO = {"WH-DELIV-09": ("agent",)}
_READY_SECONDS = 300.0
_END_SECONDS = 60.0


class StackFault(Exception):
    """The stack did not start; the text is its output."""


@dataclass(frozen=True, slots=True)
class OwnStack:
    """A running stack and its profile."""

    profile: Profile
    profile_path: Path


def list_surface_options(rows: Iterable[Requirement], *, companions: bool = True) -> list[str]:
    """Return the options of `weldproof up` that start only the surfaces of these rows; all surfaces if none is named.

    Args:
        rows: The selected rows.
        companions: Whether to start the services that only some rows need, if these rows are selected.
    """
    rows = tuple(rows)
    row_surfaces = {surface for row in rows for surface in _list_surfaces(row)}
    # For a payer the suite plays the rail, so only the chains are needed.
    if row_surfaces == {_PAYER}:
        return ["--chains-only"]
    surfaces = row_surfaces & SURFACES or SURFACES
    needs_companions = "gateway" in surfaces or any(row.id in _SECOND_AGENT_ROWS | _LIMITED_RAIL_ROWS for row in rows)
    words = [word for surface in sorted(surfaces) for word in ("--surface", surface)]
    return [*words, "--companions"] if needs_companions and companions else words


def _list_surfaces(row: Requirement) -> tuple[str, ...]:
    """Return the surfaces that a row needs; webhooks need the gateway, which sends them."""
    own = ("gateway", *row.surfaces) if row.surface == "webhooks" else (row.surface,)
    return (*own, *_ALSO.get(row.id, ()))


@asynccontextmanager
async def start_own_stack(options: Sequence[str] = ()) -> AsyncIterator[OwnStack]:
    """Start the stack in a temporary folder, with free ports, and end it on leaving.

    Args:
        options: Further options of `weldproof up`, such as `--mutant ID`.

    Raises:
        StackFault: It did not start.
        MissingExtra: It is not installed.
    """
    extras.need("reference")
    with temporary_folder() as folder:
        words = folder / "up.log"
        with words.open("wb") as log:
            # A child process, although it is Python: a fault of the stack cannot damage the run, and both use several
            # cores.
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "localnet", "up", "--json", "--port-base", "0", "--no-working-profile"),
                # Rows about addons start their own.
                *("--no-addons", "--no-companions", "--data-dir", str(folder), *options),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield await _wait_until_ready(process, words)
        finally:
            await end_child(process, _END_SECONDS)


async def _wait_until_ready(process: asyncio.subprocess.Process, words: Path) -> OwnStack:
    assert process.stdout is not None  # noqa: S101 - always piped above
    try:
        async with asyncio.timeout(_READY_SECONDS):
            line = await process.stdout.readline()
        path = Path(orjson.loads(line)["profile"])
    except (TimeoutError, orjson.JSONDecodeError, KeyError, TypeError) as fault:
        output = words.read_text("utf-8", "replace").strip() or "it said nothing"
        raise StackFault(f"our own stack did not come up: {output}") from fault
    return OwnStack(target.load(path), path)
