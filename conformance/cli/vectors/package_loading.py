"""The vector package that a command reads."""

from __future__ import annotations

from pathlib import Path

from conformance import vectors
from conformance.cli.usage import UsageFault
from conformance.vectors import Package, PackageFault


def open_package(folder: Path | None) -> Package:
    """Return the package in a folder, or the built-in one.

    Raises:
        UsageFault: The folder does not contain a package.
    """
    try:
        return vectors.package() if folder is None else vectors.read(folder)
    except PackageFault as fault:
        raise UsageFault(f"{folder or 'the package'}: {fault}") from fault
