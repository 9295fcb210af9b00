"""Reloaded files: read again when they change; while one cannot be read, its last good content stays in use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from reference.web.logs import get_logger

T = TypeVar("T")
_log = get_logger()


class ReloadedFile(Generic[T]):
    """What a file holds.

    Attributes:
        fault: What is wrong with the file now, for people; empty while nothing is.
    """

    def __init__(self, path: Path, read_content: Callable[[], T]) -> None:
        """Take the file and its reader, which raises OSError or ValueError if it cannot read the file."""
        self.fault = ""
        self._path = path
        self._read_content = read_content
        self._read_version: tuple[int, int, int] | None = None
        self._value: T | None = None

    def __call__(self) -> T:
        """Return what the file holds, or held when it could last be read.

        Raises:
            OSError: It cannot be read, and never could.
            ValueError: It holds something else, and always did.
        """
        version = self._identify_version()
        if self._value is None:
            self._value = self._read_content()
            # Reading may have made the file.
            version = version or self._identify_version()
        elif version != self._read_version:
            # A file that cannot be read now keeps its last content in use, so that a typing error does not stop
            # payments.
            self._renew()
        # The version from before the reading, so that a change meanwhile is noticed by the next call.
        self._read_version = version
        return self._value

    def _renew(self) -> None:
        try:
            self._value = self._read_content()
        except (OSError, ValueError) as fault:
            self.fault = f"{self._path}: {fault}"
            _log.error("file_not_usable", path=str(self._path), kind=type(fault).__name__)
        else:
            self.fault = ""

    def _identify_version(self) -> tuple[int, int, int] | None:
        """Identify this version of a file; by time alone, two versions written in one tick would be the same."""
        try:
            status = os.stat(self._path)  # noqa: PTH116 - asked for every receipt, so plainly
        except OSError:
            return None
        # By time alone, two versions written within one tick of the file system would be the same.
        return status.st_ino, status.st_mtime_ns, status.st_size
