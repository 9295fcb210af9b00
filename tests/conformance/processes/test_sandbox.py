"""A network namespace: calls to anywhere are seen and stay inside, ports are free, /app is empty, exceptions pass."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from conformance.http.client import Names
from conformance.processes.launching import Program
from conformance.processes.sandbox import EnclosedProgram, command_prefix, run_enclosed

SERVER = """
import http.server, os, pathlib, socket, threading, urllib.request
pathlib.Path("/app/made").write_text(os.environ["SECRET_WORD"])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here")
    def log_message(self, *_):
        pass
def outside():
    for url in os.environ["URLS"].split():
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            pass
    pathlib.Path("/app/done").touch()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8094), Handler)
threading.Thread(target=outside).start()
server.serve_forever()
"""


@pytest.fixture(autouse=True)
async def skip_without_namespaces() -> None:
    """Skip where the machine allows no namespaces."""
    if not await command_prefix():
        pytest.skip("this machine allows no network namespaces")


def program(*urls: str) -> Program:
    """Return a server at 8094 that calls addresses."""
    words = (sys.executable, "-I", "-c", SERVER)
    return Program(words, {"URLS": " ".join(urls), "SECRET_WORD": "a-word-of-secrecy"}, 8094, "a server")


async def list_destinations(inside: EnclosedProgram) -> set[str]:
    """Wait until the server has called everybody, and return whom."""
    # What the watcher saw comes by a pipe: the last call is known once it has come.
    async with asyncio.timeout(240):
        while not (inside.app / "done").exists() or not any(one.address == "192.0.2.9" for one in inside.calls):  # noqa: ASYNC110 - another process's doing
            await asyncio.sleep(0.05)
    return {one.description for one in inside.calls}


async def test_every_call_is_seen() -> None:
    """Addresses of IPv4 and names are reported with their ports; the server's own port is reached from outside."""
    urls = ("http://192.0.2.7:8080/x", "http://absent.example/", "http://192.0.2.9/")
    async with run_enclosed(program(*urls), Names(), ports=(8094,)) as inside:
        assert await inside.answers(8094)
        destinations = await list_destinations(inside)
        assert {"tcp 192.0.2.7 port 8080", "tcp 192.0.2.9 port 80"} <= destinations
        # A machine without a name server makes no query, one with a search list asks for more names.
        assert all(one.startswith("DNS for absent.example") for one in destinations if "DNS" in one)
        assert (inside.app / "made").read_text() == "a-word-of-secrecy"
    assert not Path("/app/made").exists()


async def test_two_of_a_port_side_by_side_and_services_within_reach() -> None:
    """Two enclosed servers at one port do not meet; a service of this machine is reached where that is allowed."""
    requests: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    service = await asyncio.start_server(hear, "127.0.0.1", 0)
    port = service.sockets[0].getsockname()[1]
    urls = (f"http://127.0.0.1:{port}/health", "http://192.0.2.9/")
    async with (
        run_enclosed(program(*urls), Names(), ports=(8094,), services=(port,)) as first,
        run_enclosed(program(*urls), Names(), ports=(8094,)) as second,
    ):
        assert await first.answers(8094)
        assert await second.answers(8094)
        assert f"tcp 127.0.0.1 port {port}" in await list_destinations(first) & await list_destinations(second)
    service.close()
    assert requests == [b"GET /health HTTP/1.1\r\n"]


async def test_a_program_that_ends_is_quoted_without_secrets() -> None:
    """What it said last is reported, its secrets by their names."""
    names = Names()
    names.secret("a-word-of-secrecy", "SECRET_WORD")
    words = (sys.executable, "-I", "-c", "import os; print(os.environ['SECRET_WORD']); raise SystemExit(3)")
    async with run_enclosed(
        Program(words, {"SECRET_WORD": "a-word-of-secrecy"}, 8094, "it"), names, ports=(8094,)
    ) as inside:
        assert not await inside.answers(8094)
        assert inside.is_over
        assert inside.output_end == "$SECRET_WORD"


async def test_a_machine_that_is_slow_to_start_a_program_is_given_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the start takes twice what is usual, so may the answer; a quick start earns no more than was asked for."""
    late = Program(
        (sys.executable, "-I", "-c", f"import time; time.sleep(2.6)\n{SERVER}"),
        {"URLS": "", "SECRET_WORD": "w"},
        8094,
        "it",
    )
    async with run_enclosed(late, Names(), ports=(8094,)) as inside:
        assert not await inside.answers(8094, 1.5)
    slowly = "import sys, time\nif 'conformance.processes.sandbox_init' in sys.orig_argv: time.sleep(4.5)\n"
    (tmp_path / "sitecustomize.py").write_text(slowly)
    monkeypatch.syspath_prepend(tmp_path)
    async with run_enclosed(late, Names(), ports=(8094,)) as inside:
        assert await inside.answers(8094, 1.5)
        assert inside.slowness > 2
