"""Chromium: the machine's, else npm's `@sparticuz/chromium` in the cache, with libraries and a font of its own."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tarfile
from functools import cache as once
from pathlib import Path
from typing import Any, Final

from programs import cache, installer_progress, node, npm_packages
from programs.found import Program, machine_counts, version_of
from programs.installer_progress import Say, to_stderr
from programs.missing import Missing

# The shell first: the whole browser keeps renderers of its own interface ready for each page that is opened.
NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
REMEDY: Final = "install Chromium, for example: apt install chromium"
_PACKAGE = Path(__file__).parent / "pins" / "chromium"
_KIND = "chromium"
_ARCHIVES = ("al2023", "fonts", "swiftshader")
# Node.js unpacks Brotli; Python's standard library does not.
_UNPACK = """
const [from, to] = process.argv.slice(1);
const { pipeline } = require("node:stream/promises"), fs = require("node:fs"), zlib = require("node:zlib");
pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to))
  .catch((fault) => { console.error(fault); process.exit(1); });
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
</fontconfig>
"""


def find_installed() -> Program | None:
    """Return Chromium as it is there already."""
    return _on_machine() or _in_cache()


def chromium(say: Say = to_stderr) -> Program:
    """Return Chromium, getting it where it is not there.

    Raises:
        Missing: It is not there and could not be got.
    """
    present = find_installed()
    if present is not None:
        return present
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Missing(f"no Chromium, and npm has none for {sys.platform} on {platform.machine()}", REMEDY)
    try:
        cache.make_once(_place(), lambda: _make(say))
    except Missing as missing:
        raise Missing(f"no Chromium: {missing.what}", REMEDY) from missing
    browser = _in_cache()
    if browser is None or not browser.version:
        raise Missing("the Chromium that npm has does not run on this machine", REMEDY)
    return browser


def launch_options(of: Program) -> dict[str, Any]:
    """Return what Playwright's `launch` is given to start a Chromium."""
    return {"executable_path": of.path, "env": {**os.environ, **of.environment}}


def _on_machine() -> Program | None:
    path = next(filter(None, map(shutil.which, NAMES)), None) if machine_counts() else None
    return None if path is None else Program("Chromium", Path(path), _version(Path(path)), of_machine=True)


def _in_cache() -> Program | None:
    place = _place()
    if not cache.is_whole(place):
        return None
    own = {"LD_LIBRARY_PATH": str(place / "lib"), "FONTCONFIG_PATH": str(place)}
    version = _version(place / "chromium", tuple(own.items()))
    return Program("Chromium", place / "chromium", version, of_machine=False, environment=own)


def _place() -> Path:
    return cache.home(_KIND, _PACKAGE / "package-lock.json", _FONTS)


def _make(say: Say) -> None:
    place, remedy = _place(), "delete the folder and try again"
    say("getting Chromium (68 MB packed)")
    archives = npm_packages.node_modules(_PACKAGE, say=say) / "@sparticuz" / "chromium" / "bin"
    runtime = node.node(say)
    for name in ("chromium", *(f"{archive}.tar" for archive in _ARCHIVES)):
        words = (runtime.path, "-e", _UNPACK, archives / f"{name}.br", place / name)
        installer_progress.run_installer(f"unpacking {name} into {place}", words, say=say, remedy=remedy)
    for archive in _ARCHIVES:
        with tarfile.open(place / f"{archive}.tar") as packed_files:
            # Python 3.11.2, Debian's, has no filter yet; what is unpacked is pinned by digest.
            packed_files.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
            packed_files.extractall(place)  # noqa: S202 - see above
        (place / f"{archive}.tar").unlink()
    (place / "fonts.conf").write_text(_FONTS, "ascii")
    (place / "chromium").chmod(0o755)
    say(f"  Chromium: {installer_progress.megabytes(place)} MB in {place}")


@once
def _version(path: Path, environment: tuple[tuple[str, str], ...] = ()) -> str:
    return version_of(path, dict(environment))
