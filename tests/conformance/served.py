"""A small HTTP server of a test's own on a free port, in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, str, Any, bytes], tuple[int, Any]]


@dataclass
class Served:
    """A server that runs.

    Attributes:
        url: Its address, without a slash at its end.
        calls: Method and target of each call, in order.
    """

    url: str
    calls: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def serve(answer: Answer) -> Iterator[Served]:
    """Serve what `answer` says of method, target, header fields and body: a status and a JSON value."""
    calls: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            calls.append((self.command, self.path))
            status, value = answer(self.command, self.path, self.headers, body)
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = _take  # noqa: N815 - names that the server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}", calls)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
