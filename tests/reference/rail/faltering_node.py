"""A node that fails at one chosen call: before it heard it, or after it did what it was asked."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import orjson


class FalteringNode:
    """Passes calls on to a node, but for one; who fails a call of a batch fails the batch.

    Attributes:
        url: Its address.
        failed: Methods of the calls that it failed.
        takes_batches: Whether it does.
    """

    def __init__(self, behind: str, *, takes_batches: bool = True) -> None:
        self.failed: list[str] = []
        self.takes_batches = takes_batches
        self._behind = httpx.Client(base_url=behind, trust_env=False, timeout=30)
        self._method = ""
        self._left = 0
        self._deaf = False
        self._lock = threading.Lock()
        node = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                status, body = node._answer(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def fail(self, method: str, time: int, *, deaf: bool) -> None:
        """Fail a method the `time`-th time that it is called from now on; `deaf` does not even hear it."""
        with self._lock:
            self._method, self._left, self._deaf = method, time, deaf

    def _answer(self, body: bytes) -> tuple[int, bytes]:
        document = orjson.loads(body)
        if isinstance(document, list) and not self.takes_batches:
            return 200, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}'
        methods = [call["method"] for call in (document if isinstance(document, list) else [document])]
        with self._lock:
            before = self._left
            self._left -= methods.count(self._method)
            fails, deaf = self._left < 1 <= before, self._deaf
            self.failed += [self._method] if fails else []
        if fails and deaf:
            return 503, b"upstream connect error"
        answer = self._behind.post("/", content=body, headers={"Content-Type": "application/json"})
        return (504, b"upstream timed out") if fails else (answer.status_code, answer.content)

    def stop(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._behind.close()
