"""Write everything in `conformance/recorded`, which only a run can show: `make record`, or `ONLY=typical make record`.

Each part keeps what it knows of the rest: a check or a mutant that did not change keeps its line. So a change
needs no recording of its own. All parts take hours on two processors.

| Part | Files | What is recorded |
| --- | --- | --- |
| `typical` | `typical_seconds.json` | what each check takes in a whole run |
| `examples` | `examples.json` | a breach of each requirement that has none yet |
| `reached` | `reached/*.json` | which check reaches which line, by stack |
| `killed` | `killed/*.json` | which mutants made by rule a row fails, of those that one failed before |
| `looks` | `sound_looks.json` | one more seed of the correct server that takes every open point another way |
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click

from conformance.ledger.derived_files import ROOT
from tools import sound_looks

FOLDER: Final = ROOT / "conformance/recorded"
PRINTED_FILE: Final = "printed.json"
_EXAMPLE_SECONDS: Final = "3600"

Commands = Iterator[Sequence[str]]


def _typical(folder: Path) -> Commands:
    run_command = ("conformance", "run", "--reference", "--seed", "1", "--report", "json", "--report-dir", str(folder))
    yield run_command
    yield "tools.typical", str(folder / "events.ndjson.gz")


def _examples(folder: Path) -> Commands:
    del folder
    yield "tools.examples", _EXAMPLE_SECONDS


def _reached_commands(folder: Path) -> Commands:
    del folder
    yield "tools.mutants", "generated", "--record", "--stack", "every"


def _killed_commands(folder: Path) -> Commands:
    yield "tools.mutants", "generated", "--tidy"
    yield "tools.mutants", "generated", "--again", "--keep", "--stack", "every", "--folder", str(folder)


def _looks(folder: Path) -> Commands:
    seed = str(max(sound_looks.load().seeds, default=-1) + 1)
    yield "conformance", "selftest", "--chameleon", "--seeds", "1", "--from", seed, "--json"
    yield "tools.sound_looks", str(folder / PRINTED_FILE)


# Each part with the files that it writes, below the folder.
PARTS: Final[Mapping[str, tuple[str, Callable[[Path], Commands]]]] = {
    "typical": ("typical_seconds.json", _typical),
    "examples": ("examples.json", _examples),
    "reached": ("reached/*.json", _reached_commands),
    "killed": ("killed/*.json", _killed_commands),
    "looks": ("sound_looks.json", _looks),
}


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS]))
def main(parts: Sequence[str]) -> None:
    """Record the named PARTS one after the other, or all."""
    for part in parts or PARTS:
        click.echo(f"recording: {part}")
        with tempfile.TemporaryDirectory(prefix="recording-") as name:
            for words in PARTS[part][1](Path(name)):
                _run_module(words, Path(name))


def _run_module(words: Sequence[str], folder: Path) -> None:
    """Run a module with its arguments; if it prints JSON, into a file of the folder.

    Raises:
        SystemExit: It could not do its work. Exit code 1 says that something was found, such as a mutant that survives.
    """
    output = subprocess.PIPE if "--json" in words else None
    process = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, stdout=output, check=False)  # noqa: S603 - ours
    if "--json" in words:
        (folder / PRINTED_FILE).write_bytes(process.stdout)
    if process.returncode not in {0, 1}:
        sys.exit(f"python -m {' '.join(words)} ended with {process.returncode}")


if __name__ == "__main__":
    main()
