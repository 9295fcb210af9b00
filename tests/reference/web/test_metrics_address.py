"""Metrics at an address of their own, what they count, and the dashboard that shows them."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from reference.rail.settings import RailSettings
from reference.web.http.metric_families import Gauge, Metric
from reference.web.http.metrics import offer_metrics
from reference.web.settings import Misconfigured
from tests.reference.web.five_services import five_services
from tests.reference.worker_process import WorkerProcess
from tests.reserved_port import reserved_port

DASHBOARD = Path(__file__).parents[3] / "deploy/grafana/weldproof.json"
MEASURED = ("rail", "gateway")
# What Prometheus adds to a family's name, by its type.
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, WorkerProcess]]:
    """One worker of each service, with metrics at a free port."""
    with five_services(tmp_path_factory.mktemp("services"), WP_METRICS_ADDRESS="127.0.0.1:0") as workers:
        yield workers


def read_text(worker: WorkerProcess) -> str:
    """Return the metrics of a worker."""
    (line,) = [json.loads(line) for line in worker.log().splitlines() if '"metrics_served"' in line]
    answer = httpx.get(f"http://{line['host']}:{line['port']}/metrics", trust_env=False, timeout=60)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    return answer.text


def read_samples(worker: WorkerProcess) -> dict[tuple[str, ...], float]:
    """Return the values by name and values of labels, which are in the order of their names."""
    return {
        (sample.name.removeprefix("weldproof_"), *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(read_text(worker))
        for sample in family.samples
    }


@pytest.mark.parametrize("service", MEASURED)
def test_metrics_are_at_their_own_address_only(services: dict[str, WorkerProcess], service: str) -> None:
    """The public address answers as on any unknown path."""
    worker = services[service]
    assert worker.http.get("/metrics").status_code == 404
    assert "weldproof_http_requests_total" in read_text(worker)


@pytest.mark.parametrize("service", MEASURED)
def test_calls_are_counted(services: dict[str, WorkerProcess], service: str) -> None:
    """By method, route and status, with their time; refusals by their code."""
    worker = services[service]
    before = read_samples(worker)
    for _ in range(3):
        worker.http.get("/.well-known/jwks.json")
    path, code = {
        "rail": ("/pay/v1/verify/receipt", "payload_too_large"),
        "gateway": ("/v1/payment-links", "invalid_api_key"),
    }[service]
    worker.http.post(path, content=b" " * (70_000 if code == "payload_too_large" else 0))
    after = read_samples(worker)
    grown = {name: value - before.get(name, 0) for name, value in after.items()}
    assert grown["http_requests_total", "GET", "/.well-known/jwks.json", "200"] == 3
    assert grown["http_request_seconds_count", "/.well-known/jwks.json"] == 3
    assert grown["http_request_seconds_bucket", "+Inf", "/.well-known/jwks.json"] == 3
    assert grown["http_refusals_total", code, path] == 1
    assert (after["calls_at_work", "other"], after["calls_shed_total", "paid"]) == (0, 0)
    assert after["database_connections", "waiting"] == 0


def test_the_dashboard_shows_what_is_exported(services: dict[str, WorkerProcess]) -> None:
    """Each metric that a panel names is exported, and each that is exported is in a panel."""
    names, own_names = set[str](), set[str]()
    for service in MEASURED:
        for family in text_string_to_metric_families(read_text(services[service])):
            family_names = {family.name + suffix for suffix in SUFFIXES.get(family.type, ("",))}
            names |= family_names
            if family.name.startswith("weldproof_"):
                own_names.add(family.name)
    panels = json.loads(DASHBOARD.read_bytes())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    shown = {name for text in expressions for name in re.findall(r"\b(?:weldproof|process)_\w+", text)}
    assert shown <= names
    assert [name for name in own_names if not any(text.startswith(name) for text in shown)] == []


@dataclass(frozen=True)
class Settings:
    """Where metrics are offered."""

    metrics_address: tuple[str, int] | None
    metrics_token_file: Path | None = None


async def measure() -> Iterable[Metric]:
    """Return one metric."""
    return [Gauge.single("weldproof_x", "A value.", 1.0)]


async def surface(scope: MutableMapping[str, Any], receive: object, send: object) -> None:
    """Do nothing."""
    del scope, receive, send


@asynccontextmanager
async def serve_metrics(token_file: Path | None) -> AsyncIterator[str]:
    """Offer metrics, and yield their address."""
    # The port is not read from the log: another test of the same process may have configured where it goes.
    with reserved_port() as port:
        async with offer_metrics(surface, Settings(("127.0.0.1", port), token_file), measure) as app:
            assert app is surface
            yield f"http://127.0.0.1:{port}"


async def test_a_token_is_asked_for_if_one_is_set(tmp_path: Path) -> None:
    """401 without it; without such a setting every client at that address sees the metrics."""
    token_file = tmp_path / "token"
    async with serve_metrics(token_file) as url, httpx.AsyncClient(trust_env=False, base_url=url) as http:
        right = {"Authorization": f"Bearer {token_file.read_text('ascii')}"}
        wrong = {"Authorization": "Bearer " + "A" * 43}
        answers = [await http.get("/metrics", headers=headers) for headers in (right, wrong, {})]
        assert [answer.status_code for answer in answers] == [200, 401, 401]
        assert "weldproof_x 1.0" in answers[0].text
        assert (await http.get("/", headers=right)).status_code == 404
    async with serve_metrics(None) as url, httpx.AsyncClient(trust_env=False, base_url=url) as http:
        assert (await http.get("/metrics")).status_code == 200


async def test_an_address_that_is_in_use_ends_the_start() -> None:
    """With the name of the setting."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(Misconfigured, match="WP_METRICS_ADDRESS"):
        async with offer_metrics(surface, Settings(other.getsockname()), measure):
            pass


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:9464", ("127.0.0.1", 9464)), ("[::1]:9464", ("::1", 9464)), ("metrics:1", ("metrics", 1))],
)
def test_an_address_is_host_and_port(text: str, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """IPv6 in brackets."""
    monkeypatch.setenv("WP_METRICS_ADDRESS", text)
    assert RailSettings().metrics_address == address


@pytest.mark.parametrize("text", ["9464", ":9464", "::1:9464", "127.0.0.1", "127.0.0.1:port", "127.0.0.1:65536"])
def test_another_form_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start."""
    monkeypatch.setenv("WP_METRICS_ADDRESS", text)
    with pytest.raises(ValidationError):
        RailSettings()
