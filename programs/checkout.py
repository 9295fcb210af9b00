"""The environment of a checkout, as its Makefile asks for it: `python3 -m programs.checkout run|test FOLDER`.

`run` installs what running needs, `test` what tests need as well, both in the versions of uv.lock. Where uv neither is
nor can be got, pip installs what pyproject.toml allows. Bare Python starts it, so it needs nothing that is installed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from programs import installer_progress, python_packages
from programs.installer_progress import Say, to_stderr
from programs.missing import Missing
from programs.uv import uv

ROOT: Final = Path(__file__).parents[1]
_REMEDY = "see that this machine reaches PyPI, then try again; what was downloaded is kept"
# What a run imports of this checkout: its processes would each compile it, side by side, the first time.
_OURS: Final = ("conformance", "localnet", "mutants", "openapi", "programs", "reference", "sim")
_PARTS: Final[Mapping[str, tuple[str, str, tuple[str, ...]]]] = {
    "run": ("what running needs", "[all]", ("--extra", "all")),
    "test": ("what tests need", "[dev]", ("--extra", "dev")),
}


def main() -> int:
    """Make or complete an environment; return 0, or 1 with a line on what to do."""
    part, folder = sys.argv[1], Path(sys.argv[2]).absolute()
    # An environment with what tests need is kept when only what running needs is asked for.
    part = "test" if ready(folder, "test").exists() else part
    start_time = time.monotonic()
    to_stderr(f"installing {_PARTS[part][0]} into {folder}; Python {sys.version.split()[0]}")
    try:
        _install(part, folder, to_stderr)
        compile_ours(folder / "bin" / "python", ROOT, to_stderr)
    except Missing as missing:
        to_stderr(str(missing))
        return 1
    for part_name in ("run", part):
        ready(folder, part_name).touch()
    to_stderr(
        f"ready after {time.monotonic() - start_time:.0f} s: {installer_progress.megabytes(folder)} MB in {folder}"
    )
    return 0


def ready(folder: Path, part: str) -> Path:
    """Return the file that is there once an environment has a part."""
    return folder / f".ready-{part}"


def _install(part: str, folder: Path, say: Say) -> None:
    description, extra, options = _PARTS[part]
    words: tuple[str | Path, ...]
    try:
        tool = uv(say)
    except Missing as missing:
        say(f"no uv: {missing.what}\n  pip takes its place: slower, and with the versions that pyproject.toml allows")
        python_packages.make_environment(folder, say)
        words = (folder / "bin" / "python", "-m", "pip", "install", "--editable", f".{extra}")
        installer_progress.run_installer(f"installing {description}", words, say=say, remedy=_REMEDY, cwd=ROOT)
        return
    say(f"uv {tool.description}")
    words = (
        *(tool.path, "sync", "--frozen", "--compile-bytecode", "--no-python-downloads", "--python", sys.executable),
        *options,
    )
    environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(folder)}
    environment.pop("VIRTUAL_ENV", None)
    installer_progress.run_installer(
        f"installing {description}", words, say=say, remedy=_REMEDY, cwd=ROOT, environment=environment
    )


def compile_ours(python: Path, root: Path, say: Say) -> None:
    """Compile the packages of a checkout as an environment's Python wants them, on all processors.

    Raises:
        Missing: One cannot be compiled.
    """
    words: tuple[str | Path, ...] = (python, "-m", "compileall", "-q", "-j", "0", *(root / name for name in _OURS))
    installer_progress.run_installer("compiling what runs", words, say=say, remedy="see what it said of which file")


if __name__ == "__main__":
    sys.exit(main())
