"""Private files: readable by their owner only, complete or absent after a crash, bounded and lockable."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from pathlib import Path
from typing import Final, NamedTuple

from conformance.cli.usage import UsageFault

# Largest file in bytes; a signed payment and its request are far below it.
LONGEST_FILE: Final = 4 * 1024 * 1024
# Permission bits of the group and of all other users.
_SHARED_BITS: Final = stat.S_IRWXG | stat.S_IRWXO


class LockedFile(NamedTuple):
    """A file that only this process works on, until the descriptor is closed."""

    descriptor: int
    content: bytes


class FileInUse(Exception):
    """Another process works on the file."""


def write_private(path: Path, data: bytes, *, lock: bool = False) -> int | None:
    """Write a file with mode 0600 that is complete or absent whenever the machine stops.

    Args:
        path: The file; an existing one is replaced.
        data: Its bytes.
        lock: Whether this process keeps the lock of `open_locked`.

    Returns:
        The descriptor that holds the lock; None without a lock.

    Raises:
        OSError: The file cannot be written.
    """
    # In the same folder, since a rename is atomic only within one file system.
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    # A link or file of that name, which another process put there, makes the call fail (O_EXCL,
    # O_NOFOLLOW), so the secret is never written into another file.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if lock:
            # Locked before the rename, so that no other process can lock the new file first.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remaining_bytes = memoryview(data)
        while remaining_bytes:
            remaining_bytes = remaining_bytes[os.write(descriptor, remaining_bytes) :]
        # The content reaches the disk before the name, so that after a loss of power the name never leads to
        # an empty file.
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
    """Write a folder's list of files to the disk, so that a new name survives a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_locked(path: Path) -> LockedFile:
    """Open, lock and read a private file; other processes cannot open it by this function meanwhile.

    Raises:
        UsageFault: The file cannot be read, is not a regular file of this user, is readable by others, or is too long.
        FileInUse: Another process holds the lock.
    """
    while True:
        descriptor = _open_private(path)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as fault:
                raise FileInUse(str(path)) from fault
            # The previous holder may have replaced the file before this process got the lock.
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return LockedFile(descriptor, _read_content(path, descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def read_private(path: Path) -> bytes:
    """Return the bytes of a private file.

    Raises:
        UsageFault: As for `open_locked`.
    """
    descriptor = _open_private(path)
    try:
        return _read_content(path, descriptor)
    finally:
        os.close(descriptor)


def _open_private(path: Path) -> int:
    try:
        # Without O_NONBLOCK, a named pipe in the file's place would make this process wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as fault:
        raise UsageFault(f"{path}: {fault.strerror}") from fault
    status = os.fstat(descriptor)
    reason = None
    if not stat.S_ISREG(status.st_mode):
        reason = "it is not a regular file"
    elif status.st_uid != os.geteuid():
        reason = "it belongs to another user"
    # A signed payment is as good as money, and a file that others can write could make this user
    # pay.
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
    # `read` may return fewer bytes than requested, so it is repeated until the end.
    parts, capacity = [], LONGEST_FILE
    # The file may grow after its size was checked, so the bytes that are read are counted as well.
    while capacity > 0 and (part := os.read(descriptor, capacity)):
        parts.append(part)
        capacity -= len(part)
    if capacity <= 0:
        raise UsageFault(f"{path}: it is longer than {LONGEST_FILE} bytes")
    return b"".join(parts)
