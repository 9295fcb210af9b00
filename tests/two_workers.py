"""`python -m tests.two_workers ROWS…`: the suite against two workers of each service, on PostgreSQL and Valkey.

Options after the rows are those of `weldproof run`. With `--nginx`, nginx is in front of the workers, as in production;
without it, the requests of each check alternate between their addresses, which finds more.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.reference.postgres_cluster import private_cluster
from tests.reference.valkey_server import valkey_server

_NGINX = "--nginx"


@contextlib.contextmanager
def two_worker_stack(folder: Path, *options: str) -> Iterator[Path]:
    """Run a stack with two workers of each service until the block is left, and yield its profile.

    Args:
        folder: Folder of its data and logs, which exists.
        options: Further options of `weldproof up`.

    Raises:
        Missing: PostgreSQL, Valkey or nginx is not here and could not be downloaded.
    """
    with private_cluster() as postgres, valkey_server(folder / "valkey") as valkey:
        stores = ("--postgres", postgres, "--valkey", f"valkey://127.0.0.1:{valkey.port}")
        words = ("up", "--json", "--port-base", "0", "--no-working-profile", "--data-dir", str(folder / "stack"))
        command = [sys.executable, "-m", "localnet", *words, "--workers", "2", *stores, *options]
        with (folder / "up.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (folder / "up.log").read_text("utf-8")
            profile = Path(json.loads(line)["profile"])
            # The machine serves twice as many processes as in other runs, so waits may take longer.
            with profile.open("a", encoding="utf-8") as file:
                file.write("\n[budgets]\nconfirmation = 60.0\npaid = 60.0\nrequest = 60.0\n")
            yield profile
        finally:
            process.terminate()
            process.wait(120)


def main(words: Sequence[str]) -> int:
    """Run the suite, print its report, and return its exit code."""
    options = [_NGINX] if _NGINX in words else []
    words = [word for word in words if word != _NGINX]
    with (
        tempfile.TemporaryDirectory(prefix="weldproof-two-workers-") as folder,
        two_worker_stack(Path(folder), *options) as profile,
    ):
        command = [sys.executable, "-m", "conformance", "run", *words, "--config", str(profile)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
