"""`python -m sim.base` as a process: its ready line, sockets, options, faults over HTTP, and its end."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}).encode()


@contextmanager
def run_node(*options: str, fds: tuple[int, ...] = ()) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    words = [sys.executable, "-m", "sim.base", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, pass_fds=fds) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def post(url: str, body: bytes) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, body), timeout=60) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_while_a_caller_waits(number: signal.Signals) -> None:
    """A hanging answer does not keep it from a clean end."""
    with run_node("--port", "0") as (process, ready):
        post(ready["rpc"] + "/control", json.dumps({"verb": "fault", "name": "hang", "count": 1}).encode())
        host, port = ready["rpc"].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"POST / HTTP/1.1\r\nHost: sim\r\nContent-Length: 2\r\n\r\n{}")
            process.send_signal(number)
            assert process.wait(120) == 0


def test_it_serves_the_test_network_on_a_socket_that_listens_already() -> None:
    """The socket is the one that was handed over; the token is that network's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = "http://{}:{}".format(*listener.getsockname())
        with run_node("--fd", str(listener.fileno()), "--chain-id", "84532", fds=(listener.fileno(),)) as (_, ready):
            ready_line = {"ready": True, "rpc": address, "chain_id": 84532}
            assert {**ready_line, "usdc": "0x036CbD53842c5426634e7929541eC2318f3dCF7e"} == ready
            assert post(ready["rpc"], CALL)["result"] == hex(84532)


def test_an_unknown_network_does_not_start() -> None:
    """Exit 2 with the networks that there are."""
    words = [sys.executable, "-m", "sim.base", "--chain-id", "1"]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, "8453" in result.stderr) == (2, True)


def test_faults_show_on_the_wire_and_pass() -> None:
    """A cut connection and a wrong body, once each; a far time or nested data does not end the process."""
    with run_node("--port", "0", "--block-seconds", "0.01") as (process, ready):
        control = ready["rpc"] + "/control"
        post(control, json.dumps({"verb": "fault", "name": "cut_off", "seed": 1}).encode())
        with pytest.raises(http.client.IncompleteRead):
            post(ready["rpc"], CALL)
        assert post(ready["rpc"], CALL)["result"] == "0x2105"
        for method, result in (
            ("evm_increaseTime", 2**64 - 1),
            ("eth_sendRawTransaction", "0x" + "c1" * 50_000),
            ("anvil_mine", "0xffffffffff"),
            ("evm_mine", "0x" + "f" * 64),
        ):
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": [result]}).encode()
            assert post(ready["rpc"], body)["error"]["code"] in (-32602, -32000)
        first, body = None, CALL.replace(b"eth_chainId", b"eth_blockNumber")
        while (block_number := int(post(ready["rpc"], body)["result"], 16)) <= (first or block_number):
            first = first or block_number
            time.sleep(0.02)
        assert process.poll() is None
