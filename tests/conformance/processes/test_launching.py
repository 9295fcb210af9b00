"""Starting the operator's programs at ports that are theirs from the start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.http.client import Names
from conformance.processes.launching import Program, run_program

# A server that tells in a file whether its port was in use before it listened there, and listens as its arguments say.
SERVER = """
import http.server, socket, sys
port, report, reuses = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "reuses"
with socket.socket() as probe:
    try:
        probe.bind(("127.0.0.1", port))
        found = "free"
    except OSError:
        found = "kept"
with open(report, "a") as file:
    file.write(found + "\\n")
http.server.HTTPServer.allow_reuse_address = reuses
http.server.HTTPServer(("127.0.0.1", port), http.server.BaseHTTPRequestHandler).serve_forever()
"""


@pytest.mark.parametrize(("address", "tries"), [("reuses", ["kept"]), ("does not reuse", ["kept", "free"])], ids=str)
async def test_the_port_of_a_program_is_kept_until_it_listens(address: str, tries: list[str], tmp_path: Path) -> None:
    """So no other server's answer is taken for its own; a server that cannot listen next to the keeper comes up too."""
    output_file = tmp_path / "told"
    program = Program((sys.executable, "-c", SERVER, "{port}", str(output_file), address), {}, 0, "a server")
    async with run_program(program, Names()) as program_found:
        assert program_found.alive
    assert output_file.read_text().splitlines() == tries
