"""npm packages in the cache: exactly what a package-lock.json names, without running their scripts."""

from __future__ import annotations

import shutil
from pathlib import Path

from programs import cache, installer_progress, node
from programs.installer_progress import Say
from programs.missing import Missing

_KIND = "npm"


def node_modules(package: Path, *, say: Say = installer_progress.to_stderr) -> Path:
    """Return a folder `node_modules` that holds exactly what a folder's package-lock.json names.

    It is installed with `npm ci` at first use and kept under the lock file's digest; two processes that want the same
    one wait for each other. Scripts of packages are not run.

    Args:
        package: Folder with package.json and package-lock.json.
        say: Takes a line on what is being done.

    Raises:
        Missing: Node.js and npm are not to be had, or the registry did not give the packages.
    """
    place = cache.home(_KIND, package / "package-lock.json")

    def make() -> None:
        runtime = node.node(say)
        say(f"getting the npm packages of {package.name} into {place}")
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(package / name, place / name)
        try:
            installer_progress.run_installer(
                f"npm packages of {package.name}",
                (*node.npm(runtime), "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
                say=say,
                remedy=f"see that npm reaches its registry (`npm ping`), then: cd {place} && npm ci --ignore-scripts",
                cwd=place,
                environment=node.environment(runtime),
            )
        except Missing as missing:
            raise Missing(f"npm did not install them: {missing.what}", missing.remedy) from missing

    return cache.make_once(place, make) / "node_modules"


def present(package: Path) -> bool:
    """Return whether `node_modules` would install nothing."""
    return cache.is_whole(cache.home(_KIND, package / "package-lock.json"))


def folder() -> Path:
    """Return the folder that keeps installed packages, one folder a lock file."""
    return cache.folder() / _KIND
