"""`python -m tools.bench.reference.audit_log_check`: how long a full check of a long audit log takes (7.4).

Makes a log of many entries in a temporary folder, or in a PostgreSQL database that is empty, then lets the control
plane check it as `verify=full` does, and the chain alone in memory.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import orjson
import psycopg

from reference.control_plane.audit_log import AuditLog
from reference.control_plane.head_file import HeadFile
from reference.protocol.audit_chain import Action, ChainCheck, Head, StoredEntry, encode_entry, follow
from reference.store.audit_log import Audit
from reference.store.database_url import open_database, sqlite_dsn
from reference.web.clock import WpClock

_KEY = bytes(range(32))
_PAYLOAD = {"kid": "00c4f5a3b2d19e80"}
_PLACE = "control_plane_audit (seq, ts_ms, actor, action, subject, payload, prev_mac, mac)"


@click.command()
@click.option("--entries", type=click.IntRange(1), default=1_000_000, show_default=True, help="Length of the log.")
@click.option("--db", default="", help="An empty PostgreSQL database; SQLite when left out.")
def main(entries: int, db: str) -> None:
    """Print seconds of wall time and of CPU time for a full check, as JSON."""
    with tempfile.TemporaryDirectory(prefix="weldproof-bench-") as folder:
        click.echo(orjson.dumps(asyncio.run(_measure(entries, Path(folder), db))))


async def _measure(entries: int, folder: Path, db: str) -> dict[str, object]:
    path = folder / "controlplane.sqlite3"
    database = open_database(db or sqlite_dsn(path))
    log = AuditLog(Audit(database), _KEY, HeadFile(folder / "audit_head"), WpClock(), is_shared=bool(db))
    await log.prepare()
    rows = list(_chain(entries))
    _fill_postgres(db, rows) if db else _fill_sqlite(path, rows)
    wall, cpu = time.perf_counter(), time.process_time()
    broken_entry = await log.check()
    stored_seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    await database.close()
    wall, cpu = time.perf_counter(), time.process_time()
    is_whole = ChainCheck(_KEY).walk(rows)
    memory_seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return {
        "entries": entries,
        "database": "postgresql" if db else "sqlite",
        "whole": is_whole and broken_entry is None,
        "stored": stored_seconds,
        "memory": memory_seconds,
    }


def _chain(entries: int) -> Iterator[StoredEntry]:
    head = Head()
    for place in range(entries):
        subject = f"did:web:issuer-{place}.example"
        members = {"actor": "admin", "action": Action.ISSUER_REGISTERED, "subject": subject, "payload": _PAYLOAD}
        entry = follow(head, _KEY, ts_ms=1_767_225_600_000 + place, **members)  # type: ignore[arg-type]
        head = entry.head
        yield encode_entry(entry)


def _fill_sqlite(path: Path, rows: list[StoredEntry]) -> None:
    with closing(sqlite3.connect(path, timeout=30)) as file:
        file.executemany(f"INSERT INTO {_PLACE} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 - a constant
        file.commit()


def _fill_postgres(dsn: str, rows: list[StoredEntry]) -> None:
    copy_statement = f"COPY {_PLACE} FROM STDIN".encode()
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor, cursor.copy(copy_statement) as copy:
        for row in rows:
            copy.write_row(row)


if __name__ == "__main__":
    main(prog_name="python -m tools.bench.reference.audit_log_check")
