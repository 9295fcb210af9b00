"""Head file: the newest audit entry, recorded outside of the database so that a cut tail is noticed (7.4)."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from reference.protocol.audit_chain import Head
from reference.protocol.canonical_json import MAX_INTEGER
from reference.web.keyring import make_secret, write_secret

_MAC = re.compile(r"[0-9a-f]{64}")


class HeadUnreadable(ValueError):
    """The file does not hold a head."""


class HeadFile:
    """The last entry that is known to have existed. It only moves forward."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self) -> None:
        """Write the head of an empty log, unless the file exists."""
        # Of workers that start together one writes the file; the others keep it.
        make_secret(self._path, _encode_head(Head()))

    def read_head(self) -> Head | None:
        """Return the recorded head, or None without a file.

        Raises:
            HeadUnreadable: It does not hold a head.
        """
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise HeadUnreadable("audit_head cannot be read") from fault
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as fault:
            raise HeadUnreadable("audit_head is not JSON") from fault
        seq, mac = (document.get("seq"), document.get("mac")) if isinstance(document, dict) else (None, None)
        # Not isinstance: a bool is an int in Python, and `true` is not a number of an entry.
        if type(seq) is not int or not 0 <= seq <= MAX_INTEGER or not isinstance(mac, str) or not _MAC.fullmatch(mac):
            raise HeadUnreadable("audit_head names no entry")
        return Head(seq, mac)

    def replace(self, last_head: Head | None, head: Head) -> bool:
        """Write a head; False if the file no longer holds `last_head`."""
        with self._lock_folder():
            if self.read_head() != last_head:
                return False
            write_secret(self._path, _encode_head(head))
        return True

    @contextmanager
    def _lock_folder(self) -> Iterator[None]:
        """Keep other workers of this folder out for the moment of reading and writing."""
        # The folder is locked, not the file: write_secret replaces the file, and a lock on the old one would not
        # exclude anyone.
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _encode_head(head: Head) -> bytes:
    return orjson.dumps({"seq": head.seq, "mac": head.mac})
