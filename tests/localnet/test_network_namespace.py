"""An isolated process reaches no other process, and still answers on the socket that it inherited."""

from __future__ import annotations

import asyncio
import os
import socket
import sys

import pytest

from localnet import network_namespace

# Answers one connection with whether this process could open one itself.
PROGRAM = """
import socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), 2).close()
    word = b"reached"
except OSError as fault:
    word = str(fault.errno).encode()
connection, _ = listening.accept()
connection.sendall(word)
connection.close()
"""


async def test_a_process_apart_answers_and_reaches_nobody() -> None:
    """The inherited socket takes calls from outside; a call from inside finds no network."""
    words = await network_namespace.command_prefix()
    if not words:
        pytest.skip("this machine allows no network namespaces")
    with socket.create_server(("127.0.0.1", 0)) as inherited_socket, socket.create_server(("127.0.0.1", 0)) as outside:
        inherited_socket.set_inheritable(True)
        port = outside.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            *(*words, sys.executable, "-c", PROGRAM, str(inherited_socket.fileno()), str(port)),
            pass_fds=[inherited_socket.fileno()],
        )
        reader, writer = await asyncio.open_connection(*inherited_socket.getsockname())
        assert await reader.read() != b"reached"
        writer.close()
        assert await process.wait() == 0


def test_a_process_is_not_apart_from_itself() -> None:
    """The same namespace is not another one, and a process that is gone is in none."""
    assert not network_namespace.is_apart(os.getpid())
    assert not network_namespace.is_apart(2**22 + 1)


async def test_without_the_program_nothing_is_started_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No unshare on the path, no words."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert await network_namespace.command_prefix() == ()
