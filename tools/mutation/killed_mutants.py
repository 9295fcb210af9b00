"""Mutants that a row has failed once, by stack: data that grows, so that each can be tried again in turn."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.mutation.places import ROOT

FOLDER = ROOT / "conformance/recorded/killed"


def load(stack: str, folder: Path = FOLDER) -> dict[str, tuple[str, ...]]:
    """Return the mutants that were killed on a stack, each with the rows that failed it."""
    path = folder / f"{stack}.json"
    rows_by_mutant = json.loads(path.read_bytes()) if path.exists() else {}
    return {name: tuple(rows) for name, rows in rows_by_mutant.items()}


def keep(stack: str, results: Iterable[Mapping[str, Any]], folder: Path = FOLDER) -> None:
    """Add those of some results that a row fails; what is no longer killed is taken out.

    Args:
        stack: Where they were tried.
        results: Lines of `results.ndjson`.
        folder: Where the data are.
    """
    rows_by_mutant: dict[str, Collection[str]] = {**load(stack, folder)}
    for result in results:
        rows_by_mutant.pop(result["id"], None)
        if result["outcome"] == "killed":
            rows_by_mutant[result["id"]] = sorted(result["killed_by"])
    _write(stack, rows_by_mutant, folder)


def tidy(names: Collection[str], folder: Path = FOLDER) -> None:
    """Remove entries of other mutants than these from every stack's data: their rules have changed."""
    for path in folder.glob("*.json"):
        _write(path.stem, {name: rows for name, rows in load(path.stem, folder).items() if name in names}, folder)


def _write(stack: str, rows_by_mutant: Mapping[str, Collection[str]], folder: Path) -> None:
    """Write a line for each mutant, in the order of their ids, which a reader can compare."""
    folder.mkdir(exist_ok=True)
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps([*rows_by_mutant[name]])}" for name in sorted(rows_by_mutant))
    (folder / f"{stack}.json").write_text(f"{{\n{lines}\n}}\n" if lines else "{}\n", "utf-8")
