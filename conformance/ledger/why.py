"""Why a row matters: what goes wrong where it is broken. `ledger/why.toml` holds it, by rows and by families."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

FILE: Final = "ledger/why.toml"


@cache
def reasons() -> Mapping[str, str]:
    """Return the reasons by id, or beginning of ids, in the order of the file.

    Raises:
        ValueError: A beginning stands twice.
    """
    found: dict[str, str] = {}
    for entry in tomllib.loads(files("conformance").joinpath(FILE).read_text("utf-8"))["why"]:
        for name in entry["rows"]:
            if name in found:
                raise ValueError(f"{FILE}: {name} stands twice")
            found[name] = entry["text"]
    return MappingProxyType(found)


def beginning(row: str) -> str | None:
    """Return the longest entry that a row's id begins with, whole words only; None where there is none."""
    words = row.split("-")
    beginnings = ("-".join(words[:count]) for count in range(len(words), 0, -1))
    return next((one for one in beginnings if one in reasons()), None)


def why(row: str) -> str | None:
    """Return why a row of the ledger matters; None where no entry says so yet."""
    found = beginning(row)
    return None if found is None else reasons()[found]
