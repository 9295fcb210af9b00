"""Reasons of rows: what goes wrong if a row is broken. `ledger/why.toml` contains them, by rows and by families."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from conformance.ledger import id_prefixes

FILE: Final = "ledger/why.toml"


@cache
def reasons() -> Mapping[str, str]:
    """Return the reasons by id or beginning of ids, in the order of the file.

    Raises:
        ValueError: The file contains a beginning twice.
    """
    texts: dict[str, str] = {}
    for entry in tomllib.loads(files("conformance").joinpath(FILE).read_text("utf-8"))["why"]:
        for name in entry["rows"]:
            if name in texts:
                raise ValueError(f"{FILE}: {name} occurs twice")
            texts[name] = entry["text"]
    return MappingProxyType(texts)


def longest_prefix(row: str) -> str | None:
    """Return the longest entry with which a row's id begins, in whole words; None if there is no such entry."""
    return next((prefix for prefix in id_prefixes(row) if prefix in reasons()), None)


def why(row: str) -> str | None:
    """Return why a row of the ledger matters; None if it has no entry yet."""
    prefix = longest_prefix(row)
    return None if prefix is None else reasons()[prefix]
