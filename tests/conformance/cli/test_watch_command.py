"""`weldproof watch`: it tries failed rows again after the target was restarted, and then everything."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.live.target_restart_detection import find_holders
from tests import prepared
from tests.conformance.cli.test_interrupted_runs import until
from tests.reserved_port import reserved_port

# A rail that sells one thing; its terms are in a file, read when it starts.
SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
PATH = "/pay/v1/receipt/verify"
TERMS = json.load(open(sys.argv[2]))
OPENAPI = {"openapi": "3.1.0", "paths": {PATH: {"post": {"responses": {"402": {}}, "requestBody": {"content":
    {"application/json": {"example": {"jws": "a.b.c"}}}}}}}}
class Rail(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def say(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.say(200 if self.path == "/openapi.json" else 404, OPENAPI if self.path == "/openapi.json" else {})
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.say(402 if self.path == PATH else 404, TERMS if self.path == PATH else {})
    def log_message(self, *words):
        pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Rail).serve_forever()
"""
ROWS = ("RAIL-402-01", "RAIL-402-03", "RAIL-402-04", "RAIL-402-09", "RAIL-402-13")


@contextmanager
def rail(port: int, folder: Path, **terms: object) -> Iterator[None]:
    """Serve a rail with these terms at a port."""
    offer = {"network": "eip155:8453", "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "maxAmountRequired": "1"}
    (folder / "terms.json").write_text(json.dumps({"x402Version": 2, "accepts": [offer], **terms}))
    words = [sys.executable, "-c", SERVER, str(port), str(folder / "terms.json")]
    with subprocess.Popen(words) as process:
        try:
            until(lambda: bool(find_holders(port)))
            yield
        finally:
            process.kill()


def rounds(log: Path) -> int:
    """Return how many rounds have come to their end, as the command's output says."""
    return log.read_text("utf-8").count("Waiting for")


def test_what_failed_is_tried_again_and_then_everything(tmp_path: Path) -> None:
    """One row is broken, then mended: the second round tries it alone, the third all; Ctrl-C ends it with 130."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    record_file = tmp_path / "said"
    words = [sys.executable, "-m", "conformance", "watch", *ROWS, "--target", f"rail=http://127.0.0.1:{port}"]
    with record_file.open("wb") as out, rail(port, tmp_path, x402Version=1):
        process = subprocess.Popen([*words, "--lane", "base"], cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT)
        try:
            until(lambda: rounds(record_file) == 1, process)
        except BaseException:
            process.kill()
            raise
    try:
        with rail(port, tmp_path):
            until(lambda: rounds(record_file) == 2, process)
        with rail(port, tmp_path):
            until(lambda: rounds(record_file) == 3, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 130
    finally:
        process.kill()
        process.wait()
    text = record_file.read_text("utf-8")
    first, second, third = text.split("\nRound ")[1:]
    assert first.startswith(f"1: {len(ROWS)} requirements")
    assert "Next: RAIL-402-03." in first
    assert second.startswith("2: 1 requirement, 2 checks")
    assert "Next: all requirements, because no failure is left" in second
    assert third.startswith(f"3: {len(ROWS)} requirements")
    assert "has restarted" in first
    assert "has restarted" in second
    assert (tmp_path / "report" / "index.html").exists()
    assert "http://127.0.0.1:" in text.partition(" shows each round")[0]


@pytest.mark.parametrize(("version", "code"), [(2, 0), (1, 1)])
def test_rounds_bound_it_and_the_last_ones_exit_code_is_its_own(version: int, code: int, tmp_path: Path) -> None:
    """So that a script may use it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ("watch", *ROWS[:2], "--target", f"rail=http://127.0.0.1:{port}", "--lane", "base", "--rounds", "1")
    with rail(port, tmp_path, x402Version=version):
        result = prepared.run("conformance", *words, env=os.environ, cwd=tmp_path, timeout=600)
    assert result.returncode == code, result.stdout + result.stderr


def test_it_wants_a_target_and_a_free_port(tmp_path: Path) -> None:
    """2 and 3, each with what to do."""
    result = prepared.run("conformance", "watch", env=os.environ, cwd=tmp_path, timeout=600)
    assert (result.returncode, "no target is given" in result.stderr) == (2, True), result.stderr
    with reserved_port() as port, socket.create_server(("127.0.0.1", 0)) as busy_server:
        words = ("--target", f"rail=http://127.0.0.1:{port}", "--port", str(busy_server.getsockname()[1]))
        result = prepared.run("conformance", "watch", *words, env=os.environ, cwd=tmp_path, timeout=600)
    assert (result.returncode, "give another --port" in result.stderr) == (3, True), result.stderr
