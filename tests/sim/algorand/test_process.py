"""`python -m sim.algorand` as a process: its ready line, sockets, token and end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def run_node(*options: str, fds: tuple[int, ...] = ()) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    words = [sys.executable, "-m", "sim.algorand", "--block-seconds", "0.02", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, pass_fds=fds) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def get(url: str, token: str = "") -> tuple[int, Any]:
    request = urllib.request.Request(url, headers={"X-Algo-API-Token": token})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_while_callers_wait(number: signal.Signals) -> None:
    """Neither a hanging answer nor one who waits for a far block keeps the process from a clean end."""
    with run_node("--algod-port", "0", "--indexer-port", "0") as (process, ready):
        host, port = ready["algod"].removeprefix("http://").split(":")
        arm = json.dumps({"verb": "fault", "name": "hang", "seed": 1, "count": 1}).encode()
        urllib.request.urlopen(urllib.request.Request(ready["algod"] + "/control", arm), timeout=60).close()
        with (
            socket.create_connection((host, int(port))) as connection,
            socket.create_connection((host, int(port))) as far,
        ):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: sim\r\n\r\n")
            far.sendall(
                b"GET /v2/status/wait-for-block-after/99999999 HTTP/1.1\r\nHost: sim\r\n"
                b"X-Algo-API-Token: " + ready["token"].encode() + b"\r\n\r\n"
            )
            assert get(ready["algod"] + "/control")[0] == 200
            process.send_signal(number)
            assert process.wait(120) == 0


def test_it_serves_on_sockets_that_listen_already(tmp_path: Path) -> None:
    """Both services answer on the sockets that were handed over, with the token of the file, which is not repeated."""
    token = tmp_path / "token"
    token.write_text("c" * 64 + "\n")
    with socket.create_server(("127.0.0.1", 0)) as algod, socket.create_server(("127.0.0.1", 0)) as indexer:
        fds = (algod.fileno(), indexer.fileno())
        options = ["--algod-fd", str(fds[0]), "--indexer-fd", str(fds[1]), "--token-file", str(token)]
        with run_node(*options, "--asset", "5", "--asset", "9", fds=fds) as (_, ready):
            assert (ready["ready"], ready["token"], ready["assets"]) == (True, None, ["5", "9"])
            assert ready["algod"] == f"http://127.0.0.1:{algod.getsockname()[1]}"
            assert ready["indexer"] == f"http://127.0.0.1:{indexer.getsockname()[1]}"
            assert get(ready["algod"] + "/v2/assets/9", "c" * 64)[1]["params"]["unit-name"] == "USDC"
            assert get(ready["algod"] + "/v2/assets/9")[0] == 401
            assert get(ready["indexer"] + "/health")[0] == 200
            genesis = get(ready["algod"] + "/genesis")[1]
            assert f"{genesis['network']}-{genesis['id']}" == ready["genesis_id"]


def test_another_genesis_id_is_another_chain() -> None:
    """A network of the same protocol has a genesis hash and assets of its own."""
    with run_node("--algod-port", "0", "--indexer-port", "0") as (_, usual):
        options = "--algod-port", "0", "--indexer-port", "0", "--genesis-id", "other-v1", "--asset", "7"
        with run_node(*options) as (_, other_ready):
            assert (other_ready["genesis_id"], other_ready["assets"]) == ("other-v1", ["7"])
            assert other_ready["genesis_hash"] != usual["genesis_hash"]
            params = get(other_ready["algod"] + "/v2/transactions/params", other_ready["token"])[1]
            assert (params["genesis-id"], params["genesis-hash"]) == ("other-v1", other_ready["genesis_hash"])
