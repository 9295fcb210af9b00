"""Trusted keys file: further keys whose receipts are accepted, from a JWKS that the operator names (P-RV-01)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from reference.web.reloaded_file import ReloadedFile


def open_trusted_keys(path: Path | None) -> ReloadedFile[tuple[Mapping[str, Any], ...]]:
    """Return the keys of a JWKS file as they are now, the last good ones while it cannot be read.

    Raises:
        OSError: It cannot be read at all.
        ValueError: It holds no JWKS.
    """
    keys = ReloadedFile(path or Path(), lambda: read_trusted_keys(path))
    keys()
    return keys


def read_trusted_keys(path: Path | None) -> tuple[Mapping[str, Any], ...]:
    """Return the keys of a JWKS file; none where no file is named.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no JWKS.
    """
    if path is None:
        return ()
    document = orjson.loads(path.read_bytes())
    if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
        raise ValueError("the file holds no JWKS")  # noqa: TRY004 - a fault of the content
    # Whether a key can be used is judged when a receipt names it, so an unknown kind of key does not spoil the file.
    return tuple(key for key in document["keys"] if isinstance(key, dict))
