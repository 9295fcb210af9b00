"""What pyproject.toml has no words for: the vectors as one archive, a sixth of their size, and the derived data."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path
from typing import Final

from setuptools import setup
from setuptools.command.build_py import build_py

_ROOT: Final = Path(__file__).parent
_PACKAGE: Final = "conformance/vectors"
_ARCHIVE: Final = "vectors.zip"
# The earliest time that an archive can hold: the same bytes from the same files.
_EARLIEST: Final = (1980, 1, 1, 0, 0, 0)


class BuildWithData(build_py):
    """Packs the vectors and derives data; an editable installation reads the vectors and makes the data itself."""

    def run(self) -> None:
        """Build, then put the vectors, their schemas and pages into their archive, and write the derived data."""
        super().run()
        if not self.editable_mode:
            _pack(Path(self.build_lib, _PACKAGE))
            _derive(Path(self.build_lib))


def _derive(folder: Path) -> None:
    """Write the data that a checkout makes at its first use; the modules that make them need no other package."""
    sys.path.insert(0, str(_ROOT))
    from conformance.engine.catalogue import CATALOGUE  # noqa: PLC0415 - found once the path has the project
    from conformance.ledger.deciding_function_lines import RULES  # noqa: PLC0415 - as above
    from conformance.ledger.sentence_ledger import SENTENCES  # noqa: PLC0415 - as above
    from conformance.ledger.specification import CLAUSES  # noqa: PLC0415 - as above

    for data in (CATALOGUE, CLAUSES, RULES, SENTENCES):
        (folder / data.file).write_bytes(data.package_bytes(_ROOT))


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


setup(cmdclass={"build_py": BuildWithData})
