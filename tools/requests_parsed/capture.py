"""What the suite puts on its sockets, byte for byte: the event log names secrets and payments, so it cannot show them.

`python -m tools.requests_parsed.capture FILE run …` is `weldproof run …` in this process, with every `send` of a Python
socket noted. A line of FILE (NDJSON in gzip) is an exchange: `n` and `check` as in the event log, `at` (unix seconds
when it began), `port`, `sent` (base64 of its bytes), `status` and `answer` (base64, null where too long); or what went
to a node, in the order of time: `node` (port), `at`, `sent`.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import socket
import sys
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final
from weakref import WeakKeyDictionary

from conformance.cli import main as weldproof
from conformance.http.client import Client
from conformance.log.events import EventLog
from conformance.processes import interrupt

_LONGEST_ANSWER: Final = 65_536


@dataclass(slots=True)
class Sent:
    """Bytes of one exchange, or of one connection to a node."""

    at: float = field(default_factory=time.time)
    port: int = 0
    pieces: list[bytes] = field(default_factory=list)

    def line(self) -> dict[str, Any]:
        """Return the members that every line has."""
        return {"at": round(self.at, 3), "sent": base64.b64encode(b"".join(self.pieces)).decode()}


EXCHANGE: ContextVar[Sent | None] = ContextVar("EXCHANGE", default=None)


class Capture:
    """Notes what sockets send until `close`."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._nodes: WeakKeyDictionary[socket.socket, Sent] = WeakKeyDictionary()
        self._kept: list[Sent] = []

    def install(self) -> None:
        """Put itself between Python and its sockets, and between the recording client and its transport."""
        send, sendall, sendmsg = socket.socket.send, socket.socket.sendall, socket.socket.sendmsg

        def noted_send(sock: socket.socket, data: Any, *arguments: Any) -> int:
            count = send(sock, data, *arguments)
            self._note(sock, bytes(memoryview(data).cast("B")[:count]))
            return count

        def noted_sendall(sock: socket.socket, data: Any, *arguments: Any) -> None:
            sendall(sock, data, *arguments)
            self._note(sock, bytes(data))

        def noted_sendmsg(sock: socket.socket, buffers: Any, *arguments: Any) -> int:
            parts = [bytes(one) for one in buffers]
            count = sendmsg(sock, parts, *arguments)
            self._note(sock, b"".join(parts)[:count])
            return count

        for name, replacement in (("send", noted_send), ("sendall", noted_sendall), ("sendmsg", noted_sendmsg)):
            setattr(socket.socket, name, replacement)
        self._client()

    def _client(self) -> None:
        once, add = Client._send_once, EventLog.add  # noqa: SLF001 - the seam where an exchange has its number
        numbers: ContextVar[list[int]] = ContextVar("numbers")

        async def noted_once(client: Client, *arguments: Any, **options: Any) -> Any:
            record, number = Sent(), list[int]()
            EXCHANGE.set(record)
            numbers.set(number)
            answer = None
            try:
                answer = await once(client, *arguments, **options)
            finally:
                EXCHANGE.set(None)
                body = answer.body if answer is not None and len(answer.body) <= _LONGEST_ANSWER else None
                line_members = {
                    "n": number[0] if number else None,
                    "check": client._check,  # noqa: SLF001
                    "port": record.port,
                    "status": answer.status if answer is not None else None,
                    "answer": None if body is None else base64.b64encode(body).decode(),
                }
                self._file.write(json.dumps(line_members | record.line()) + "\n")
            return answer

        def noted_add(log: EventLog, event: str, **members: Any) -> None:
            if event == "exchange" and (number := numbers.get([])) is not None:
                number.append(members["n"])
            add(log, event, **members)

        setattr(Client, "_send_once", noted_once)  # noqa: B010 - mypy lets no method be assigned
        setattr(EventLog, "add", noted_add)  # noqa: B010

    def _note(self, sock: socket.socket, data: bytes) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6):
            return
        record = EXCHANGE.get()
        if record is None:
            record = self._nodes.get(sock)
            if record is None:
                record = self._nodes[sock] = Sent()
                self._kept.append(record)
        if not record.port:
            record.port = sock.getpeername()[1]
        record.pieces.append(data)

    def close(self) -> None:
        """Write what went to nodes."""
        for record in self._kept:
            self._file.write(json.dumps({"node": record.port} | record.line()) + "\n")


def main() -> None:
    """Run the command of the suite and note what it sends."""
    # uvloop's sockets are no Python sockets.
    interrupt.make_loop = asyncio.new_event_loop
    Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(sys.argv[1], "wt", compresslevel=3) as file:
        capture = Capture(file)
        capture.install()
        try:
            weldproof(args=sys.argv[2:], prog_name="weldproof")
        finally:
            capture.close()


if __name__ == "__main__":
    main()
