"""A gateway's keys are made at a first start only (P-KY-01)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import SCREEN, VERIFY

SCREENED = {"recipient_address": "screen-allow", "network": "base_sepolia"}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def process(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GatewayProcess]:
    """A gateway on either database."""
    environment = request.param == "postgres"
    settings = {"WP_GATEWAY_DB": request.getfixturevalue("postgres_database")} if environment else {}
    with ExitStack() as exits:
        process = GatewayProcess(tmp_path, settings)
        exits.callback(process.close)
        yield process.start().ready()


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("signing_key.pem", "WP_GATEWAY_SIGNING_KEY_FILE"),
        ("seal_key", "WP_GATEWAY_DATA_DIR"),
        ("admin_key", "WP_GATEWAY_DATA_DIR"),
    ],
)
def test_a_key_that_vanished_is_not_made_anew(process: GatewayProcess, name: str, setting: str) -> None:
    """It goes on with the last good one; a start is refused, with what to do; with the file back all is as it was."""
    key_set = process.http.get("/.well-known/jwks.json").json()
    jws = process.http.post(SCREEN, json=SCREENED).json()["compliance_receipt_jws"]
    path = process.data / name
    moved_file = path.rename(path.with_suffix(".kept"))
    assert process.http.get("/.well-known/jwks.json").json() == key_set
    assert process.http.post(SCREEN, json=SCREENED).status_code == 200
    health = process.http.get("/health")
    assert (health.status_code, health.json()["status"]) == (200, "degraded" if "signing" in name else "ok")
    process.stop()
    result = process.command()
    line = result.stderr.strip().splitlines()[-1]
    assert (result.returncode, path.exists()) == (2, False), result.stderr
    assert (line.startswith(f"{setting}: {path} is gone"), "Put the file back" in line) == (True, True), line
    moved_file.rename(path)
    process.start().ready()
    assert process.http.get("/.well-known/jwks.json").json() == key_set
    assert process.http.post(VERIFY, json={"jws": jws}).json()["verified"] is True
