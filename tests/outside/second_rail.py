"""The second rail (examples/second/rail) on a simulated Algorand: as it stands, or with one of its breaches in it.

`python -m tests.outside.second_rail [--all-rows] [ID...]` puts each breach of breaches.json into a copy of the source,
runs the suite's part against it, and prints the lines of the table in breaches.md.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs.node import node
from tests import prepared
from tests.stack import running_stack
from tools.second_agent import put_in

SOURCE = Path(__file__).parents[2] / "examples" / "second" / "rail"
# Rows of other surfaces that judge a rail as well, without the minutes of generated requests.
BEYOND_THE_RAIL = ("X-JSON", "X-ROB")
ALL_ROWS = "--all-rows"


@dataclass(frozen=True)
class Edit:
    """A text that stands once in a file of the source, and what takes its place."""

    file: str
    find: str
    put: str


@dataclass(frozen=True)
class Breach:
    """A small fault: the clause that it breaks, and the prefixes of the rows that are tried first."""

    id: str
    clause: str
    rows: tuple[str, ...]
    edits: tuple[Edit, ...]


def breaches() -> list[Breach]:
    """Return the breaches of breaches.json, in its order."""
    listed = json.loads((SOURCE / "breaches.json").read_text("utf-8"))
    return [
        Breach(one["id"], one["clause"], tuple(one["rows"]), tuple(Edit(**edit) for edit in one["edits"]))
        for one in listed
    ]


def broken(breach: Breach, folder: Path) -> Path:
    """Copy the source into `folder` with a breach in it, and return where it is.

    Raises:
        ValueError: A text does not stand exactly once in its file.
    """
    shutil.copytree(SOURCE, folder)
    for edit in breach.edits:
        put_in(breach.id, folder / edit.file, [(edit.find, edit.put)])
    return folder


@contextmanager
def chain(folder: Path) -> Iterator[Mapping[str, str]]:
    """A simulated Algorand; yields the ready line of `weldproof up --chains-only`."""
    with running_stack(folder, "--chains-only", "--lane", "algorand") as ready:
        yield ready


@contextmanager
def rail(ready: Mapping[str, str], folder: Path, source: Path = SOURCE) -> Iterator[Path]:
    """Start the rail on that chain with `folder` for its data; yields a profile that describes it."""
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
        words = [str(node().path), str(source / "server.mjs")]
        with subprocess.Popen(words, env=environment, pass_fds=[listening.fileno()], stdout=log, stderr=log) as process:
            try:
                _wait(f"http://localhost:{port}/health", process)
                yield _profile(ready, folder / "weldproof.toml", port)
            finally:
                process.kill()  # nothing is lost by it, and that is to be shown


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{url} did not answer")


def _profile(ready: Mapping[str, str], file: Path, port: int) -> Path:
    """Write the example's own profile with the addresses of this chain and this rail."""
    text = (SOURCE / "weldproof.toml").read_text("utf-8")
    here = {
        "http://localhost:8402": f"http://localhost:{port}",
        "http://127.0.0.1:4001": ready["algod"],
        "http://127.0.0.1:8980": ready["indexer"],
        "data/algod_token": ready["algod_token_file"],
        "data/clock_offset": ready["clock_file"],
    }
    for written, actual in here.items():
        assert written in text
        text = text.replace(written, actual)
    # On a busy machine an answer takes its time.
    file.write_text(f"{text}\n[budgets]\nrequest = 300\nconfirmation = 300\n", "utf-8")
    return file


def judged(profile: Path, *words: str) -> dict[str, str]:
    """Run the suite with a profile and return the verdict of each row, by its id."""
    report = profile.parent / "report"
    options = ["--config", str(profile), "--report", "json", "--report-dir", str(report), "--seed", "20"]
    done = prepared.run("conformance", "run", *words, *options, env=os.environ, cwd=profile.parent, timeout=900)
    assert done.returncode in {0, 1, 3}, done.stdout[-3000:] + done.stderr[-3000:]
    tests: list[dict[str, Any]] = json.loads((report / "report.json").read_text("utf-8"))["results"]["tests"]
    return {one["name"].partition(":")[0]: one["rawStatus"] for one in tests}


def noticed(ready: Mapping[str, str], breach: Breach, folder: Path, rows: Sequence[str]) -> dict[str, str]:
    """Return those of the rows that do not pass with a breach in, each with its verdict."""
    source = broken(breach, folder / "source")
    try:
        with rail(ready, folder, source) as profile:
            verdicts = judged(profile, *rows)
    except RuntimeError:
        return {"(it does not start)": "fail"}
    return {row: verdict for row, verdict in verdicts.items() if verdict in {"fail", "warn", "inconclusive"}}


def _line(breach: Breach, found: Mapping[str, str]) -> str:
    rows = {
        kind: ", ".join(sorted(row for row, verdict in found.items() if verdict == kind))
        for kind in ("fail", "warn", "inconclusive")
    }
    return f"| {breach.id} | {breach.clause} | {rows['fail']} | {rows['warn']} | {rows['inconclusive']} |"


def main(words: Sequence[str]) -> None:
    """Print a line of the table for each breach that is named, or for all of them."""
    names = [word for word in words if word != ALL_ROWS]
    with tempfile.TemporaryDirectory() as made, chain(Path(made) / "chain") as ready:
        for breach in breaches():
            if names and breach.id not in names:
                continue
            rows = ("RAIL", *BEYOND_THE_RAIL) if ALL_ROWS in words else breach.rows
            print(_line(breach, noticed(ready, breach, Path(made) / breach.id, rows)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
