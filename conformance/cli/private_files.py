"""Files that hold what others could use: readable by their owner alone, whole or absent after a crash, and bounded."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from pathlib import Path
from typing import Final, NamedTuple

from conformance.cli.usage import UsageFault

# Bytes of a file that is read; a signed payment and its request are far below that.
LONGEST_FILE: Final = 4 * 1024 * 1024
_SHARED_BITS: Final = stat.S_IRWXG | stat.S_IRWXO


class LockedFile(NamedTuple):
    """A file that this process alone works on, until the descriptor is closed."""

    descriptor: int
    content: bytes


class FileInUse(Exception):
    """Another process works on the file."""


def write_private(path: Path, data: bytes, *, lock: bool = False) -> int | None:
    """Write a file with mode 0600 that is there whole or not at all, whenever the machine stops.

    Args:
        path: Where it is to be; what was there is replaced.
        data: Its bytes.
        lock: Whether this process is to hold it as `open_locked` does.

    Returns:
        The descriptor that holds the lock, None without one.

    Raises:
        OSError: It cannot be written.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if lock:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remaining_bytes = memoryview(data)
        while remaining_bytes:
            remaining_bytes = remaining_bytes[os.write(descriptor, remaining_bytes) :]
        os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        os.close(descriptor)
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)
    if lock:
        return descriptor
    os.close(descriptor)
    return None


def _sync_folder(folder: Path) -> None:
    """Have the disk keep a folder's list of files, without which a new name is lost with the power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_locked(path: Path) -> LockedFile:
    """Open a private file, read it, and keep other processes that use this function away from it.

    Raises:
        UsageFault: It cannot be read, is no ordinary file of this user, others may read it, or it is too long.
        InUse: Another process works on it.
    """
    while True:
        descriptor = _open_private(path)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as fault:
                raise FileInUse(str(path)) from fault
            # Who held it may have put another file into its place before this one got the lock.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return LockedFile(descriptor, _read_content(path, descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def read_private(path: Path) -> bytes:
    """Return the bytes of a private file.

    Raises:
        UsageFault: As `open_locked`.
    """
    descriptor = _open_private(path)
    try:
        return _read_content(path, descriptor)
    finally:
        os.close(descriptor)


def _open_private(path: Path) -> int:
    try:
        # A pipe in the file's place must not make this process wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise UsageFault(f"{path}: {fault.strerror}") from fault
    status = os.fstat(descriptor)
    reason = None
    if not stat.S_ISREG(status.st_mode):
        reason = "it is not a regular file"
    elif status.st_uid != os.geteuid():
        reason = "it belongs to another user"
    elif status.st_mode & _SHARED_BITS:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        reason = f"other users may read or change it (mode {mode}); if it is yours, run chmod 600 on it"
    elif status.st_size > LONGEST_FILE:
        reason = f"it is longer than {LONGEST_FILE} bytes"
    if reason is None:
        return descriptor
    os.close(descriptor)
    raise UsageFault(f"{path}: {reason}")


def _read_content(path: Path, descriptor: int) -> bytes:
    parts, capacity = [], LONGEST_FILE
    while capacity > 0 and (part := os.read(descriptor, capacity)):
        parts.append(part)
        capacity -= len(part)
    if capacity <= 0:
        raise UsageFault(f"{path}: it is longer than {LONGEST_FILE} bytes")
    return b"".join(parts)
