"""Textual edits of source files: how a mutant that is data changes the reference.

An edit replaces one text of one file. A service process reads the edits of its mutant before it imports any of its
modules, and each edited module is then compiled from its edited source when it is imported. The files stay as they are.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


class EditFault(Exception):
    """An edit that does not fit its file; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of a text.

    Attributes:
        file: Path of the file from the folder that contains the sources, such as `reference/protocol/weld.py`.
        find: Text that occurs exactly once in the file.
        put: Text that takes its place.
    """

    file: str
    find: str
    put: str

    @property
    def module(self) -> str:
        """Name of the Python module that the file is the source of."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def apply(self, text: str) -> str:
        """Return the text of the file with this edit.

        Raises:
            EditFault: `find` does not occur exactly once, or nothing would change.
        """
        count = text.count(self.find)
        # A text that occurs twice would leave it open which place is broken. A text that occurs nowhere would leave
        # the service sound, and the mutant would count as survived.
        if count != 1:
            raise EditFault(f"{self.file} contains {count} times, not once: {self.find!r}")
        if self.find == self.put:
            raise EditFault(f"{self.file}: find and put are equal: {self.find!r}")
        return text.replace(self.find, self.put)


def edit_modules(edits: Iterable[Edit], folder: Path) -> Mapping[str, str]:
    """Return the edited source of each module that some edits change, by the module's name.

    Args:
        edits: Edits of Python files, applied in their order.
        folder: The folder that contains the files.

    Raises:
        EditFault: An edit does not fit its file, or the file is not Python.
    """
    # Several edits of one file build on each other, so the edited source is looked up before the file is read.
    sources: dict[str, str] = {}
    for edit in edits:
        if not edit.file.endswith(".py"):
            raise EditFault(f"{edit.file} is not a Python module")
        source = sources.get(edit.module) or (folder / edit.file).read_text("utf-8")
        sources[edit.module] = edit.apply(source)
    return sources


def import_edited(sources: Mapping[str, str]) -> None:
    """Let the import of some modules run other sources than those in their files.

    Args:
        sources: Source of each module, by the module's name.

    Raises:
        EditFault: A module is imported already, so that its edited source would never run.
    """
    imported_modules = sorted(sources.keys() & sys.modules.keys())
    # A module that is imported already keeps its old code, and the mutant would change nothing without anyone
    # noticing.
    if imported_modules:
        raise EditFault(f"imported before their edits: {', '.join(imported_modules)}")
    sys.meta_path.insert(0, _EditedFinder(sources))


class _EditedFinder:
    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._sources:
            return None
        # The normal finder still decides where the module is, so that packages and data files are found as usual.
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return None
        loader = _EditedLoader(name, spec.origin, self._sources[name])
        folders = spec.submodule_search_locations
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=folders
        )


class _EditedLoader(SourceFileLoader):
    """Compiles an edited source under the path of the file, so that the module finds the files next to it."""

    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        # Compiled each time, because the cached bytecode belongs to the unedited file.
        return compile(self._source, self.get_filename(fullname), "exec", dont_inherit=True)
