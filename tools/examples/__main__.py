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
from tools.examples.breach_recording import Recording, choose_mutants, jobs


def encode(all_examples: Iterable[Example]) -> bytes:
    """Return examples as their file contains them: a row a line, in the order of the ledger."""
    order = {row.id: place for place, row in enumerate(load())}
    lines = (orjson.dumps(one) for one in sorted(all_examples, key=lambda one: order[one.row]))
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
    path, examples_by_row = Path(conformance.__file__).parent / FILE, dict(examples())
    rows = [row.id for row in load().select(ids) if again or row.id not in examples_by_row]
    planned_jobs = jobs(rows, apart=apart)
    sys.stdout.write(f"{sum(len(one.rows) for one in planned_jobs)} rows, {len(planned_jobs)} mutants\n")

    def add(example: Example) -> None:
        examples_by_row[example.row] = example
        path.write_bytes(encode(examples_by_row.values()))

    def tell(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    recorder = Recording(add, tell, time.monotonic() + seconds)
    asyncio.run(recorder.whole(planned_jobs))
    tell(f"{len(examples_by_row)} of {len(choose_mutants())} rows; missed {recorder.misses}")


if __name__ == "__main__":
    main()
