"""`python -m tools.bench.reference.webhook_sink`: a minimal webhook receiver in its own process.

It prints its port and answers each POST with 200 as soon as all of it is there, until its standard input ends.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import uvloop

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_LENGTH = re.compile(rb"\r\ncontent-length: ([0-9]+)\r\n", re.IGNORECASE)
_HEAD_ENDS = b"\r\n\r\n"
_END_SECONDS = 10


@contextmanager
def receiver() -> Iterator[str]:
    """Let a receiver run; what is yielded is the address to post to."""
    words = [sys.executable, "-m", "tools.bench.reference.webhook_sink"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - fixed words
        assert process.stdin is not None  # noqa: S101 - always piped above
        assert process.stdout is not None  # noqa: S101 - as above
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/hook"
        finally:
            process.stdin.close()
            process.wait(_END_SECONDS)


class _Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        while (size := _size(self._seen)) is not None and len(self._seen) >= size:
            self._seen = self._seen[size:]
            self._transport.write(_ANSWER)


def _size(received_bytes: bytes) -> int | None:
    """Return the size of the first request, None while its head is not all there."""
    head = received_bytes.find(_HEAD_ENDS)
    if head < 0:
        return None
    length = _LENGTH.search(received_bytes, 0, head + 2)
    return head + len(_HEAD_ENDS) + (0 if length is None else int(length[1]))


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Receiver, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - what this program tells
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(_serve())
