"""The second rail and the starter rails, on a simulated Algorand."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from programs.node import node

SOURCE: Final = Path(__file__).parents[3] / "examples" / "second" / "rail"
PROFILE: Final = SOURCE / "weldproof.toml"
_READY_SECONDS: Final = 60
_UP: Final = ("up", "--json", "--port-base", "0", "--no-working-profile", "--no-companions")


@contextmanager
def chain(folder: Path) -> Iterator[Mapping[str, str]]:
    """A simulated Algorand; yields the ready line of `weldproof up --chains-only`."""
    words = [sys.executable, "-m", "localnet", *_UP, "--data-dir", str(folder), "--chains-only", "--lane", "algorand"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout is not None  # noqa: S101 - always piped above
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)


@contextmanager
def rail(
    ready: Mapping[str, str], source: Path, folder: Path, *, words: Sequence[str] = (), profile: Path = PROFILE
) -> Iterator[Path]:
    """Start a rail on that chain with `folder` for its data; yields a profile that describes it.

    Args:
        ready: The chain's ready line.
        source: Folder of the second rail's modules.
        folder: Where the rail's data, log and profile are written.
        words: The command of another rail, which takes the same settings.
        profile: The profile of that rail, with the addresses of `weldproof up`.

    Raises:
        RuntimeError: It does not answer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as listening, (folder / "rail.log").open("wb") as log:
        port = listening.getsockname()[1]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WP_")},
            "WP_RAIL_FD": str(listening.fileno()),
            "WP_RAIL_PUBLIC_URL": f"http://localhost:{port}",
            "WP_RAIL_DATA_DIR": str(folder / "data"),
            "WP_RAIL_PAYTO_ALGORAND": ready["payto_algorand"],
            "WP_NODE_ALGORAND_MAINNET": ready["algod"],
            "WP_INDEXER_ALGORAND_MAINNET": ready["indexer"],
            "WP_NODE_TOKEN_ALGORAND_MAINNET_FILE": ready["algod_token_file"],
            "WP_CLOCK_OFFSET_FILE": ready["clock_file"],
        }
        command = list(words) or [str(node().path), str(source / "server.mjs")]

        def start() -> subprocess.Popen[bytes]:
            process = subprocess.Popen(  # noqa: S603 - an example of ours
                command, env=environment, pass_fds=[listening.fileno()], stdout=log, stderr=log
            )
            try:
                _wait(f"http://localhost:{port}/health", process)
            except RuntimeError:
                process.kill()
                raise
            return process

        wish = folder / "restart"
        with _kept_up(start, wish):
            yield _profile(ready, profile, folder / "weldproof.toml", port, wish)


@contextmanager
def _kept_up(start: Callable[[], subprocess.Popen[bytes]], wish: Path) -> Iterator[None]:
    """Run a program, and whenever a file asks for it kill it and start it again; the file is then taken away."""
    processes, over = [start()], threading.Event()

    def follow() -> None:
        while not over.wait(0.05):
            if wish.exists():
                processes[0].kill()  # nothing is lost by it, and that is to be shown
                processes[0].wait()
                processes[0] = start()
                wish.unlink()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()
        processes[0].kill()
        processes[0].wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):  # noqa: S310 - http of our own
            return
        time.sleep(0.05)
    raise RuntimeError(f"{url} did not answer")


def _profile(ready: Mapping[str, str], template: Path, file: Path, port: int, wish: Path) -> Path:
    """Write the example's own profile with the addresses of this chain and this rail."""
    text = template.read_text("utf-8").replace("\n# restart = ", "\nrestart = ")
    addresses = {
        "http://localhost:8402": f"http://localhost:{port}",
        "data/restart": str(wish),
        "http://127.0.0.1:4001": ready["algod"],
        "http://127.0.0.1:8980": ready["indexer"],
        "data/algod_token": ready["algod_token_file"],
        "data/clock_offset": ready["clock_file"],
    }
    for example_text, actual in addresses.items():
        assert example_text in text  # noqa: S101 - the example's profile is ours
        text = text.replace(example_text, actual)
    # On a busy machine an answer takes its time.
    file.write_text(f"{text}\n[budgets]\nrequest = 300\nconfirmation = 300\n", "utf-8")
    return file
