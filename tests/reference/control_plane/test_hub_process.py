"""The control plane as a process: settings, files, workers on one database, crashes, outbound calls (7.5)."""

from __future__ import annotations

import json
import re
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import psycopg
import pytest
from click.testing import CliRunner
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from reference.control_plane.__main__ import main
from reference.control_plane.settings import ControlPlaneSettings
from tests.reference.control_plane.hub_process import HubProcess
from tests.reference.control_plane.hub_stack import alter, falcon_key, told_settings
from tests.reference.control_plane.test_hub_audit import holds, key_of

Starter = Callable[..., HubProcess]


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Starter]:
    """Start control planes that belong to one test and share its folder: `worker(S2CP_…="…")`."""
    with ExitStack() as started:

        def start(**settings: str) -> HubProcess:
            worker_process = HubProcess(tmp_path, **settings)
            started.callback(worker_process.close)
            return worker_process.start()

        yield start


@contextmanager
def healthy_service() -> Iterator[tuple[str, list[str]]]:
    """A service that answers 200; yields its address and the paths that it was asked for."""
    questions: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            questions.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", questions
    finally:
        server.shutdown()
        server.server_close()


def test_the_defaults_are_the_interface_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """Port 8094, data in /app/data, SQLite there."""
    for name in ("S2CP_PORT", "S2CP_DATA_DIR", "S2CP_DB", "S2CP_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WP_PORT", "WP_DATA_DIR", "WP_DB", "WP_BIND", "WP_RATE"):  # its own names are S2CP_ ones
        monkeypatch.setenv(name, "1")
    settings = ControlPlaneSettings()
    assert (settings.bind, settings.port, settings.data_dir) == ("127.0.0.1", 8094, Path("/app/data"))
    assert (settings.dsn, settings.rate) == ("sqlite:////app/data/controlplane.sqlite3", 120)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"S2CP_PORT": "x"}, "S2CP_PORT"),
        ({"S2CP_PORT": "65536"}, "S2CP_PORT"),
        ({"S2CP_DB": "mysql://h/d"}, "S2CP_DB"),
        ({"S2CP_DB": "sqlite:///x"}, "S2CP_DB"),
        ({"S2CP_DB": "postgresql://h:x/d"}, "S2CP_DB"),
        ({"S2CP_DB": "postgresql+asyncpg://h/d"}, "S2CP_DB"),
        ({"S2CP_DB": "postgresql:///d?host=/nowhere"}, "S2CP_DB"),
        ({"S2CP_ISSUER_DID": "hub"}, "S2CP_ISSUER_DID"),
        ({"S2CP_HEALTH_TIMEOUT": "0"}, "S2CP_HEALTH_TIMEOUT"),
        ({"S2CP_HEALTH_TIMEOUT": "10"}, "S2CP_HEALTH_TIMEOUT"),
        ({"S2CP_HEALTH_TIMEOUT": "nan"}, "S2CP_HEALTH_TIMEOUT"),
        ({"S2CP_RATE": "0"}, "S2CP_RATE"),
        ({"S2CP_DATA_DIR": "/dev/null/x"}, "S2CP_DATA_DIR"),
        ({"WP_SERVICE_WORD": "1"}, "WP_SERVICE_WORD"),
        ({"WP_MODE": "live", "WP_RATE_LIMITS": "off"}, "WP_MODE"),
    ],
)
def test_a_wrong_setting_stops_the_start(tmp_path: Path, settings: dict[str, str], name: str) -> None:
    """Exit 2 and one line that names the setting."""
    environment = {"WP_MODE": "test", "S2CP_DATA_DIR": str(tmp_path / "data"), "S2CP_PORT": "0", **settings}
    outcome = CliRunner().invoke(main, env=environment)
    assert (outcome.exit_code, len(outcome.output.splitlines())) == (2, 1), outcome.output
    assert name in outcome.output


@pytest.mark.parametrize(
    ("name", "text"), [("admin_token", ""), ("admin_token", "short"), ("audit_key", "11"), ("audit_key", "x")]
)
def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path, name: str, text: str) -> None:
    """A secret that was cut short is never taken for one."""
    (tmp_path / name).write_text(text)
    outcome = CliRunner().invoke(main, env={"WP_MODE": "test", "S2CP_DATA_DIR": str(tmp_path), "S2CP_PORT": "0"})
    assert (outcome.exit_code, len(outcome.output.splitlines())) == (2, 1), outcome.output
    assert "S2CP_DATA_DIR" in outcome.output


