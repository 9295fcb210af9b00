"""Documents served on this machine, for what fetches keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@contextmanager
def serve_documents(answers: dict[str, tuple[int, dict[str, str], bytes]]) -> Iterator[int]:
    """Serve fixed answers by path and yield the port."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ARG002 - its form there
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
