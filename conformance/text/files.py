"""Files that others may have written: read up to a bound, and written without following a link that they left.

A report folder, a receipt or a key set may come from a stranger. It must not fill the memory, and a link in a report
folder must not make a command overwrite another file of its user.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Final

# Bytes of a document that a command reads, such as a message, a key, a profile or an audit log.
LARGEST_DOCUMENT: Final = 64 * 1024 * 1024
# Bytes of a JSON report or of a file of vectors.
LARGEST_REPORT: Final = 256 * 1024 * 1024

# Bytes of a program's words, of which reports show the last few hundred letters.
LONGEST_WORDS: Final = 1024 * 1024


class TooLarge(ValueError):
    """A file is larger than what is read of its kind; the text says how large it may be."""


def read_file(path: Path, limit: int = LARGEST_DOCUMENT) -> bytes:
    """Return a file's bytes, standard input's for -.

    Args:
        path: The file.
        limit: Most bytes that it may have.

    Raises:
        OSError: It cannot be read.
        TooLarge: It has more bytes than `limit`.
    """
    if str(path) == "-":
        data = sys.stdin.buffer.read(limit + 1)
    else:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(f"larger than {format_size(limit)}, of which no more is read")
    return data


def read_text(path: Path, limit: int = LARGEST_DOCUMENT) -> str:
    """Return a file's text in UTF-8; see `read_file`.

    Raises:
        OSError: It cannot be read.
        ValueError: It is too large or not UTF-8.
    """
    return read_file(path, limit).decode("utf-8")


def read_end(path: Path) -> str:
    """Return the end of what a program printed into a file, at most `LONGEST_WORDS` bytes of it."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_WORDS))
        return file.read(LONGEST_WORDS).decode("utf-8", "replace")


def refuse_link(path: Path) -> None:
    """See that a file of somebody's folder is in that folder.

    Raises:
        OSError: It is a symbolic link, or no regular file; the text says so.
    """
    kind = path.lstat().st_mode
    if stat.S_ISLNK(kind):
        raise OSError(f"{path} is a symbolic link; name the file that is meant")
    if not stat.S_ISREG(kind):
        raise OSError(f"{path} is no regular file")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file in place of what has its name: a symbolic link there is replaced and not followed.

    Raises:
        OSError: It cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(_usual_mode())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def format_size(count: int) -> str:
    """Return a number of bytes for people: `64 MiB`, or `1000 bytes` where it is no whole number of MiB."""
    mebibytes, remainder = divmod(count, 1024 * 1024)
    return f"{mebibytes} MiB" if mebibytes and not remainder else f"{count} bytes"


def _usual_mode() -> int:
    """Return the mode that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
