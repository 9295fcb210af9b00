"""Child processes of the comparison: ready lines, readiness by asking, and localnet's control address."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from localnet.sidecar_node import SidecarTarget

SECONDS = 600.0


def ready_line(process: subprocess.Popen[str]) -> Any:
    """Return the JSON object that a process prints when it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the process ended before it was ready"
    return json.loads(line)


def post_json(url: str, body: bytes) -> tuple[int, dict[str, Any]]:
    """Return status and JSON of a POST."""
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())


def until_it_answers(url: str, method: str) -> None:
    """Ask a node until it answers."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    ends = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=SECONDS):
                return
        except OSError:
            assert time.monotonic() < ends, f"{url} did not answer"
            time.sleep(0.02)


@contextmanager
def run_sidecar(kind: str, url: str, secret: Path | None = None) -> Iterator[str]:
    """Serve localnet's control address in front of a real node, and prepare that node."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        front = SidecarTarget(kind, listener.fileno(), url, secret)
        words = [sys.executable, "-m", "localnet.sidecar", *front.words()]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, pass_fds=[listener.fileno()]) as process:
            try:
                ready_line(process)
                yield "http://{}:{}/control".format(*listener.getsockname())
            finally:
                process.terminate()
