"""Servers of stock Node.js, and what it does by itself: how it keeps connections, refuses, redirects, breaks off."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from programs.node import node
from tests.conformance.wrong_targets import certificates

_PROGRAM = Path(__file__).parent / "node" / "servers.mjs"


@contextmanager
def node_servers(folder: Path) -> Iterator[Mapping[str, str]]:
    """Start every server of `node/servers.mjs` in one process and yield their places by name, 127.0.0.1 and the port.

    Args:
        folder: Gets the certificate, `server.pem` with `server.key`, of an unknown authority; once `over` is
            in there, a server that stalls goes on.
    """
    certificates(folder)
    words = [str(node().path), str(_PROGRAM), *(str(folder / name) for name in ("server.pem", "server.key", "over"))]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            ports: dict[str, int] = json.loads(process.stdout.readline())
            yield {name: f"127.0.0.1:{port}" for name, port in ports.items()}
        finally:
            process.stdin.close()
            assert process.wait(600) == 0
