"""Two workers behind nginx are restarted in turn under traffic: every call gets the answer of a service."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from programs.missing import Missing
from tests.reference.web.nginx_front import balanced_by_nginx
from tests.reference.worker_process import WorkerProcess

CLIENTS = 8
RESTARTS = 3
BODY = {"method": "GET", "authority": "a.example", "path": "/", "headers": {}, "public_key_hex": "00" * 32}


@pytest.fixture(params=["hypercorn", "uvicorn"])
def workers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[WorkerProcess]]:
    """Two workers of one agent. Their sockets outlive them, as those of a systemd socket unit do."""
    settings = {"WP_SERVER": request.param, "WP_DRAIN_SECONDS": "1"}
    pair = [WorkerProcess(tmp_path / name, ("-m", "reference.agent"), "WP_AGENT_FD", settings) for name in ("a", "b")]
    try:
        for worker in pair:
            worker.start()
        for worker in pair:
            worker.ready()
        yield pair
    finally:
        for worker in pair:
            worker.close()


def call_until(stop: threading.Event, url: str, statuses: Counter[int]) -> None:
    """Call a service on new and on reused connections to nginx, and count the statuses."""
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as http:
        while not stop.is_set():
            statuses[http.post("/verify/rfc9421", json=BODY).status_code] += 1
            statuses[http.get("/health").status_code] += 1


def test_no_call_is_lost(workers: list[WorkerProcess], tmp_path: Path) -> None:
    """No 502 of nginx and no 500 of a service, however the calls fall around the restarts."""
    statuses: Counter[int] = Counter()
    stop = threading.Event()
    ports = [worker.socket.getsockname()[1] for worker in workers]
    try:
        with balanced_by_nginx(tmp_path / "nginx", ports) as (host, port):
            url = f"http://{host}:{port}"
            clients = [threading.Thread(target=call_until, args=(stop, url, statuses)) for _ in range(CLIENTS)]
            for client in clients:
                client.start()
            for worker in workers * RESTARTS:
                time.sleep(0.3)
                worker.stop()
                worker.start().ready()
            stop.set()
            for client in clients:
                client.join()
    except Missing as missing:
        pytest.fail(str(missing))
    assert sum(statuses.values()) > 100
    assert set(statuses) <= {200}, statuses
