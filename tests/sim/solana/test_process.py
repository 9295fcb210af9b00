"""`python -m sim.solana` as a process: its ready line, sockets, options and end."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from solders.keypair import Keypair


@contextmanager
def run_node(*options: str, fds: tuple[int, ...] = ()) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    words = [sys.executable, "-m", "sim.solana", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, pass_fds=fds) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def call(url: str, method: str, *params: Any) -> Any:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        return json.loads(answer.read())["result"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_while_a_caller_waits(number: signal.Signals) -> None:
    """A hanging answer does not keep it from a clean end."""
    with run_node("--port", "0", "--ws-port", "0") as (process, ready):
        arm = json.dumps({"verb": "fault", "name": "hang", "count": 1}).encode()
        urllib.request.urlopen(urllib.request.Request(ready["rpc"] + "/control", arm), timeout=60).close()
        host, port = ready["rpc"].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: sim\r\nContent-Length: 2\r\n\r\n{}")
            process.send_signal(number)
            assert process.wait(120) == 0


def test_it_serves_on_sockets_that_listen_already_with_its_own_mints_and_window() -> None:
    """Both sockets are those that were handed over; the window is seconds over seconds; a mint can be chosen."""
    mint = str(Keypair().pubkey())
    with socket.create_server(("127.0.0.1", 0)) as rpc, socket.create_server(("127.0.0.1", 0)) as ws:
        fds = (rpc.fileno(), ws.fileno())
        options = ["--fd", str(fds[0]), "--ws-fd", str(fds[1]), "--mint", mint]
        with run_node(*options, "--slot-seconds", "0.5", "--blockhash-seconds", "45", fds=fds) as (_, ready):
            addresses = [f"{one.getsockname()[0]}:{one.getsockname()[1]}" for one in (rpc, ws)]
            assert (ready["rpc"], ready["ws"]) == (f"http://{addresses[0]}", f"ws://{addresses[1]}")
            assert (ready["ready"], ready["mints"]) == (True, [mint])
            for url in (f"http://{one}" for one in addresses):
                assert call(url, "getGenesisHash") == ready["genesis_hash"]
            assert call(ready["rpc"], "getTokenSupply", mint)["value"]["decimals"] == 6
            recent = call(ready["rpc"], "getLatestBlockhash")
            epoch_info = call(ready["rpc"], "getEpochInfo")
            height = recent["context"]["slot"] - epoch_info["absoluteSlot"] + epoch_info["blockHeight"]
            assert recent["value"]["lastValidBlockHeight"] == height + 90
