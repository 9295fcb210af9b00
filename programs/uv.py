"""uv, which installs the locked Python packages: where it is there already, else PyPI's in the cache."""

from __future__ import annotations

from programs import cache, python_packages
from programs.found import Program, version_of
from programs.installer_progress import Say, to_stderr


def uv(say: Say = to_stderr) -> Program:
    """Return uv, getting it where it is not there.

    Raises:
        Missing: It is not there and could not be got.
    """
    path = python_packages.found_uv()
    if path is None:
        path = python_packages.environment("uv", python_packages.UV_PINS, description="uv", say=say) / "bin" / "uv"
    return Program("uv", path, version_of(path), of_machine=cache.folder() not in path.parents)