def test_token_issuers_services_and_log_survive_a_restart(worker: Starter) -> None:
    """The token is made on the first run, mode 0600, and kept; SQLite is in the folder; no secret is in a log."""
    first = worker(WP_LOG_LEVEL="debug").ready()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", first.token)
    assert stat.S_IMODE((first.data / "admin_token").stat().st_mode) == 0o600
    assert (first.data / "controlplane.sqlite3").exists()
    first.register("did:web:a.example")
    record = {"name": "a", "base_url": "http://127.0.0.1:9"}
    assert first.http.post("/v1/services", json=record, headers=first.admin).status_code == 201
    first.http.get("/v1/audit", headers={"Authorization": "Bearer 5ecret"})
    before = (first.token, first.audit(), first.http.get("/v1/issuer-pks").json())
    first.stop()
    again = worker(WP_LOG_LEVEL="debug").ready()
    assert before == (again.token, again.audit(), again.http.get("/v1/issuer-pks").json())
    assert again.http.get("/health").json() | {"issuers": 1, "services": 1} == again.http.get("/health").json()
    logs = first.log() + again.log()
    for secret in (first.token, "5ecret", (first.data / "audit_key").read_text("ascii")):
        assert secret not in logs


def test_workers_that_start_at_once_share_token_and_key(worker: Starter) -> None:
    """Of those on one folder one makes the files, and each takes what was made."""
    workers = [worker() for _ in range(3)]
    for one in workers:
        one.ready()
    assert {one.register(f"did:web:{place}.example").status_code for place, one in enumerate(workers)} == {201}
    page = workers[0].audit(verify="full")
    assert (page["valid"], page["count"]) == (True, 3)


@pytest.mark.postgres
def test_two_workers_that_write_at_once_write_one_chain(worker: Starter, postgres_database: str) -> None:
    """On PostgreSQL: every number is given once, the chain is whole, each change has its entry."""
    workers = [worker(S2CP_DB=postgres_database) for _ in range(2)]
    for one in workers:
        one.ready()
    assert not (workers[0].data / "controlplane.sqlite3").exists()

    def change(number: int) -> int:
        one = workers[number % 2]
        if number % 4 == 3:  # the same one on both: one of them registers it
            one = workers[number // 4 % 2]
            body = {"did": "did:web:same.example", "public_key_b64": falcon_key(number)}
            return one.http.post("/v1/issuers", json=body, headers=one.admin).status_code
        return one.register(f"did:web:i{number}.example").status_code

    with ThreadPoolExecutor(12) as pool:
        statuses = list(pool.map(change, range(80)))
    assert (statuses.count(201), statuses.count(200)) == (61, 19)
    page = workers[0].audit(verify="full")
    assert (page["valid"], page["count"], len(page["entries"])) == (True, 80, 80)
    settings = told_settings(data_dir=workers[0].data, db=postgres_database)
    assert holds(page["entries"], key_of(settings))
    assert json.loads((workers[0].data / "audit_head").read_bytes()) == page["head"]
    document = workers[1].http.get("/v1/issuer-pks").json()
    assert len(document) == 61
    places = [one["subject"] for one in page["entries"] if one["action"] == "issuer.registered"]
    assert list(document) == places


def test_a_crash_between_the_transaction_and_the_head_file_heals(tmp_path: Path, worker: Starter) -> None:
    """SIGKILL right after the commit: the change stands, the next start finds the chain whole and writes the file."""
    before = worker().ready()
    before.register("did:web:a.example")
    before.stop()
    program = (
        "import os, signal\n"
        "from reference.control_plane.audit_log import AuditLog\n"
        "async def die(self, entry):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "AuditLog._keep = die\n"
        "from reference.control_plane.__main__ import main\n"
        "main(prog_name='weldproof-controlplane')\n"
    )
    worker_process = HubProcess(tmp_path, program=("-c", program)).start()
    try:
        worker_process.ready()
        with pytest.raises(httpx.TransportError):
            worker_process.register("did:web:b.example")
        assert worker_process.process is not None
        assert worker_process.process.wait(120) == -9
        assert json.loads((worker_process.data / "audit_head").read_bytes())["seq"] == 1
    finally:
        worker_process.close()
    after = worker().ready()
    page = after.audit()
    assert (page["valid"], page["count"]) == (True, 2)
    assert list(after.http.get("/v1/issuer-pks").json()) == ["did:web:a.example", "did:web:b.example"]
    assert json.loads((after.data / "audit_head").read_bytes()) == page["head"]


def test_killed_again_and_again_it_never_breaks_its_chain(worker: Starter) -> None:
    """SIGKILL under load: what was answered with 201 is there, and every start finds the chain whole."""
    kept_tokens: set[str] = set()
    for life in range(3):
        worker_process = worker().ready()
        assert worker_process.audit(limit=1)["valid"] is True
        enough = threading.Event()

        def write(
            life: int = life, worker_process: HubProcess = worker_process, enough: threading.Event = enough
        ) -> None:
            number = 0
            try:
                while True:
                    did = f"did:web:l{life}.n{number}.example"
                    if worker_process.register(did).status_code == 201:
                        kept_tokens.add(did)
                    number += 1
                    if number == 10:
                        enough.set()
            except (OSError, httpx.TransportError):  # it is killed meanwhile
                enough.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert enough.wait(100)
        worker_process.kill()
        writer.join(100)
        worker_process.close()
    last = worker().ready()
    assert last.audit(verify="full")["valid"] is True
    assert kept_tokens <= set(last.http.get("/v1/issuer-pks").json())
    assert len(kept_tokens) >= 30


def test_a_tail_that_was_cut_while_it_was_down_is_found(worker: Starter) -> None:
    """The health document says degraded; the log of the process says where."""
    worker_process = worker().ready()
    for name in ("a", "b", "c"):
        worker_process.register(f"did:web:{name}.example")
    worker_process.stop()
    alter(told_settings(data_dir=worker_process.data), ["DELETE FROM control_plane_audit WHERE seq = 3"])
    again = worker().ready()
    assert again.audit(limit=1)["valid"] is False
    assert again.http.get("/health").json()["status"] == "degraded"
    report = [json.loads(line) for line in again.log().splitlines()]
    assert [(line["seq"], line["flaw"]) for line in report if line["event"] == "audit_chain_broken"] == [(3, "cut")]


@pytest.mark.postgres
def test_a_database_that_is_away_is_503_and_comes_back(
    worker: Starter, postgres_server: str, postgres_database: str
) -> None:
    """Every call that needs it, health too, with Retry-After; then the next one is served again."""
    worker_process = worker(S2CP_DB=postgres_database).ready()
    database = str(make_url(postgres_database).database)
    paths = ("/health", "/v1/issuer-pks", "/v1/posture")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(database)))
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
        away = [*(worker_process.http.get(path) for path in paths), worker_process.register("did:web:a.example")]
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(Identifier(database)))
    for answer in away:
        assert (answer.status_code, answer.json()) == (503, {"detail": "store_unavailable"})
        assert answer.headers["retry-after"] == "5"
    assert [worker_process.http.get(path).status_code for path in paths] == [200] * 3
    assert worker_process.register("did:web:a.example").status_code == 201


