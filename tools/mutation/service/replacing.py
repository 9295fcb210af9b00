"""A module whose source is taken from another file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


def replace(name: str, file: str) -> None:
    """Have the module of a name, wherever it is imported from now on, run the source in a file."""
    sys.meta_path.insert(0, _Finder(name, Path(file)))


class _Finder:
    def __init__(self, name: str, file: Path) -> None:
        self._name, self._file = name, file

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None or found.origin is None:
            return None
        loader = _Loader(name, found.origin, self._file)
        places = found.submodule_search_locations
        return importlib.util.spec_from_file_location(
            name, found.origin, loader=loader, submodule_search_locations=places
        )


class _Loader(SourceFileLoader):
    """Compiles another file's source under the module's own path: what stands beside it is found there."""

    def __init__(self, name: str, path: str, file: Path) -> None:
        super().__init__(name, path)
        self._file = file

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(self._file.read_bytes(), path, "exec", dont_inherit=True)
