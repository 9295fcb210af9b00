"""The gateway as a process: start, key rotation, logs, workers on one database, a database that goes away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from reference.gateway.__main__ import main
from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import LINK, LINKS, SCREEN, VERIFY, expect_refusal, gateway

CALLERS = 40


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[..., GatewayProcess]]:
    """Start workers that belong to one test and share their data: `worker(WP_…="…")`."""
    processes: list[GatewayProcess] = []
    with ExitStack() as exits:  # one that ends badly leaves no other behind

        def start(**settings: str) -> GatewayProcess:
            processes.append(GatewayProcess(tmp_path, settings, public=processes[0].socket if processes else None))
            exits.callback(processes[-1].close)
            return processes[-1].start()

        yield start


def test_a_gateway_starts_rotates_its_key_keeps_secrets_and_ends(worker: Callable[..., GatewayProcess]) -> None:
    """Secrets are files of mode 0600 and in no log; a rotation needs no restart; SIGTERM ends with 0."""
    process = worker(WP_LOG_LEVEL="debug").ready()
    tenant = process.tenant()
    link = process.http.post(LINKS, json=LINK, headers=tenant.headers(Idempotency_Key="a")).json()
    bad = {**tenant.headers(), "X-Tenant-Id": "x"}
    assert process.http.post(LINKS, json=LINK, headers=bad).status_code == 403
    assert process.http.post(f"/checkout/{link['token']}/cancel", json={"cancel_secret": "x"}).status_code == 403
    old = process.http.get("/.well-known/jwks.json").json()["keys"]
    result = process.command("rotate-key")
    keys = process.http.get("/.well-known/jwks.json").json()["keys"]
    assert (0, [result.stdout.strip(), *(key["kid"] for key in old)]) == (
        result.returncode,
        [key["kid"] for key in keys],
    )
    jws = process.http.post(SCREEN, json={"recipient_address": "screen-allow", "network": "base_sepolia"}).json()
    assert process.http.post(VERIFY, json={"jws": jws["compliance_receipt_jws"]}).status_code == 200
    files = {path.name: path.stat().st_mode & 0o777 for path in process.data.iterdir()}
    for name in ("admin_key", "seal_key", "signing_key.pem", "signing_key.pem.retired.json"):
        assert files[name] == 0o600
    secrets = [
        tenant.key,
        link["cancel_secret"],
        *((process.data / name).read_text() for name in ("admin_key", "seal_key")),
    ]
    process.stop()
    assert [secret for secret in secrets if secret in process.log()] == []


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
def test_a_page_that_listens_does_not_hold_up_the_end(worker: Callable[..., GatewayProcess], server: str) -> None:
    """Its stream of events ends whole, and the browser asks again."""
    process = worker(WP_SERVER=server).ready()
    link = process.http.post(LINKS, json=LINK, headers=process.tenant().headers()).json()
    with process.http.stream("GET", f"/checkout/{link['token']}/events") as stream:
        parts = stream.iter_bytes()
        assert b"event: status" in next(parts)
        process.stop()
        assert b"".join(parts) == b""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WP_GATEWAY_ROLE", "both"),
        ("WP_RATES", "USD=none"),
        ("WP_LINK_TTL_DEFAULT", "10"),
        ("WP_KEY_PREFIX", "K1"),
        ("WP_GATEWAY_DB", "mysql://x"),
        ("WP_GATEWAY_PUBLIC_URL", "localhost"),
        ("WP_RATE_LIMITS", "no"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(name: str, value: str) -> None:
    """Exit status 2 and one line (section 9)."""
    result = CliRunner().invoke(main, env={"WP_MODE": "test", name: value})
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1), result.output
    assert name in result.output


def test_an_administrators_key_is_made_for_some_scopes(tmp_path: Path) -> None:
    """It does what they say and nothing else; its text is on no disk (3.9)."""
    result = CliRunner().invoke(main, ["admin-key", "kyb:write"], env={"WP_GATEWAY_DATA_DIR": str(tmp_path / "data")})
    key = result.output.strip()
    assert (result.exit_code, key.startswith("weldc_")) == (0, True), result.output
    assert [path for path in (tmp_path / "data").iterdir() if key.encode() in path.read_bytes()] == []

    async def use() -> None:
        async with gateway(tmp_path) as shop:
            tenant, headers = await shop.tenant(), {"Authorization": f"Bearer {key}"}
            at = f"/internal/tenants/{tenant.id}"
            answer = await shop.http.post(f"{at}/kyc", json={"status": "approved"}, headers=headers)
            assert (answer.status_code, answer.json()["kyc_status"]) == (200, "approved")
            expect_refusal(await shop.http.get(at, headers=headers), 403, "forbidden_scope", scope="tenants:admin")

    asyncio.run(use())
    assert CliRunner().invoke(main, ["admin-key", "everything"]).exit_code == 2


def test_a_key_that_is_not_there_is_not_rotated(tmp_path: Path) -> None:
    """Exit status 2 and one line that names the setting."""
    result = CliRunner().invoke(main, ["rotate-key"], env={"WP_GATEWAY_DATA_DIR": str(tmp_path)})
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1)
    assert "WP_GATEWAY_SIGNING_KEY_FILE" in result.output


def test_a_file_that_cannot_be_used_stops_the_start_and_is_named(tmp_path: Path) -> None:
    """Also what is found only when the parts are put together."""
    process = GatewayProcess(tmp_path, {"WP_GATEWAY_TRUSTED_JWKS": "/dev/null"})
    result = process.command()
    process.close()
    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1), result.stderr
    assert "WP_GATEWAY_TRUSTED_JWKS" in result.stderr


@pytest.mark.postgres
def test_two_workers_under_forty_calls_at_once_make_one_link(
    worker: Callable[..., GatewayProcess], postgres_database: str
) -> None:
    """One Idempotency-Key, workers that start together on one empty database: one link, one answer (P-ID-05)."""
    workers = [worker(WP_GATEWAY_DB=postgres_database, WP_IDEMPOTENCY_WAIT="90") for _ in range(2)]
    for process in workers:
        process.ready()
    tenant = workers[0].tenant()

    def call(number: int) -> tuple[int, bytes, str | None]:
        answer = workers[number % 2].http.post(LINKS, json=LINK, headers=tenant.headers(Idempotency_Key="order-1"))
        return answer.status_code, answer.content, answer.headers.get("Idempotent-Replayed")

    with ThreadPoolExecutor(CALLERS) as pool:
        answers = list(pool.map(call, range(CALLERS)))
    assert {201} == {status for status, _, _ in answers}
    assert len({content for _, content, _ in answers}) == 1
    assert len([replayed for _, _, replayed in answers if replayed is None]) == 1
    with psycopg.connect(postgres_database) as connection:
        assert connection.execute("SELECT token FROM gateway_links").fetchall() == [
            (json.loads(answers[0][1])["token"],)
        ]


@pytest.mark.postgres
def test_a_database_that_is_away_is_503_and_comes_back(
    worker: Callable[..., GatewayProcess], postgres_server: str, postgres_database: str
) -> None:
    """Every call that needs it, health too, with an own code and Retry-After; the next one is served again."""
    process = worker(WP_GATEWAY_DB=postgres_database).ready()
    tenant = process.tenant()
    database = str(make_url(postgres_database).database)

    def ask() -> list[Any]:
        return [
            process.http.get("/health"),
            process.http.post(LINKS, json=LINK, headers=tenant.headers(Idempotency_Key="a")),
            process.http.get("/checkout/none/status"),
        ]

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(Identifier(database)))
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database])
        away = [*ask(), process.http.post(SCREEN, json={"recipient_address": "screen-allow", "network": "voi:mainnet"})]
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(Identifier(database)))
    assert [answer.status_code for answer in away] == [503, 503, 503, 200]
    for answer in away[:3]:
        assert (answer.json()["error"], answer.headers["Retry-After"]) == ("store_unavailable", "5")
        assert answer.json()["request_id"] == answer.headers["X-Request-Id"]
    assert [answer.status_code for answer in ask()] == [200, 201, 404]
