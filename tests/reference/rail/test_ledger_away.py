"""While the ledger is down no call is served and no payment is lost: the same call succeeds when it is back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from tests.reference.rail.a2a.a2a_client import artifact, build_payment_params, envelope, message, open_task, pay
from tests.reference.rail.rail_stack import Payer, Rail, proof_of


@pytest.mark.postgres
def test_a_payment_outlives_an_outage_of_the_ledger(
    own_rail: Callable[..., Rail], payer: Payer, postgres_server: str, postgres_database: str
) -> None:
    """While the database is down a paid call is answered 503 with Retry-After, and afterwards it is served.

    This holds over HTTP and over A2A. Without its tasks A2A answers without JSON-RPC, because a client would take a
    JSON-RPC answer for the outcome.
    """
    rail = own_rail(WP_RAIL_DB=postgres_database)
    task = open_task(rail)
    entry = rail.quote()
    proof = proof_of(payer.pay(entry), entry)
    name = Identifier(str(make_url(postgres_database).database))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [make_url(postgres_database).database],
        )
        away = [
            rail.present(proof),
            rail.http.post("/a2a", json=envelope("message/send", build_payment_params(task["id"], proof))),
            rail.http.post("/a2a", json=envelope("message/send", {"message": message()})),
            rail.http.post("/a2a", json=envelope("tasks/get", {"id": task["id"]})),
        ]
        connection.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
    for answer in away:
        assert (answer.status_code, answer.json()["error"]) == (503, "store_unavailable"), answer.text
        assert int(answer.headers["Retry-After"]) >= 1
    assert artifact(pay(rail, task, proof)) == rail.present(proof).json()


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Hold a SQLite file for writing."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def locked_table(address: str) -> Iterator[None]:
    """Lock the ledger's table, also against readers."""
    with psycopg.connect(address) as other, other.transaction():
        other.execute("LOCK TABLE rail_redemptions IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_locked_ledger_keeps_nobody_waiting(
    own_rail: Callable[..., Rail], payer: Payer, kind: str, request: pytest.FixtureRequest
) -> None:
    """Twenty paid calls are answered while the ledger is locked, and health too; afterwards each proof is served.

    They used to wait for half a minute, or for as long as the lock was held. A statement is given up after 8 s and a
    call after 9.5. The machine decides which of the two ends the call, and both ask for the same proof again.
    """
    address = request.getfixturevalue("postgres_database") if kind == "postgres" else ""
    rail = own_rail(**({"WP_RAIL_DB": address} if address else {}))
    entries = [rail.quote() for _ in range(20)]
    proofs = [proof_of(payer.pay(entry), entry) for entry in entries]
    rail.http.timeout = httpx.Timeout(20)
    lock = locked_table(address) if address else locked_file(rail.folder / "data" / "rail.sqlite3")
    with lock, ThreadPoolExecutor(21) as threads:
        health = threads.submit(rail.http.get, "/health")
        away = list(threads.map(rail.present, proofs))
        assert health.result().status_code == 200
    for answer in away:
        document = (answer.status_code, answer.json()["error"])
        assert document in {(503, "store_unavailable"), (409, "payment_in_progress")}, answer.text
        assert int(answer.headers["Retry-After"]) >= 1
    for proof in proofs:
        assert rail.present(proof).status_code == 200
