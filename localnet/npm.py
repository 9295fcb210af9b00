"""The npm packages of the real nodes: pinned by package-lock.json, installed once into the project's cache."""

from __future__ import annotations

from pathlib import Path

from programs import npm_packages

NODES = Path(__file__).parent


def node_modules(package: Path = NODES) -> Path:
    """Return a folder `node_modules` of what a folder's package-lock.json names, installing it at first use.

    Args:
        package: Folder with package.json and package-lock.json; the real nodes' own by default.

    Raises:
        Missing: Node.js and npm are not to be had, or the registry did not give the packages.
    """
    return npm_packages.node_modules(package)


def is_installed(package: Path = NODES) -> bool:
    """Return whether `node_modules` would install nothing."""
    return npm_packages.present(package)
