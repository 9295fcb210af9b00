"""A private PostgreSQL cluster in a temporary folder, on a Unix socket only, owned by a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ADVICE = (
    "no PostgreSQL server found: install it (Debian: apt-get install postgresql) or name a running one in "
    "WELDPROOF_TEST_POSTGRES (postgresql://…, with the right to create databases)"
)

_SECONDS = "200"  # to start or to stop; a busy machine takes its time


class Missing(Exception):
    """There is no PostgreSQL here; the text says what to install."""


def binaries() -> Path:
    """Return the folder of the newest server's binaries.

    Raises:
        Missing: There is none.
    """
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda found: float(found.parent.name))
    on_path = shutil.which("initdb")
    folders = [*reversed(packaged), *([Path(on_path).resolve().parent] if on_path else [])]
    for folder in folders:
        if all((folder / name).exists() for name in ("initdb", "postgres", "pg_ctl")):
            return folder
    raise Missing(ADVICE)


@contextmanager
def private_cluster(encoding: str = "UTF8") -> Iterator[str]:
    """Start a cluster and yield the address of its maintenance database; end and delete it afterwards.

    Args:
        encoding: Of its databases, by PostgreSQL's name.

    Raises:
        Missing: There is no PostgreSQL here.
    """
    tools = binaries()
    folder = Path(tempfile.mkdtemp(prefix="weldproof-pg-", dir="/tmp"))
    data = folder / "data"
    try:
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        # The locale of this machine may be of another encoding, or named and not there.
        form = (f"--encoding={encoding}", "--locale=C")
        _run(tools / "initdb", "-D", data, "-U", "weldproof", "--auth=trust", "--no-sync", *form)
        options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c max_connections=200"
        _run(tools / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-t", _SECONDS, "-o", options, "start")
        try:
            yield f"postgresql://weldproof@/postgres?host={folder}"
        finally:
            _run(tools / "pg_ctl", "-D", data, "-w", "-t", _SECONDS, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: str | Path) -> None:
    """Run a tool of the server, which refuses to run as root."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    done = subprocess.run(words, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
