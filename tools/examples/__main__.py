"""Record example breaches of the requirements: `python -m tools.examples SECONDS [ID…]`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import click
import orjson

import conformance
from conformance.ledger import load
from conformance.ledger.example_breaches import FILE, Example, examples
from tools.examples.recording import Recording, chosen, jobs


def encoded(found: Iterable[Example]) -> bytes:
    """Return examples as their file contains them: a row a line, in the order of the ledger."""
    order = {row.id: place for place, row in enumerate(load())}
    lines = (orjson.dumps(one) for one in sorted(found, key=lambda one: order[one.row]))
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


@click.command()
@click.option("--again", is_flag=True, help="Record what has a recording as well.")
@click.option("--apart", is_flag=True, help="A separate stack for each mutant: slow, for what a warm one misses.")
@click.argument("seconds", type=float)
@click.argument("ids", nargs=-1)
def main(seconds: float, ids: tuple[str, ...], *, again: bool, apart: bool) -> None:
    """Record for so many SECONDS examples of the rows that have none; ID chooses rows, as for `run`."""
    record(ids, seconds, again=again, apart=apart)


def record(ids: Iterable[str], seconds: float, *, again: bool, apart: bool) -> None:
    """Record examples of the rows that have none, and keep each as soon as it is there."""
    path, kept = Path(conformance.__file__).parent / FILE, dict(examples())
    wanted = [row.id for row in load().select(ids) if again or row.id not in kept]
    listed = jobs(wanted, apart=apart)
    sys.stdout.write(f"{sum(len(one.rows) for one in listed)} rows, {len(listed)} mutants\n")

    def add(one: Example) -> None:
        kept[one.row] = one
        path.write_bytes(encoded(kept.values()))

    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    recording = Recording(add, tell, time.monotonic() + seconds)
    asyncio.run(recording.whole(listed))
    tell(f"{len(kept)} of {len(chosen())} rows; missed {recording.misses}")


if __name__ == "__main__":
    main()
