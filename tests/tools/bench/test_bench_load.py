"""The loader counts whole answers of the right status and nothing else; CPU time is the server's own."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys

import pytest

from tools.bench import load, process_cpu_time

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (OK, len(OK)),
        (OK + OK, len(OK)),
        (OK[:-1], None),
        (OK[:20], None),
        (b"", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 59),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", None),
    ],
)
def test_an_answer_ends_where_its_head_says(data: bytes, end: int | None) -> None:
    """A part of an answer is no answer yet, and a second one behind it is not touched."""
    assert end == load.answer_end(data)


def test_an_answer_without_a_length_is_a_fault() -> None:
    """Its end could not be known."""
    with pytest.raises(load.LoadFault, match="how long"):
        load.answer_end(b"HTTP/1.1 200 OK\r\n\r\nwhatever")


async def serve_answer(answer: bytes) -> asyncio.Server:
    """Serve one answer, in two pieces, to each request."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(4)
            writer.write(answer[:30])
            await writer.drain()
            writer.write(answer[30:])

    async def tolerant(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return await asyncio.start_server(tolerant, "127.0.0.1", 0)


async def test_every_request_is_answered() -> None:
    """Fifty requests over eight connections are fifty answers."""
    server = await serve_answer(OK)
    async with server:
        requests = itertools.repeat(load.request("POST", "/", b"body"), 50)
        port = server.sockets[0].getsockname()[1]
        assert await load.send_all(port, requests, 200, connections=8) == 50


async def test_another_status_ends_the_load() -> None:
    """A server that refuses is not measured."""
    server = await serve_answer(OK.replace(b"200", b"503"))
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(load.LoadFault, match="503"):
            await load.send_all(port, itertools.repeat(load.request("GET", "/", b"body"), 9), 200, connections=2)


def test_the_cpu_time_of_a_group_is_counted() -> None:
    """A child that worked for a fifth of a second of CPU time cost about that."""
    work = "import time\nwhile time.process_time() < 0.2: pass\nprint('done', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        seconds = process_cpu_time.group_seconds(child.pid)
        own = process_cpu_time.process_seconds(child.pid)
        child.communicate(b"\n")
    assert 0.15 < seconds < 2
    assert 0.2 <= own < 2


def test_a_pin_is_taken_out_again() -> None:
    """The processors of this process are what they were."""
    before = os.sched_getaffinity(0)
    with process_cpu_time.pin_to(process_cpu_time.server_and_client()[1]):
        assert len(os.sched_getaffinity(0)) == 1
    assert before == os.sched_getaffinity(0)
