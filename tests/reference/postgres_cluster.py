"""A private PostgreSQL cluster in a temporary folder, on a Unix socket only, owned by a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
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
# Nobody cuts this machine's power: what is killed are our own workers and servers, and the kernel keeps their writes.
_UNSYNCED = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


@contextmanager
def private_cluster(encoding: str = "UTF8") -> Iterator[str]:
    """Start a cluster and yield the address of its maintenance database; end and delete it afterwards.

    Args:
        encoding: Of its databases, by PostgreSQL's name.

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
        options = f"{_UNSYNCED} -c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections=200"
        run(tools / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-t", _SECONDS, "-o", options, "start")
        try:
            yield f"postgresql://weldproof@/postgres?host={folder}"
        finally:
            run(tools / "pg_ctl", "-D", data, "-w", "-t", _SECONDS, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """Yield the address of an empty database on a server; delete it afterwards."""
    name = f"weldproof_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    yield make_url(server).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def _owner() -> pwd.struct_passwd:
    users = {user.pw_name: user for user in pwd.getpwall()}
    return next(users[name] for name in _OWNERS if name in users)


def _open_to_all(folder: Path, program: Path, installation: tuple[Path, ...]) -> Path:
    """Copy an installation out of root's home, which nobody else may look into; return the programs' folder."""
    for part in installation:
        shutil.copytree(part, folder / part.name)
    return folder / program.parent.relative_to(installation[0].parent)


def _run(owner: pwd.struct_passwd | None, *command: str | Path) -> None:
    """Run a tool of the server as the cluster's owner."""
    words = [str(word) for word in command]
    user, group = (None, None) if owner is None else (owner.pw_uid, owner.pw_gid)
    groups: list[int] | None = None if owner is None else []
    done = subprocess.run(
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
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
