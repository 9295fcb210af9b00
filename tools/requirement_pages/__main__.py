"""Write the pages of the requirements: `python -m tools.requirement_pages [--check | --record SECONDS [ID…]]`."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import click
import orjson

import conformance
from conformance.cli.explain.content import explanation
from conformance.ledger import load
from conformance.ledger.examples import FILE, Example, examples
from tools.requirement_pages.pages import PAGES, pages


def encoded(found: Iterable[Example]) -> bytes:
    """Return examples as their file holds them: a row a line, in the order of the ledger."""
    order = {row.id: place for place, row in enumerate(load())}
    lines = (orjson.dumps(one) for one in sorted(found, key=lambda one: order[one.row]))
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


@click.command()
@click.option("--check", "only_look", is_flag=True, help="Write nothing; fail where a page is stale.")
@click.option("--record", "seconds", type=float, help="Record examples for so many seconds, then write the pages.")
@click.option("--again", is_flag=True, help="Record what has a recording as well.")
@click.option("--apart", is_flag=True, help="A stack of its own for each mutant: slow, for what a warm one misses.")
@click.argument("ids", nargs=-1)
def main(ids: tuple[str, ...], seconds: float | None, *, only_look: bool, again: bool, apart: bool) -> None:
    """Write the pages of the requirements below docs/requirements; ID chooses what is recorded, as `run` does."""
    if seconds is not None:
        record(ids, seconds, again=again, apart=apart)
        # The pages are of what was recorded, which this process has read already.
        examples.cache_clear()
    made = pages([explanation(row) for row in load()])
    root = Path(conformance.__file__).parents[1] / PAGES
    if only_look:
        stale = stale_pages(root, made)
        sys.exit(f"stale: {', '.join(stale)}" if stale else 0)
    write(root, made)
    sys.stdout.write(f"{len(made)} pages\n")


def stale_pages(folder: Path, made: Mapping[str, str]) -> list[str]:
    """Return the names of files that are missing, different or too many."""
    there = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in {*made, *there} if made.get(name) != there.get(name))


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Make a folder hold these pages and no others."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale_pages(folder, made):
        if name in made:
            (folder / name).write_text(made[name], "utf-8")
        else:
            (folder / name).unlink()


def record(ids: Iterable[str], seconds: float, *, again: bool, apart: bool) -> None:
    """Record examples of the rows that have none, and keep each as soon as it is there."""
    from tools.requirement_pages.recording import Recording, chosen, jobs  # noqa: PLC0415 - it brings a stack along

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
