"""The second agent and control plane, which need nothing beside them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from programs import node

TOP: Final = Path(__file__).parents[3]
SOURCE: Final = TOP / "examples" / "second" / "agent"
_NO_LIMIT: Final = "1000000"


def nothing(_: Path) -> nullcontext[Mapping[str, str]]:
    """Hold no surroundings."""
    return nullcontext({})


@contextmanager
def servers(_: Mapping[str, str], source: Path, folder: Path) -> Iterator[Path]:
    """Run both servers from a folder of sources, each at a free port, and give the profile that names them."""
    command = str(node.node().path)
    data = folder / "data"
    with ExitStack() as stack:
        agent = stack.enter_context(_server(command, source / "agent.mjs", WP_AGENT_PORT="0", WP_AGENT_RATE=_NO_LIMIT))
        control_plane = stack.enter_context(
            _server(command, source / "control_plane.mjs", S2CP_PORT="0", S2CP_RATE=_NO_LIMIT, S2CP_DATA_DIR=str(data))
        )
        text = (SOURCE / "weldproof.toml").read_text("utf-8")
        for old, new in (
            ("http://localhost:8403", agent),
            ("http://localhost:8094", control_plane),
            ("../../../data/second", str(data)),
            ('["node", ', f'["{command}", '),
            ("examples/second/agent/", f"{source}/"),
            ("examples/addon.mjs", str(TOP / "examples" / "addon.mjs")),
        ):
            text = text.replace(old, new)
        profile = folder / "weldproof.toml"
        profile.write_text(text, "utf-8")
        yield profile


@contextmanager
def _server(command: str, script: Path, **settings: str) -> Iterator[str]:
    """Run one server and give its address, which it prints when it listens."""
    with subprocess.Popen([command, str(script)], env=settings, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own script
        assert process.stdout is not None  # noqa: S101 - always piped above
        try:
            address = process.stdout.readline().strip().removeprefix("listening on ")
            if not address:
                raise RuntimeError(f"{script.name} did not start")
            yield address
        finally:
            process.kill()
