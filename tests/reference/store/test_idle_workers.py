"""What an idle gateway asks of PostgreSQL: at most one transaction a second."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psycopg
import pytest

from tests.reference.gateway.gateway_process import GatewayProcess
from tests.reference.gateway.gateway_stack import NOWHERE
from tests.reference.worker_process import WorkerProcess

pytestmark = pytest.mark.postgres
_SECONDS = 20.0
# Statements of a start, and those that are due once, are over by then.
_SETTLED_SECONDS = 15.0


def start_gateway(folder: Path, database: str) -> WorkerProcess:
    """Return a gateway with three networks."""
    nodes = {
        "WP_NODE_ALGORAND_MAINNET": NOWHERE,
        "WP_INDEXER_ALGORAND_MAINNET": NOWHERE,
        "WP_NODE_BASE_MAINNET": NOWHERE,
        "WP_NODE_SOLANA_MAINNET": NOWHERE,
    }
    return GatewayProcess(folder, {"WP_GATEWAY_DB": database, **nodes})


def test_an_idle_gateway_rests(tmp_path: Path, postgres_database: str) -> None:
    """Transactions as the server counts them; all of an idle gateway have one statement."""
    with contextlib.closing(start_gateway(tmp_path / "worker", postgres_database)) as worker:
        worker.start().ready()
        transactions, seconds = count_transactions(worker, postgres_database)
    assert 0 < transactions <= seconds, f"{transactions} in {seconds:.1f} s"


def count_transactions(worker: WorkerProcess, database: str) -> tuple[int, float]:
    """Return how many transactions a worker made, and in how many seconds."""
    with psycopg.connect(database, autocommit=True) as connection:

        def count() -> int:
            # The server's counters are written with a delay, and this query is counted itself.
            row = connection.execute(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
            assert row is not None
            return int(row[0])

        time.sleep(_SETTLED_SECONDS)
        before, begun = count(), time.monotonic()
        time.sleep(_SECONDS)
        assert worker.is_running, worker.log()
        return count() - before - 1, time.monotonic() - begun
