"""Files of strangers: bounded reading, and writing that follows no symbolic link.

A report folder, a receipt or a key set may come from a stranger. A large one must not fill the memory. A link in a
report folder must not make a command overwrite another file of its user.
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

# Bytes read from the end of a program's output, of which reports show the last few hundred characters.
LONGEST_WORDS: Final = 1024 * 1024


class TooLarge(ValueError):
    """A file exceeds the limit of its kind; the text contains the limit."""


def read_file(path: Path, limit: int = LARGEST_DOCUMENT) -> bytes:
    """Return the bytes of a file, or of standard input for `-`.

    Args:
        path: The file.
        limit: Largest permitted number of bytes.

    Raises:
        OSError: The file cannot be read.
        TooLarge: The file has more bytes than `limit`.
    """
    if str(path) == "-":
        data = sys.stdin.buffer.read(limit + 1)
    else:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    # One byte more than the limit was requested, so that a file of exactly the limit is distinguished from a
    # larger one. `stat` would not do: standard input and a growing file have no fixed size.
    if len(data) > limit:
        raise TooLarge(f"larger than {format_size(limit)}, which is the limit")
    return data


def read_text(path: Path, limit: int = LARGEST_DOCUMENT) -> str:
    """Return a file's text in UTF-8; see `read_file`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is too large or not UTF-8.
    """
    return read_file(path, limit).decode("utf-8")


def read_end(path: Path) -> str:
    """Return the last `LONGEST_WORDS` bytes of a program's output file as text."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_WORDS))
        return file.read(LONGEST_WORDS).decode("utf-8", "replace")


def refuse_link(path: Path) -> None:
    """Reject a symbolic link, which could name a file outside of its folder.

    Raises:
        OSError: The path is a symbolic link, or not a regular file.
    """
    kind = path.lstat().st_mode
    if stat.S_ISLNK(kind):
        raise OSError(f"{path} is a symbolic link; name the file itself")
    if not stat.S_ISREG(kind):
        raise OSError(f"{path} is not a regular file")


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically; a symbolic link at the path is replaced and not followed.

    Raises:
        OSError: The file cannot be written.
    """
    # The temporary file is in the same folder, since a rename across file systems is not atomic.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp creates files that only their owner can read; reports get the mode of any new file.
        temporary.chmod(_usual_mode())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def format_size(count: int) -> str:
    """Return a number of bytes in words: `64 MiB`, or `1000 bytes` if it is not a multiple of a MiB."""
    mebibytes, remainder = divmod(count, 1024 * 1024)
    return f"{mebibytes} MiB" if mebibytes and not remainder else f"{count} bytes"


def _usual_mode() -> int:
    """Return the permission bits of a new file under the process's umask."""
    # POSIX has no call that only reads the umask.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
