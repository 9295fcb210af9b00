"""A private PostgreSQL cluster in a temporary folder, on a Unix socket only, owned by a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.engine import make_url

from programs import postgres

_SECONDS = "200"  # to start or to stop; a busy machine takes its time
# Who owns a cluster that root starts: the server refuses to run as root.
_OWNERS = ("postgres", "nobody")
# Tests never cut the machine's power. They kill only workers and servers, and the kernel keeps their writes.
_UNSYNCED_OPTIONS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
# A vacuum in the background counts as transactions of the database, which a test compares with those of a worker.
_STILL_OPTIONS = "-c autovacuum=off"

_END_OTHERS = """
SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_ENDING_MILLISECONDS = 200_000


@contextmanager
def private_cluster(encoding: str = "UTF8", *, is_durable: bool = False) -> Iterator[str]:
    """Start a cluster and yield the address of its maintenance database; end and delete it afterwards.

    Args:
        encoding: Of its databases, by PostgreSQL's name.
        is_durable: Whether commits reach the disk, as in production.

    Raises:
        Missing: There is no PostgreSQL here and none could be got.
    """
    server = postgres.postgres()
    folder = Path(tempfile.mkdtemp(prefix="weldproof-pg-", dir="/tmp"))
    data = folder / "data"
    owner = _owner() if os.geteuid() == 0 else None
    run = partial(_run, owner)
    try:
        tools = server.path.parent
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            if not server.of_machine:
                tools = _open_to_all(folder, server.path, postgres.installation(server))
        # The locale of this machine may be of another encoding, or named and not there.
        form = (f"--encoding={encoding}", "--locale=C")
        run(tools / "initdb", "-D", data, "-U", "weldproof", "--auth=trust", "--no-sync", *form)
        options = (
            f"{'' if is_durable else _UNSYNCED_OPTIONS} {_STILL_OPTIONS} -c listen_addresses='' "
            f"-c unix_socket_directories='{folder}' -c max_connections=200"
        )
        run(tools / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-t", _SECONDS, "-o", options, "start")
        try:
            yield f"postgresql://weldproof@/postgres?host={folder}"
        finally:
            run(tools / "pg_ctl", "-D", data, "-w", "-t", _SECONDS, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def restart_cluster(server: str) -> None:
    """End a private cluster at once, as a power cut would end its processes, and start it again.

    Args:
        server: Address that `private_cluster` has returned.
    """
    data = Path(str(make_url(server).query["host"])) / "data"
    # The file of the running server contains its own path and its options, which a restart takes over.
    program = Path((data / "postmaster.opts").read_text("utf-8").split()[0])
    owner = _owner() if os.geteuid() == 0 else None
    _run(
        owner,
        program.parent / "pg_ctl",
        "-D",
        data,
        "-w",
        "-t",
        _SECONDS,
        "-m",
        "immediate",
        "-l",
        data.parent / "log",
        "restart",
    )


# Unused databases of this process, by their server. Creating and deleting a database takes a fifth of a second of a
# processor; emptying one takes a tenth of that.
_FREE: defaultdict[str, list[str]] = defaultdict(list)


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """Yield the address of an empty database on a server, without other connections.

    It is kept for the next caller, until `drop_databases`. An emptied database was used before; the programs that used
    it have ended by then.
    """
    name = _take_emptied(server) or _create(server)
    yield _address(server, name)
    _FREE[server].append(name)


def drop_databases(server: str) -> None:
    """Delete the databases of this process on a server that goes on without it."""
    for name in _FREE.pop(server, ()):
        _drop(server, name)


def _create(server: str) -> str:
    name = f"weldproof_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return name


def _take_emptied(server: str) -> str | None:
    """Return a used database after emptying it, or None if there is no unused one."""
    while _FREE[server]:
        name = _FREE[server].pop()
        try:
            with psycopg.connect(_address(server, name), autocommit=True) as connection:
                connection.execute(_END_OTHERS, [_ENDING_MILLISECONDS])
                connection.execute("DROP SCHEMA public CASCADE")
                connection.execute("CREATE SCHEMA public")
        except psycopg.Error:  # a test that failed has left it closed, or locked
            _drop(server, name)
        else:
            return name
    return None


def _drop(server: str, name: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def _address(server: str, name: str) -> str:
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def _owner() -> pwd.struct_passwd:
    users = {user.pw_name: user for user in pwd.getpwall()}
    return next(users[name] for name in _OWNERS if name in users)


def _open_to_all(folder: Path, program: Path, installation: tuple[Path, ...]) -> Path:
    """Copy an installation out of root's home, which no other user may read; return the programs' folder."""
    for part in installation:
        shutil.copytree(part, folder / part.name)
    return folder / program.parent.relative_to(installation[0].parent)


def _run(owner: pwd.struct_passwd | None, *command: str | Path) -> None:
    """Run a tool of the server as the cluster's owner."""
    words = [str(word) for word in command]
    user, group = (None, None) if owner is None else (owner.pw_uid, owner.pw_gid)
    groups: list[int] | None = None if owner is None else []
    result = subprocess.run(
        words,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        user=user,
        group=group,
        extra_groups=groups,
    )
    assert result.returncode == 0, f"{words}: {result.stdout}{result.stderr}"
