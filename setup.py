"""What pyproject.toml has no words for: in a wheel the vector package lies as one archive, a sixth of its size."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Final

from setuptools import setup
from setuptools.command.build_py import build_py

_PACKAGE: Final = "conformance/vectors"
_ARCHIVE: Final = "vectors.zip"
# The earliest time that an archive can hold: the same bytes from the same files.
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)


class BuildWithArchive(build_py):
    """Packs the vectors; an editable installation reads them where they are."""

    def run(self) -> None:
        """Build, then put the vectors, their schemas and pages into their archive."""
        super().run()
        if not self.editable_mode:
            _pack(Path(self.build_lib, _PACKAGE))


def _pack(package: Path) -> None:
    """Move what is no module of the package, and lies in no module's folder, into its archive."""
    folders = [one for one in package.iterdir() if one.is_dir() and not (one / "__init__.py").exists()]
    loose = [one for one in package.iterdir() if one.suffix in {".json", ".md"}]
    whole = sorted([*loose, *(one for folder in folders for one in folder.rglob("*") if one.is_file())])
    with zipfile.ZipFile(package / _ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in whole:
            entry = zipfile.ZipInfo(one.relative_to(package).as_posix(), _EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, one.read_bytes())
    for one in loose:
        one.unlink()
    for folder in folders:
        shutil.rmtree(folder)


setup(cmdclass={"build_py": BuildWithArchive})
