"""A target was restarted if other processes hold its socket, or if it was away and answers again."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from conformance.live.target_restart_detection import find_holders, read_server_states, wait_until_restarted

POLL = 0.02
# Serves on the socket that it was handed, and says so.
CHILD = """
import socket, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler, bind_and_activate=False)
server.socket.close()
server.socket = socket.socket(fileno=int(sys.argv[1]))
print("ready", flush=True)
server.serve_forever()
"""


class Quiet(BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def child(listener: socket.socket) -> Iterator[subprocess.Popen[str]]:
    """Have another process serve on a socket."""
    words = [sys.executable, "-c", CHILD, str(listener.fileno())]
    with subprocess.Popen(words, pass_fds=[listener.fileno()], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def test_holders_are_the_processes_with_the_socket() -> None:
    """Ours while we listen, and none afterwards; each with its start time, since numbers come again."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ((number, start_time),) = find_holders(port)
        assert (number, start_time.isdecimal()) == (os.getpid(), True)
    assert find_holders(port) == frozenset()


def test_holders_are_seen_on_ipv6_too() -> None:
    """A server that listens on every address of the machine has a socket of IPv6 alone."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        assert {number for number, _ in find_holders(listener.getsockname()[1])} == {os.getpid()}


async def test_a_reload_that_hands_its_socket_on_is_seen() -> None:
    """The address always accepts connections, as with a development server's reloader; only its worker is another."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with child(listener):
            before = find_holders(listener.getsockname()[1])
            wait_task = asyncio.ensure_future(wait_until_restarted(await read_server_states([url]), poll=POLL))
            await asyncio.sleep(10 * POLL)
            assert not wait_task.done()
        with child(listener):
            assert await asyncio.wait_for(wait_task, 600) == url
            assert find_holders(listener.getsockname()[1]) != before


async def test_a_server_elsewhere_is_seen_to_be_back() -> None:
    """What is no address of ours by its name is asked; it must have been away."""
    with socket.create_server(("127.0.0.2", 0)) as listener:
        place = listener.getsockname()
    url = f"http://127.0.0.2:{place[1]}"
    wait_task = asyncio.ensure_future(wait_until_restarted(await read_server_states([url]), poll=POLL))
    await asyncio.sleep(10 * POLL)
    assert not wait_task.done()
    with ThreadingHTTPServer(place, Quiet) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert await asyncio.wait_for(wait_task, 600) == url
        again = asyncio.ensure_future(wait_until_restarted(await read_server_states([url]), poll=POLL))
        await asyncio.sleep(10 * POLL)
        assert not again.done()
        again.cancel()
        server.shutdown()
