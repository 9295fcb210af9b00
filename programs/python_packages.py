"""Environments of Python packages in the cache, each of what one file of pins names and of nothing else."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from programs import cache, installer_progress
from programs.found import Program
from programs.installer_progress import Say
from programs.missing import Missing

UV_PINS: Final = Path(__file__).parent / "pins" / "uv.txt"
WITHOUT_VENV: Final = "install python3-venv (Debian: apt install python3-venv), or uv"


def environment(kind: str, pins: Path, *, description: str, say: Say = installer_progress.to_stderr) -> Path:
    """Return the folder of an environment with exactly what a file pins, making it at first use.

    Its interpreter is `bin/python` in there. Digests are checked where the file has them.

    Args:
        kind: The folder of the cache.
        pins: Requirements, one version each, what they depend on among them.
        description: What it is, for the lines that say what is being done.
        say: Takes these lines.

    Raises:
        Missing: It could not be made.
    """
    place = _place(kind, pins)

    def make() -> None:
        say(f"getting {description} from PyPI into {place}")
        _install(place / "venv", pins, description, say)
        say(f"  {description}: {installer_progress.megabytes(place)} MB there")

    return cache.make_once(place, make) / "venv"


def present(kind: str, pins: Path) -> Path | None:
    """Return the folder of an environment that is there already."""
    place = _place(kind, pins)
    return place / "venv" if cache.is_whole(place) else None


def program(
    look: Callable[[], Program | None], kind: str, pins: Path, *, description: str, remedy: str, say: Say
) -> Program:
    """Return a program that is in an environment of the cache, making the environment at first use.

    Args:
        look: Returns the program as the cache has it.
        kind: The folder of the cache.
        pins: What the environment consists of.
        description: The program, and what it must be.
        remedy: What to do when it cannot be got.
        say: Takes the lines that tell of the work.

    Raises:
        Missing: It could not be got, or does not run here.
    """
    try:
        environment(kind, pins, description=description, say=say)
    except Missing as missing:
        raise Missing(f"no {description}: {missing.what}", remedy) from missing
    found_program = look()
    if found_program is None or not found_program.version:
        raise Missing(f"the {description} that PyPI has does not run on this machine", remedy)
    return found_program


def packages(environment_folder: Path) -> Path:
    """Return the folder in an environment that modules are imported from."""
    return environment_folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _place(kind: str, pins: Path) -> Path:
    return cache.home(kind, pins, f"{sys.base_prefix} {platform.python_version()}")


def _install(folder: Path, pins: Path, description: str, say: Say) -> None:
    remedy = f"see that this machine reaches PyPI, or copy {folder.parent} from one that does"
    python, uv = folder / "bin" / "python", found_uv()
    # Most of what is installed is never imported: what is, is compiled then.
    words: tuple[str | Path, ...]
    options = ("install", "--no-deps", "--no-compile", "-r", pins)
    if uv is not None:
        # uv keeps its versions of Python for itself: the one that runs is meant.
        create_command = (
            uv,
            "venv",
            "--clear",
            "--no-project",
            "--no-python-downloads",
            "--python",
            sys.executable,
            folder,
        )
        installer_progress.run_installer(description, create_command, say=say, remedy=remedy)
        words = (uv, "pip", *options, "--python", python)
    elif find_spec("pip") is not None:
        make_environment(folder, say, pip=False)
        words = (sys.executable, "-m", "pip", "--python", python, *options)
    else:
        make_environment(folder, say)
        words = (python, "-m", "pip", *options)
    installer_progress.run_installer(description, words, say=say, remedy=remedy, environment=_environment())


def make_environment(folder: Path, say: Say, *, pip: bool = True) -> None:
    """Make an empty environment of the running Python, with or without pip, over what lies there.

    Raises:
        Missing: This Python makes none.
    """
    if find_spec("venv") is None or (pip and find_spec("ensurepip") is None):
        raise Missing("this Python makes no environments: it lacks venv or ensurepip", WITHOUT_VENV)
    words = (sys.executable, "-m", "venv", "--clear", *(() if pip else ("--without-pip",)), folder)
    installer_progress.run_installer("environment", words, say=say, remedy=WITHOUT_VENV)


def found_uv() -> Path | None:
    """Return uv where it is there already; it does in a second what takes pip ten."""
    beside, cached_folder = Path(sys.prefix) / "bin" / "uv", present("uv", UV_PINS)
    on_path = shutil.which("uv")
    if on_path is not None:
        return Path(on_path)
    if beside.exists():
        return beside
    return None if cached_folder is None else cached_folder / "bin" / "uv"


def _environment() -> dict[str, str]:
    apart = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    return {**apart, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
