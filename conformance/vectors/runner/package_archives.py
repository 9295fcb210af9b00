"""Archives of the vector package, reproducible byte for byte."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Final

from conformance import vectors

SUMS: Final = "SHA256SUMS"
_PAGES: Final = ("README.md", "RULES.md", "PROTOCOL.md", vectors.MANIFEST, "releases.json")
# The earliest time that both forms can hold: what is packed has no time of its own.
# The earliest time that a zip archive can record. A fixed time, mode and order make archives of one package equal
# byte for byte, so that their digests can be published.
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)
_EARLIEST_SECONDS: Final = 315_532_800
_MODE: Final = 0o644


def tarball(folder: Traversable) -> bytes:
    """Return the package in a folder as a gzipped tar archive."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in _contents(folder):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(data), _EARLIEST_SECONDS, _MODE
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(whole.getvalue(), mtime=0)


def write_zip(folder: Traversable) -> bytes:
    """Return the package in a folder as a zip archive."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _contents(folder):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE << 16
            archive.writestr(entry, data)
    return whole.getvalue()


def _contents(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of every file, in a folder named after the version, with the checksums last."""
    manifest = json.loads((folder / vectors.MANIFEST).read_text("utf-8"))
    top = f"weldproof-vectors-{manifest['version']}"
    sums = []
    for name in (*_PAGES, *sorted(_schemas(folder / "schemas", "schemas")), *manifest["files"]):
        data = folder.joinpath(*name.split("/")).read_bytes()
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
        yield f"{top}/{name}", data
    # Last, since it needs the digests of all other files.
    yield f"{top}/{SUMS}", "".join(sums).encode("ascii")


def _schemas(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _schemas(entry, f"{prefix}/{entry.name}")
        elif entry.name.endswith(".json"):
            yield f"{prefix}/{entry.name}"