def test_it_connects_to_registered_health_addresses_only(tmp_path: Path) -> None:
    """With every outbound connection of the process written down (CP-CONF-06, C-05)."""
    program = (
        "import sys\n"
        "def tell(event, arguments):\n"
        "    if event in {'socket.connect', 'socket.getaddrinfo', 'socket.gethostbyname', 'subprocess.Popen'}:\n"
        "        print('OUTBOUND', event, *map(repr, arguments[1:] if event == 'socket.connect' else arguments),\n"
        "              file=sys.stderr, flush=True)\n"
        "sys.addaudithook(tell)\n"
        "import uvloop, asyncio\n"
        "uvloop.run = asyncio.run\n"  # its connections are made below Python, where no hook sees them
        "from reference.control_plane import health_client, service_health\n"  # the service may answer late
        "service_health.WHOLE_SECONDS, plain = 90.0, health_client.HealthClient.__init__\n"
        "def patient(self, agent, check, *, seconds):\n"
        "    plain(self, agent, check, seconds=90.0)\n"
        "health_client.HealthClient.__init__ = patient\n"
        "from reference.control_plane.__main__ import main\n"
        "main(prog_name='weldproof-controlplane')\n"
    )
    with healthy_service() as (url, service_process):
        worker_process = HubProcess(tmp_path, program=("-c", program)).start()
        try:
            worker_process.ready()
            worker_process.register("did:web:issuer.example")
            body = {"name": "a", "base_url": url, "health_path": "/up"}
            assert worker_process.http.post("/v1/services", json=body, headers=worker_process.admin).status_code == 201
            for path in ("/health", "/v1/issuer-pks", "/.well-known/atb-keys.json", "/openapi.json"):
                assert worker_process.http.get(path).status_code == 200
            assert worker_process.audit(verify="full")["valid"] is True
            assert worker_process.http.get("/v1/posture").json()["status"] == "ok"
            assert (
                worker_process.http.delete(
                    "/v1/issuers/did:web:issuer.example", headers=worker_process.admin
                ).status_code
                == 204
            )
        finally:
            worker_process.close()
    outbound = [line for line in worker_process.log().splitlines() if line.startswith("OUTBOUND")]
    port = int(url.rpartition(":")[2])
    assert service_process == ["/up"]
    assert outbound == [f"OUTBOUND socket.connect ('127.0.0.1', {port})"]


@pytest.mark.parametrize("name", ["admin_token", "audit_key"])
def test_a_secret_that_vanished_is_not_made_anew(worker: Starter, name: str) -> None:
    """Addons would be strangers, and the log broken: the start is refused with a line that says what to do."""
    first = worker().ready()
    first.stop()
    kept_file = (first.data / name).rename(first.data / "kept")
    outcome = CliRunner().invoke(main, env={"WP_MODE": "test", "S2CP_DATA_DIR": str(first.data), "S2CP_PORT": "0"})
    assert (outcome.exit_code, len(outcome.output.splitlines())) == (2, 1), outcome.output
    assert f"{first.data / name} is gone" in outcome.output
    assert not (first.data / name).exists()
    kept_file.rename(first.data / name)
    assert worker().ready().token == first.token
