"""The agent as a process: how it starts, refuses to start, serves, and ends (specification 9)."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from reference.protocol.message_signatures import SignRequest, sign
from tests import prepared
from tests.reference.worker_process import environment

PLAIN = {"method": "GET", "authority": "example.com", "path": "/a"}


@contextmanager
def run_agents(
    settings: Mapping[str, str], log: Path, *, workers: int = 1, public: bool = False
) -> Iterator[httpx.Client]:
    """Run agents that share one socket, and end them; public ones say in their documents where they are."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as bound, log.open("wb") as told:
        bound.set_inheritable(True)
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        named = {"WP_AGENT_PUBLIC_URL": url} if public else {}
        processes = [
            prepared.start(
                "reference.agent",
                env=environment(WP_AGENT_FD=str(bound.fileno()), WP_RATE_LIMITS="off", **named, **settings),
                pass_fds=[bound.fileno()],
                stdout=told,
                stderr=told,
            )
            for _ in range(workers)
        ]
        try:
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
                yield http
        finally:
            for process in processes:
                process.terminate()
            # One that was still starting has no handler of its own yet.
            assert {process.wait(120) for process in processes} <= ({0} if workers == 1 else {0, -signal.SIGTERM})


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"WP_AGENT_PORT": "x"}, "WP_AGENT_PORT"),
        ({"WP_AGENT_RATE": "0"}, "WP_AGENT_RATE"),
        ({"WP_AGENT_BODY_LIMIT": "-1"}, "WP_AGENT_BODY_LIMIT"),
        ({"WP_AGENT_PUBLIC_URL": "localhost"}, "WP_AGENT_PUBLIC_URL"),
        ({"WP_SERVICE_WORD": "1"}, "WP_SERVICE_WORD"),
        ({"WP_MODE": "live", "WP_RATE_LIMITS": "off"}, "WP_MODE"),
    ],
)
def test_a_wrong_setting_stops_the_start(settings: dict[str, str], name: str) -> None:
    """Exit 2 and one line that names the setting."""
    outcome = prepared.run("reference.agent", env=environment(**settings))

    assert outcome.returncode == 2, outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert name in outcome.stderr


def test_workers_on_one_socket(tmp_path: Path) -> None:
    """Two processes answer on the socket that was handed down; their logs are JSON lines without an error."""
    with run_agents({}, tmp_path / "log", workers=2) as http:
        for _ in range(10):
            reply = http.post("/verify/rfc9421/sign", json=PLAIN, headers={"Connection": "close"})
            assert http.post("/verify/rfc9421", content=reply.content).json()["valid"] is True
    log = (tmp_path / "log").read_text("utf-8")
    assert all(re.match(r"\{.*\}$", line) for line in log.splitlines()), log
    assert '"level": "error"' not in log


def test_what_a_caller_sends_is_not_logged(tmp_path: Path) -> None:
    """P-CV-12: not even at the most talkative level, and not when it is refused."""
    with run_agents({"WP_LOG_LEVEL": "debug"}, tmp_path / "log") as http:
        for path in ("/verify/rfc9421", "/verify/rfc9421/explain", "/verify/rfc9421/sign", "/a2a"):
            http.post(path, json={**PLAIN, "private_key": "5ecret", "headers": {"Authorization": "5ecret"}})
            http.post(path, content=b"5ecret")
    assert "5ecret" not in (tmp_path / "log").read_text("utf-8")


def test_it_opens_no_connection(tmp_path: Path) -> None:
    """With outbound sockets forbidden in the process it does all it ever does (AGENT-VERIFY-20)."""
    program = (
        "import socket, sys\n"
        "def refuse(event, arguments):\n"
        "    if event in {'socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'subprocess.Popen'}:\n"
        "        print('OUTBOUND', event, arguments, file=sys.stderr, flush=True)\n"
        "        raise PermissionError(event)\n"
        "from reference.agent.__main__ import main\n"
    )
    program += "sys.addaudithook(refuse)\nmain(prog_name='weldproof-agent')\n"
    message = sign(SignRequest.model_validate(PLAIN | {"keyid": "https://keys.example/jwks"}), seed=bytes(32), now=1000)
    with socket.create_server(("127.0.0.1", 0)) as listener, (tmp_path / "log").open("wb") as log:
        listener.set_inheritable(True)
        command = [sys.executable, "-c", program]
        process = subprocess.Popen(
            command,
            env=environment(WP_AGENT_FD=str(listener.fileno())),
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
                assert http.get("/health").status_code == 200
                body = json.dumps(message | {"now": 1000})
                assert http.post("/verify/rfc9421", content=body).json()["valid"] is True
                assert http.post("/verify/rfc9421/explain", content=body).json()["verdict"] == "pass"
                assert http.post("/verify/rfc9421/sign", json=PLAIN).status_code == 200
        finally:
            process.terminate()
            assert process.wait(120) == 0
    assert "OUTBOUND" not in (tmp_path / "log").read_text("utf-8")
